"""Money of a cluster: to buy it beside what stands there, to rent it, to feed it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dse.model.arrays import Array, ArrayLike
from dse.model.bill import Bill, FatTree
from dse.model.power import Draw, UnitWatts, draw
from dse.model.racks import Rack, racks

HOURS_PER_YEAR = 8760.0
WATT_PER_KILOWATT = 1000.0


@dataclass(frozen=True)
class Owned:
    """How many of every part the owner of a cluster has and the points can use; arrays that
    broadcast to the points.

    accelerators: of the points' kind. nodes: hosts that hold such accelerators, as many to a host
    as the points have, or machines of the points' type. hosts: of any kind, ``nodes`` among them;
    those that hold no accelerators of a point may serve its parameters. nics, switches, cables: of
    the points' network, cables to endpoints and between switches. racks: of any.
    """

    accelerators: ArrayLike = 0.0
    nodes: ArrayLike = 0.0
    hosts: ArrayLike = 0.0
    nics: ArrayLike = 0.0
    switches: ArrayLike = 0.0
    cables: ArrayLike = 0.0
    racks: ArrayLike = 0.0


def to_buy(parts: Bill, owned: Owned) -> Bill:
    """The bill of what must be added: of every part ``max(0, needed - owned)``.

    Switches are taken for leaves first, then for spines and cores; cables for endpoints first, then
    for what is between switches; hosts for accelerators first, and those that are left serve
    parameters. What trains, what is rented and the network's endpoints stay those of the whole
    cluster.
    """
    tree = parts.tree
    nodes = beyond(parts.nodes, owned.nodes)
    spare = np.asarray(owned.hosts) - (parts.nodes - nodes)
    leaves = beyond(tree.leaves, owned.switches)
    left = owned.switches - (tree.leaves - leaves)
    spines = beyond(tree.spines, left)
    cores = beyond(tree.cores, left - (tree.spines - spines))
    cables = beyond(tree.cables, owned.cables)
    uplinks = beyond(tree.uplinks, owned.cables - (tree.cables - cables))
    return replace(
        parts,
        accelerators=beyond(parts.accelerators, owned.accelerators),
        nodes=nodes,
        nics=beyond(parts.nics, owned.nics),
        tree=FatTree(leaves, spines, cores, cables, uplinks),
        servers=beyond(parts.servers, np.maximum(spare, 0.0)),
    )


def beyond(needed: ArrayLike, owned: ArrayLike) -> Array:
    """``max(0, needed - owned)``."""
    return np.asarray(np.maximum(np.asarray(needed, dtype=np.float64) - owned, 0.0))


def anything(parts: Bill) -> Array:
    """Whether a bill has any part at all."""
    machines = parts.accelerators + parts.nodes + parts.servers
    return np.asarray(machines + parts.nics + parts.tree.switches + parts.tree.links > 0)


@dataclass(frozen=True)
class Billing:
    """minimum_s: the least that a run is billed; unit_s: billed are whole units, 0 for none;
    start_up_s: billed before the first step. in_use: share of the paid hours in which machines are
    in use; less than 1 of a commitment, whose runs pay for the hours in between."""

    minimum_s: ArrayLike = 0.0
    unit_s: ArrayLike = 0.0
    start_up_s: ArrayLike = 0.0
    in_use: ArrayLike = 1.0


def billed_s(held_s: ArrayLike, billing: Billing) -> Array:
    """Seconds that a run is billed which holds its machines for so long; any shape.

    ``unit * ceil(max((held + start_up) / in_use, minimum) / unit)``. It never falls as ``held_s``
    rises.
    """
    paid = (np.asarray(held_s) + billing.start_up_s) / billing.in_use
    seconds = np.maximum(paid, billing.minimum_s)
    unit = np.where(np.asarray(billing.unit_s) > 0, billing.unit_s, 1.0)
    # Rounding may lift a whole number of units by a part in 1e16; that is no unit more.
    whole = np.ceil(seconds / unit * (1 - 1e-12)) * unit
    return np.asarray(np.where(np.asarray(billing.unit_s) > 0, whole, seconds))


def owned_usd_per_hour(
    capital_usd: ArrayLike,
    electricity_usd_per_hour: ArrayLike,
    years: float,
    resold_usd: ArrayLike = 0.0,
    utilisation: float = 1.0,
) -> Array:
    """USD per hour in use: ``(capital - resold) / (years 8760 utilisation) + electricity``.

    resold_usd: for which the hardware is sold after these years. utilisation: share of their hours
    in which it is used, in (0, 1]; only these draw power.
    """
    spent = _spread_usd_per_hour(capital_usd, resold_usd, years) / utilisation
    return np.asarray(spent + electricity_usd_per_hour)


def break_even_utilisation(
    capital_usd: ArrayLike,
    electricity_usd_per_hour: ArrayLike,
    rent_usd_per_hour: ArrayLike,
    years: float,
    resold_usd: ArrayLike = 0.0,
) -> Array:
    """The share of hours in use at which owning costs as much as renting.

    ``(capital - resold) / (years 8760 (rent - electricity))``. Above 1 renting is cheaper even
    around the clock; without bound where the rent is no more than the electricity. Times the hours
    of the years it is after how many hours in use buying has paid.
    """
    saved = np.asarray(rent_usd_per_hour) - np.asarray(electricity_usd_per_hour)
    spent = _spread_usd_per_hour(capital_usd, resold_usd, years)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(saved > 0, spent / saved, np.where(np.isnan(saved), np.nan, np.inf))


def _spread_usd_per_hour(capital_usd: ArrayLike, resold_usd: ArrayLike, years: float) -> Array:
    """What is not sold again of the capital, over every hour of the years."""
    return np.asarray((np.asarray(capital_usd) - resold_usd) / (years * HOURS_PER_YEAR))


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

    accelerator_usd: one accelerator. host_usd: the rest of a node, or all of it where nodes are
    bought whole (then the accelerator's is 0). rent_usd_per_hour: of one that is ``rented``.
    nic_usd, switch_port_usd, cable_usd, uplink_usd, switch_radix: of the inter-node fabric, whose
    switches are bought whole at the price of all their ports; an uplink is a cable between two of
    them. server_usd: a host that serves parameters. rack_usd: one rack, of the size of ``rack``; 0
    where the site has them. watts: of one of each part. extras: beside the hardware. rated: watts
    that racks are planned by, None where they are the same. operation: what support, staff and
    floor space cost a year, as a share of the price of the hardware that is bought. NaN where a
    price is not known.
    """

    accelerator_usd: ArrayLike
    host_usd: ArrayLike
    nic_usd: ArrayLike
    switch_port_usd: ArrayLike
    cable_usd: ArrayLike
    uplink_usd: ArrayLike
    switch_radix: ArrayLike
    rent_usd_per_hour: ArrayLike
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
    operation: float = 0.0


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
    hosts = parts.bought + parts.servers
    beside = np.where(anything(parts), extras.once_usd, 0.0) + hosts * np.asarray(extras.node_usd)
    return np.asarray(hardware * (1 + np.asarray(extras.share)) + beside)


def hardware_usd(parts: Bill, filled: Array, prices: Prices) -> Array:
    """Quantity times unit price of every part, racks among them, of which there are ``filled``.

    What is not bought costs nothing, whether or not its price is known; and what is free costs
    nothing, however many there are.
    """
    switch_usd = np.asarray(prices.switch_port_usd) * prices.switch_radix
    machines = _spent(parts.accelerators, prices.accelerator_usd)
    machines = machines + _spent(parts.bought, prices.host_usd)
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
    where something is ``owned``, that of what must be added (:func:`to_buy`). All else is of
    the whole cluster.
    power = accelerators, hosts, servers, network and cooling (:func:`dse.model.power.draw`).
    tco per hour in use: see :func:`owned_usd_per_hour`, of the capital and of operation in all
    years.
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
    rental = parts.rented * np.asarray(prices.rent_usd_per_hour)
    rental = rental + parts.servers * np.asarray(prices.server_usd) / hours
    resold = hardware * prices.residual_value
    running = hardware * prices.operation * prices.amortisation_years
    owning = owned_usd_per_hour(
        capital + running, feeding, prices.amortisation_years, resold, prices.utilisation
    )
    return Cost(np.asarray(capital), hardware, np.asarray(rental), owning, drawn, filled)
