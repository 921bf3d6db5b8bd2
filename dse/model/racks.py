"""How many racks a cluster fills, by what one can feed and by what fits into it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dse.model.arrays import Array, ArrayLike
from dse.model.bill import Bill
from dse.model.power import Draw

DENSE_NODE_W = 10_000.0  # nodes that draw more get racks that are built for such
SWITCH_UNITS = 1.0  # rack units of a switch: those of 32 to 64 ports are one high


@dataclass(frozen=True)
class Rack:
    """limit_w: what one can feed and cool, dense_w: where a node draws
    more than DENSE_NODE_W, if that is more. units: rack units of it that equipment may fill.
    node_units, server_units: of a node, and of a host that serves parameters."""

    limit_w: ArrayLike
    units: ArrayLike
    node_units: ArrayLike
    server_units: ArrayLike
    dense_w: ArrayLike = 0.0


def racks(parts: Bill, draw: Draw, rack: Rack) -> Array:
    """Racks of a cluster, a whole number in the shape of the points; NaN where watts are unknown.

    The most of three counts: nodes whole, as many to a rack as it feeds and has room for; all watts
    over what a rack feeds; all units over what it has. Switches and servers go where room is left,
    which such a count allows for and no floor plan is drawn for. What a single node needs, a rack
    is taken to have: a node is never split. Nodes that are sold by the rack bring it.
    """
    nodes = np.asarray(parts.nodes, dtype=np.float64)
    node_units = np.asarray(rack.node_units, dtype=np.float64)
    node_w = np.maximum((draw.accelerators_w + draw.hosts_w) / nodes, 1.0)
    limit_w = np.maximum(fed_w(rack, node_w), node_w)
    units = np.maximum(np.asarray(rack.units, dtype=np.float64), node_units)
    together = np.minimum(_floor(limit_w / node_w), _floor(units / node_units))
    beside = parts.servers * np.asarray(rack.server_units) + parts.tree.switches * SWITCH_UNITS
    filled = nodes * node_units + beside
    fed = _ceil(draw.housed_w / limit_w)
    found = np.maximum(np.maximum(np.ceil(nodes / together), fed), _ceil(filled / units))
    return np.where(np.asarray(parts.at_once) > 1, _ceil(beside / units), found)


def fed_w(rack: Rack, node_w: ArrayLike) -> Array:
    """Watts that a rack for nodes of so many watts feeds."""
    dense = np.asarray(node_w) > DENSE_NODE_W
    return np.asarray(
        np.where(dense, np.maximum(rack.dense_w, rack.limit_w), rack.limit_w), dtype=np.float64
    )


_ROUNDING = 1e-9  # relative: 3 x 0.1 is no more than 0.3


def _ceil(value: Array) -> Array:
    return np.asarray(np.ceil(value * (1 - _ROUNDING)))


def _floor(value: Array) -> Array:
    return np.asarray(np.floor(value * (1 + _ROUNDING)))
