"""How much of what stands there points can use."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dse.model.arrays import Array
from dse.model.owned import Owned
from dse.pricing.hardware import Machine
from dse.pricing.layout_arrays import LayoutArrays
from dse.pricing.stock import Network, Stock, network_of


def owned_by(points: LayoutArrays, standing: Sequence[Stock]) -> Owned:
    """How many of every part stand there that points can use.

    A host can be used with its own kind of accelerator alone, and by points with no more of them to
    a node than it holds; any host may serve parameters. Parts of a network are of use in the same
    network only.
    """

    axis, networks = _networks(points)

    def of_network(read: str) -> Array:
        counts = [
            sum(getattr(stock, read) for stock in standing if stock.network == network)
            for network in networks
        ]
        return np.array(counts, dtype=np.float64).take(points.coordinates[axis].at)

    nodes = np.zeros((1,) * points.rank)
    for stock in standing:
        if stock.machine:
            alike = points.machine(lambda m, s=stock: float(_name(m) == s.machine))  # type: ignore[misc]
            nodes = nodes + stock.hosts * alike * (points.gpus_per_node <= stock.held)
    return Owned(
        accelerators=points.machine(
            lambda m: sum(stock.accelerators for stock in standing if stock.machine == _name(m))
        ),
        nodes=nodes,
        hosts=sum(stock.hosts for stock in standing),
        nics=of_network("nics"),
        switches=of_network("switches"),
        cables=of_network("cables"),
        racks=sum(stock.racks for stock in standing),
    )


def _name(machine: Machine) -> str:
    return machine.node.name if machine.node else machine.accelerator.name


def _networks(points: LayoutArrays) -> tuple[str, tuple[Network | None, ...]]:
    """The axis that decides the link between nodes, and the network of each of its values."""
    found = points.at("inter_node")
    if found is not None:
        return "inter_node", tuple(None if v is None else network_of(v) for v in found.values)
    own = [m.node.inter_node if m.node else None for m in points.machines]
    return points.machine_axis, tuple(network_of(name) if name else None for name in own)
