"""What a cluster draws: its accelerators, their hosts, the network between them, and cooling."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dse.model.arrays import Array, ArrayLike
from dse.model.bill import Bill


@dataclass(frozen=True)
class UnitWatts:
    """Watts of one of each part at full load; arrays that broadcast to the points, NaN where
    unknown.

    accelerator: one that trains. idle_share: what one that is bought and does not train draws, as a
    share of that. host: a node without its accelerators. host_share: what the host draws besides
    for every watt of its accelerators: fans, conversion, switches between them. server: a dedicated
    host that serves parameters. nic: a card that does not come with its node. switch_port: a port
    of a switch, in use or not. cable: the optics at both of its ends. pue: power usage
    effectiveness, watts of the site per watt of what it houses, at least 1.
    """

    accelerator: ArrayLike
    idle_share: ArrayLike
    host: ArrayLike
    host_share: ArrayLike
    server: ArrayLike
    nic: ArrayLike
    switch_port: ArrayLike
    cable: ArrayLike
    pue: ArrayLike


@dataclass(frozen=True)
class Draw:
    """Watts by what draws them, each in the shape of the points."""

    accelerators_w: Array
    hosts_w: Array
    servers_w: Array
    network_w: Array
    cooling_w: Array

    @property
    def housed_w(self) -> Array:
        """Of all that stands in racks."""
        machines = self.accelerators_w + self.hosts_w + self.servers_w
        return np.asarray(machines + self.network_w)

    @property
    def total_w(self) -> Array:
        """Of the site."""
        return np.asarray(self.housed_w + self.cooling_w)


def draw(parts: Bill, switch_radix: ArrayLike, watts: UnitWatts) -> Draw:
    """Watts of a cluster at full load; arguments broadcast.

    accelerators = (training + idle_share * idle) * accelerator, where idle are those that are
    bought beyond those that train. hosts = nodes * host + host_share * accelerators. servers =
    dedicated ones * server. network = cards * nic + switches * ports * switch_port + cables of
    either kind * cable. cooling = (pue - 1) * their sum: PUE is defined as the power of the site
    over that of what it houses (ISO/IEC 30134-2). What is not there draws nothing, whether or not
    its watts are known.
    """
    idle = np.asarray(parts.accelerators - parts.training)
    accelerators = (parts.training + idle * watts.idle_share) * np.asarray(watts.accelerator)
    hosts = parts.nodes * np.asarray(watts.host) + accelerators * watts.host_share
    servers = _drawn(parts.servers, watts.server)
    ports = parts.tree.switches * np.asarray(switch_radix, dtype=np.float64)
    network = _drawn(parts.nics, watts.nic) + _drawn(ports, watts.switch_port)
    network = network + _drawn(parts.tree.links, watts.cable)
    cooling = (accelerators + hosts + servers + network) * (np.asarray(watts.pue) - 1)
    return Draw(*map(np.asarray, (accelerators, hosts, servers, network, cooling)))


def _drawn(count: Array, unit_w: ArrayLike) -> Array:
    return np.where(count > 0, count * np.asarray(unit_w), 0.0)
