"""What a cluster costs to buy, to rent and to feed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dse.model.arrays import Array, ArrayLike
from dse.model.bill import Bill
from dse.model.owned import Owned, anything, beyond, to_buy
from dse.model.ownership import HOURS_PER_YEAR, owned_usd_per_hour
from dse.model.power import Draw, UnitWatts, draw
from dse.model.racks import Rack, racks

WATT_PER_KILOWATT = 1000.0


@dataclass(frozen=True)
class Extras:
    """What is bought beside the hardware, summed; arrays that broadcast.

    share: of the price of the hardware. once_usd: for the cluster. node_usd: for each host, those
    that serve parameters included. Amounts a year are already those of all years.
    """

    share: ArrayLike = 0.0
    once_usd: ArrayLike = 0.0
    node_usd: ArrayLike = 0.0


NO_EXTRAS = Extras()


@dataclass(frozen=True)
class Prices:
    """Prices of the parts, in USD of the price list's date; arrays that broadcast.

    accelerator_usd, accelerator_usd_per_hour: one accelerator. host_usd, host_usd_per_hour: the
    rest of a node, or all of it where nodes are bought or rented whole (then the accelerator's are
    0). nic_usd, switch_port_usd, cable_usd, uplink_usd, switch_radix: of the inter-node fabric,
    whose switches are bought whole at the price of all their ports; an uplink is a cable between
    two of them. server_usd: a host that serves parameters.
    rack_usd: one rack, of the size of ``rack``; 0 where the site has them. watts: of one of each
    part. extras: beside the hardware. rated: watts that racks are planned by, None where they are
    the same. NaN where a price is not known.
    """

    accelerator_usd: ArrayLike
    host_usd: ArrayLike
    nic_usd: ArrayLike
    switch_port_usd: ArrayLike
    cable_usd: ArrayLike
    uplink_usd: ArrayLike
    switch_radix: ArrayLike
    accelerator_usd_per_hour: ArrayLike
    host_usd_per_hour: ArrayLike
    server_usd: ArrayLike
    rack_usd: ArrayLike
    watts: UnitWatts
    rack: Rack
    electricity_usd_per_kwh: ArrayLike
    amortisation_years: float
    extras: Extras = NO_EXTRAS
    rated: UnitWatts | None = None
    residual_value: float = 0.0
    utilisation: float = 1.0


@dataclass(frozen=True)
class Cost:
    """Arrays: USD to buy; of these for hardware, which can be sold again; USD per hour to rent; USD
    per hour to own; watts by what draws them; how many racks."""

    capital_usd: Array
    hardware_usd: Array
    rental_usd_per_hour: Array
    tco_usd_per_hour: Array
    draw: Draw
    racks: Array

    @property
    def power_w(self) -> Array:
        """Of the site: with cooling."""
        return self.draw.total_w


def capital_usd(parts: Bill, hardware: Array, extras: Extras) -> Array:
    """The sum of the bill, hardware and extras, in USD.

    capital = hardware (1 + share) + once + hosts * (USD a node); ``once`` where there is any
    hardware.
    """
    if extras is NO_EXTRAS:
        return hardware
    hosts = parts.nodes + parts.servers
    beside = np.where(anything(parts), extras.once_usd, 0.0) + hosts * np.asarray(extras.node_usd)
    return np.asarray(hardware * (1 + np.asarray(extras.share)) + beside)


def hardware_usd(parts: Bill, filled: Array, prices: Prices) -> Array:
    """Quantity times unit price of every part, racks among them, of which there are ``filled``.

    What is not bought costs nothing, whether or not its price is known; and what is free costs
    nothing, however many there are.
    """
    switch_usd = np.asarray(prices.switch_port_usd) * prices.switch_radix
    machines = _spent(parts.accelerators, prices.accelerator_usd)
    machines = machines + _spent(parts.nodes, prices.host_usd)
    tree = parts.tree
    network = _spent(tree.switches, switch_usd) + _spent(tree.cables, prices.cable_usd)
    network = network + _spent(tree.uplinks, prices.uplink_usd)
    network = network + _spent(parts.nics, prices.nic_usd)
    rack_usd = np.asarray(prices.rack_usd)
    housing = np.where(rack_usd == 0, 0.0, filled * rack_usd)
    servers = _spent(parts.servers, prices.server_usd)
    return np.asarray(machines + network + servers + housing)


def _spent(count: Array, unit_usd: ArrayLike) -> Array:
    return np.where(count > 0, count * np.asarray(unit_usd), 0.0)


def cost(parts: Bill, prices: Prices, owned: Owned | None = None) -> Cost:
    """Purchase, rental and ownership of a cluster; arrays of shapes that broadcast.

    capital = the bill's sum (:func:`capital_usd`), racks (:func:`dse.model.racks.racks`) among it;
    where something is ``owned``, that of what must be added (:func:`.owned.to_buy`). All else is of
    the whole cluster.
    power = accelerators, hosts, servers, network and cooling (:func:`dse.model.power.draw`).
    tco per hour in use: see :func:`.ownership.owned_usd_per_hour`.
    """
    drawn = draw(parts, prices.switch_radix, prices.watts)
    planned = drawn if prices.rated is None else draw(parts, prices.switch_radix, prices.rated)
    filled = racks(parts, planned, prices.rack)
    bought, housed = parts, filled
    if owned is not None:
        bought, housed = to_buy(parts, owned), beyond(filled, owned.racks)
    hardware = hardware_usd(bought, housed, prices)
    capital = capital_usd(bought, hardware, prices.extras)
    hours = prices.amortisation_years * HOURS_PER_YEAR
    feeding = drawn.total_w / WATT_PER_KILOWATT * prices.electricity_usd_per_kwh
    rental = parts.rented * np.asarray(prices.accelerator_usd_per_hour)
    rental = rental + parts.servers * np.asarray(prices.server_usd) / hours
    rental = rental + parts.nodes * np.asarray(prices.host_usd_per_hour)
    resold = hardware * prices.residual_value
    owning = owned_usd_per_hour(
        capital, feeding, prices.amortisation_years, resold, prices.utilisation
    )
    return Cost(np.asarray(capital), hardware, np.asarray(rental), owning, drawn, filled)
