"""Leaf switches of a fat tree whose links up are fewer than those down, and who shares them.

Of a ratio rho to 1 a leaf of r ports has d of them down to network cards and u up::

    d = floor(r rho / (1 + rho))        u = ceil(d / rho)

so that cards of different leaves, all sending at once, have u/d of their speed; inside a leaf
nothing changes. A collective seldom does that. Nodes are in order, so what leaves a leaf is counted
for each algorithm, in flows of one node, and a step of s bytes a flow takes at least::

    s k / (u B)        k flows that leave a leaf at once, B bytes/s of one card

==================  ================================================================================
steps               k
==================  ================================================================================
ring                1: a leaf's last node sends to the first of the next
hierarchical        g, as g rings run beside one another, each with a g-th of the message
reduce, broadcast   1: of messages between consecutive nodes one crosses a border in each round
doubling, halving   at most min(w g, 2 d): partners are d ranks apart, so only d at each border of
                    the w g ranks of a leaf have theirs in another one
double binary tree  at most min(w, lg N): edges of one level do not overlap, so a border is crossed
                    by one at each of lg N levels; two trees of two borders, four halves of a flow
parameter servers   w workers push and pull; min(P, w) servers of a leaf serve all workers
others              all: w flows of every node, w nodes a leaf
==================  ================================================================================

Derived here from the algorithms' own steps (:mod:`dse.model.aggregation.algorithms`); all are upper
bounds, so a network is never faster than told. Above the leaves the tree is taken to block nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dse.model.arrays import Array, ArrayLike, ceil_log2

_ROUNDING = 1e-9  # relative: 3 x 0.1 is no more than 0.3


class LeafPorts(NamedTuple):
    """Ports of a leaf switch in a tree of several: down to network cards, and up."""

    down: Array
    up: Array


def leaf_ports(radix: ArrayLike, ratio: ArrayLike = 1.0) -> LeafPorts:
    """Ports of a leaf with ``radix`` of them, by its oversubscription ``ratio`` >= 1; broadcast.

    The larger the ratio, the more go down and the fewer up; one at least each.
    """
    radix, ratio = np.asarray(radix, dtype=np.float64), np.asarray(ratio, dtype=np.float64)
    down = np.floor(radix * ratio / (1 + ratio) * (1 + _ROUNDING))
    down = np.maximum(np.minimum(down, radix - 1), 1.0)
    return LeafPorts(down, np.maximum(np.ceil(down / ratio * (1 - _ROUNDING)), 1.0))


class Leaf(NamedTuple):
    """What nodes of several leaves meet; arrays that broadcast to the points.

    nodes: of a leaf, at least 1. uplinks: ports up, each as fast as a network card, of all leaves
    that a node needs; infinite where one switch joins all nodes or nothing is oversubscribed.
    rails: network cards of a node.
    """

    nodes: Array
    uplinks: Array
    rails: ArrayLike

    def slower(self, leaving: ArrayLike) -> Array:
        """How many times longer than its own cards' a step takes in which ``leaving`` nodes of each
        leaf send, with all their cards, to other leaves: ``max(1, k rails / u)``."""
        leaving = np.minimum(leaving, self.nodes)
        return np.asarray(np.maximum(1.0, leaving * self.rails / self.uplinks))

    def beside(self, apart: ArrayLike, span: ArrayLike) -> Leaf:
        """What a group meets whose nodes are ``apart`` nodes from one another, with others alike
        between these: no more than its nodes' own cards where one leaf holds its ``span`` nodes."""
        apart = np.minimum(apart, self.nodes)
        uplinks = np.where(np.asarray(span) > self.nodes, self.uplinks / apart, np.inf)
        return Leaf(np.asarray(self.nodes / apart), uplinks, self.rails)

    def tree(self, nodes: ArrayLike) -> Array:
        """Flows that leave a leaf in a double binary tree of N nodes: ``min(w, max(1, lg N))``."""
        return np.asarray(np.minimum(self.nodes, np.maximum(ceil_log2(nodes), 1.0)))


def leaf(endpoints: ArrayLike, radix: ArrayLike, rails: ArrayLike, ratio: ArrayLike) -> Leaf | None:
    """Leaves of a network, None where none of its points is oversubscribed; arguments broadcast.

    endpoints: network cards that it joins; up to ``radix`` share one switch. rails: of a node.
    """
    if np.all(np.asarray(ratio) <= 1):
        return None
    down, up = leaf_ports(radix, ratio)
    blocking = (np.asarray(endpoints) > radix) & (np.asarray(ratio) > 1)
    nodes = np.maximum(down / np.asarray(rails), 1.0)
    return Leaf(nodes, np.where(blocking, up * np.maximum(rails / down, 1.0), np.inf), rails)
