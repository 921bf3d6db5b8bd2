"""What a cluster costs to buy, to rent and to feed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dse.model.aggregation.algorithms import node_count
from dse.model.arrays import Array, ArrayLike

HOURS_PER_YEAR = 8760.0
WATT_PER_KILOWATT = 1000.0


@dataclass(frozen=True)
class Prices:
    """Prices of the parts, in USD of the price list's date; arrays that broadcast.

    accelerator_usd, accelerator_usd_per_hour: one accelerator. host_usd, host_usd_per_hour: the
    rest of a node, or all of it where nodes are bought or rented whole (then the accelerator's are
    0). nic_usd, switch_port_usd, cable_usd, switch_radix: of the inter-node fabric. nics_included:
    whether a node's price contains its NICs. server_usd: a host that serves parameters. power_w:
    one accelerator's. host_power_ratio: watts of everything else in the node per watt of
    accelerator. server_power_w: of a host that serves parameters. network_power_share: of all
    watts. NaN where a price is not known.
    """

    accelerator_usd: ArrayLike
    host_usd: ArrayLike
    nic_usd: ArrayLike
    switch_port_usd: ArrayLike
    cable_usd: ArrayLike
    switch_radix: ArrayLike
    nics_included: bool
    accelerator_usd_per_hour: ArrayLike
    host_usd_per_hour: ArrayLike
    server_usd: ArrayLike
    power_w: ArrayLike
    host_power_ratio: float
    server_power_w: float
    network_power_share: float
    electricity_usd_per_kwh: float
    pue: float
    amortisation_years: float


@dataclass(frozen=True)
class Cost:
    """Arrays: USD to buy; USD per hour to rent; USD per hour to own; watts with cooling."""

    capital_usd: Array
    rental_usd_per_hour: Array
    tco_usd_per_hour: Array
    power_w: Array


def fat_tree_tiers(endpoints: ArrayLike, radix: ArrayLike) -> Array:
    """Switch tiers of a full-bisection fat tree: 1 up to r ports, 2 up to r^2/2, else 3.

    Al-Fares, Loukissas & Vahdat, SIGCOMM 2008. Three tiers hold r^3/4; larger ones are priced as 3.
    """
    ports = np.asarray(endpoints, dtype=np.float64)
    two_tiers = np.asarray(radix, dtype=np.float64) ** 2 / 2
    return np.where(ports <= radix, 1.0, np.where(ports <= two_tiers, 2.0, 3.0))


def cost(
    gpus: ArrayLike,
    gpus_per_node: ArrayLike,
    nics_per_node: ArrayLike,
    servers: ArrayLike,
    prices: Prices,
) -> Cost:
    """Purchase, rental and ownership of ``gpus`` accelerators, all shapes broadcastable.

    capital = accelerators + hosts + (two or more nodes) NICs, ``2 t - 1`` switch ports and ``t``
    cables per NIC in t tiers + dedicated parameter servers, each with one NIC.
    power = accelerators, hosts, dedicated servers and network, times PUE.
    tco per hour = capital / amortisation + power * electricity price.
    """
    nodes = node_count(gpus, gpus_per_node)
    several = nodes > 1
    extra = np.where(several, servers, 0.0)
    endpoints = np.where(several, nodes * nics_per_node, 0.0) + extra
    tiers = fat_tree_tiers(endpoints, prices.switch_radix)
    wiring_usd = (2 * tiers - 1) * prices.switch_port_usd + tiers * prices.cable_usd
    bought = extra if prices.nics_included else endpoints
    # 0 endpoints * unknown price is 0, not unknown: a single node needs no fabric.
    fabric_usd = np.where(endpoints > 0, endpoints * wiring_usd, 0.0)
    fabric_usd = fabric_usd + np.where(bought > 0, bought * prices.nic_usd, 0.0)
    machines_usd = gpus * np.asarray(prices.accelerator_usd) + nodes * prices.host_usd
    servers_usd = extra * prices.server_usd
    capital = machines_usd + fabric_usd + servers_usd
    machines_w = np.asarray(gpus) * prices.power_w * (1 + prices.host_power_ratio)
    machines_w = machines_w + extra * prices.server_power_w
    power = machines_w / (1 - prices.network_power_share) * prices.pue
    hours = prices.amortisation_years * HOURS_PER_YEAR
    feeding = power / WATT_PER_KILOWATT * prices.electricity_usd_per_kwh
    rental = gpus * np.asarray(prices.accelerator_usd_per_hour) + servers_usd / hours
    rental = rental + nodes * prices.host_usd_per_hour
    return Cost(np.asarray(capital), np.asarray(rental), capital / hours + feeding, power)
