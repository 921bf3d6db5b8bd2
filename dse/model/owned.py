"""Hardware that stands there already, and what a point needs beyond it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dse.model.arrays import Array, ArrayLike
from dse.model.bill import Bill, FatTree


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

    Switches are taken for leaves first, then for spines and cores: they are of one kind. Cables are
    taken for endpoints first, then for what is between switches. Hosts are
    taken for accelerators first, and those that are left serve parameters. What trains, what is
    rented and the network's endpoints stay those of the whole cluster.
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
