"""Allreduce where the library chooses the algorithm: its hops, and the bytes its links carry.

A log that only says "allreduce" holds the best of several algorithms and protocols. What can be
known of them is how often a message is handed on and how many bytes the busiest link carries; so
the time is composed of those two, with a price of each that depends on the size of the message
(the library switches its protocol by that)::

    T(m) = call(m) + hops_in latency_in(m) + hops_out latency_out(m) + carried(F, m)

F(m), seconds to carry m bytes over the busiest link, is concave: a library that has a protocol with
less time per byte uses it for all larger messages. Messages below a chunk are stored and forwarded
at every hop, above it the chunks are pipelined.

Hops and carried bytes, N nodes of g ranks, n = N g, L = lg N:

============  =====================================================  ==========================
composition   hops inside / between nodes                            carried
============  =====================================================  ==========================
one node      2(n-1) / 0                                             2(n-1)/n F(m) (n/2)^p
... NVLS      2(n-1) / 0, more than 4 ranks                          6/5 (n+1)/n F(m)
nccl tree     2(g-1) / 2 L                                           2 L F(c) + w (F(m) - F(c))
nccl ring     2(n-1) - 2 N / 2 N, but never below 0 / 2(n-1)         2(n-1)/n F(m)
mpi           lg g / L                                               D F(c) + 2(n-1)/n (F(m)-F(c))
============  =====================================================  ==========================

c = min(m, chunk); D = L + ceil(lg g), on one node ceil(lg n). L of a tree of N nodes lies between
those of the next powers of two, so that 6 nodes take less than 8. NCCL takes the ring from
``ring_from_bytes`` on, where the time may fall: the ring carries less than a tree of three nodes or
more. w is what a node sends in a double binary tree: the message once if there are two nodes, twice
if more, being inside one tree and a leaf of the other (Sanders, Speck & Träff, Parallel Computing
35, 2009). Hops: NCCL's src/graph/tuning.cc. MPI: recursive doubling, then Rabenseifner (Thakur,
Rabenseifner & Gropp, IJHPCA 19, 2005). p: on a shared medium (PCIe) the flows of more ranks slow
one another. NVLS: the switch adds, so a rank sends its message and a share (n+1)/n; 4 ranks measure
the same with and without (363 GB/s), 8 ranks 473 against 366 GB/s, whence 6/5 (Bekman, Machine
Learning Engineering).

At a layout that was measured the time is the measured one. On more nodes of as many ranks than the
most measured, N', it is that one times what the composition gains from there, T(N)/T(N'), and never
less; where NCCL took its ring at N', its tree, which gains less with the nodes, may take over. On
fewer nodes than were measured it is the composed one of either, at most the measured one. Between
two layouts the logarithm of the time is interpolated over that of the ranks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from dse.model.aggregation.algorithms import node_count, ring_crossings
from dse.model.aggregation.base import (
    HARDWARE_AXES,
    Bucketed,
    Gradients,
    Layout,
    all_finite,
    link_share_of,
)
from dse.model.arrays import Array, ArrayLike, Mask, ceil_log2
from dse.model.interpolation import monotone_cubic
from dse.model.leaves import Leaf
from dse.model.scale import FEW_NODES

NVLS_FROM_RANKS = 5
NVLS_FACTOR = 1.2
FAMILIES = ("mpi", "nccl")


@dataclass(frozen=True)
class Composition:
    """How a library composes an allreduce; see the table above.

    family: a name of FAMILIES. chunk_bytes: below, no pipelining. ring_from_bytes: 'nccl' between
    nodes. sharing: p >= 0. nvls: whether the switch of a node adds. rails: network cards of a node
    that its ranks, each with one of its own, share the bytes among; 1 where that was not measured.
    """

    family: str
    chunk_bytes: float = 128 * 2.0**10
    ring_from_bytes: float = 32 * 2.0**20
    sharing: float = 0.0
    nvls: bool = False
    rails: float = 1.0

    def hops(self, n: Array, g: Array, m: Array) -> tuple[Array, Array]:
        """Hops inside and between nodes, in the shape of the arguments broadcast together."""
        nodes, local = node_count(n, g), np.minimum(n, g)
        levels = np.log2(nodes)
        one = nodes <= 1
        if self.family == "mpi":
            inside = ceil_log2(local) + 0 * m
            return inside, levels + 0 * m
        ring = one | (m >= self.ring_from_bytes)
        around = 2 * (n - 1)
        between = ring_crossings(n, nodes)
        inside = np.where(ring, around - between, 2 * (local - 1))
        return inside, np.where(ring, between, 2 * levels)

    def carried(self, n: Array, g: Array, m: Array) -> tuple[Array, Array]:
        """Weights (of F(c), of F(m) - F(c)) on the tier that binds."""
        nodes = node_count(n, g)
        one, levels = nodes <= 1, np.log2(nodes)
        around = 2 * (n - 1) / n
        if self.family == "mpi":
            inside = ceil_log2(n)
            stored = np.where(one, inside, levels + ceil_log2(np.minimum(n, g)))
            return stored + 0 * m, around + 0 * m
        local = around * (np.maximum(n, 2) / 2) ** self.sharing
        if self.nvls:
            local = np.where(n >= NVLS_FROM_RANKS, NVLS_FACTOR * (n + 1) / n, local)
        ring = m >= self.ring_from_bytes
        first = np.where(ring, around, 2 * levels)
        rest = np.where(ring, around, np.where(nodes > 2, 2.0, 1.0))
        cards = np.minimum(np.minimum(n, g), self.rails)
        return np.where(one, local, first / cards), np.where(one, local, rest / cards)

    def held_up(self, n: Array, g: Array, m: Array, leaf: Leaf) -> Array:
        """How many times longer bytes between nodes take for the links of leaf switches.

        NCCL's ring and tree leave a leaf as in :mod:`dse.model.leaves`; of MPI, which goes by
        doubling, all nodes are taken to.
        """
        if self.family == "mpi":
            return leaf.slower(leaf.nodes)
        tree = leaf.tree(node_count(n, g))
        return leaf.slower(np.where(m >= self.ring_from_bytes, 1.0, tree))


@dataclass(frozen=True)
class Anchor:
    """Measured seconds at one layout, at ascending sizes.

    Between two sizes their logarithm is interpolated over that of the size.
    """

    ranks: float
    ranks_per_node: float
    message_bytes: tuple[float, ...]
    seconds: tuple[float, ...]

    @property
    def nodes(self) -> float:
        """Nodes of the layout."""
        return float(node_count(self.ranks, self.ranks_per_node))

    @property
    def local(self) -> float:
        """Ranks of a node that is full."""
        return min(self.ranks, self.ranks_per_node)

    def interpolated(self, message_bytes: ArrayLike) -> Array:
        """Seconds of any sizes between the measured ones, in the shape of ``message_bytes``."""
        size = np.log(np.maximum(np.asarray(message_bytes, dtype=np.float64), 1.0))
        log_s = monotone_cubic(np.log(self.message_bytes), np.log(self.seconds), size)
        return np.asarray(np.exp(log_s))


class _Link(NamedTuple):
    """By what the bytes between nodes take longer than as measured; see :class:`LibraryCost`."""

    slower: Array
    leaf: Leaf | None


AS_MEASURED = _Link(np.ones(()), None)


@dataclass(frozen=True)
class LibraryCost:
    """Prices of hops and bytes; coefficients >= 0, in the order of :func:`terms`.

    anchors: what was measured, each at one (ranks, ranks per node); what it says
    of other layouts: see above. Beyond the measured sizes the composed time is multiplied as at the
    nearest one.
    """

    composition: Composition
    edges_bytes: tuple[float, ...]
    coefficients: tuple[float, ...]
    anchors: tuple[Anchor, ...] = ()

    def __call__(
        self,
        ranks: ArrayLike,
        ranks_per_node: ArrayLike,
        message_bytes: ArrayLike,
        slower: ArrayLike = 1.0,
        leaf: Leaf | None = None,
    ) -> Array:
        """Seconds of an allreduce; ranks >= 1 and bytes >= 0 broadcast. One rank costs nothing.

        slower: the measured bytes/s of a node over those here, > 0, broadcasts too. It multiplies
        the price of bytes between nodes; every latency stays. leaf: oversubscribed switches, which
        multiply that price too, for what leaves them.
        """
        n, g, m = _arrays(ranks, ranks_per_node, message_bytes)
        nodes, local = node_count(n, g), np.minimum(n, g)
        link = _Link(np.asarray(slower, dtype=np.float64), leaf)
        own = total = self._composed(self.composition, n, g, m, link)
        for anchor in self.anchors:
            alone = (nodes <= 1) & (n == anchor.ranks) & (anchor.nodes <= 1)
            if np.any(alone):
                total = np.where(alone, own * self.correction(anchor, m), total)
        apart = sorted((a for a in self.anchors if a.nodes > 1), key=lambda a: a.ranks)
        left = nodes > 1
        for width in {anchor.local for anchor in apart}:
            mine = (nodes > 1) & (local == width)
            left = left & ~mine
            if np.any(mine):
                known = [(np.asarray(anchor.ranks), self.correction(anchor, m))
                         for anchor in apart if anchor.local == width]  # fmt: skip
                total = np.where(mine, self._by_nodes(known, n, g, m, link, own), total)
        if apart and np.any(left):  # measured with other numbers of ranks a node
            counts = {min(anchor.nodes for anchor in apart), max(anchor.nodes for anchor in apart)}
            known = [(count * local, np.ones(())) for count in sorted(counts)]
            total = np.where(left, self._by_nodes(known, n, g, m, link, own), total)
        return np.where(n > 1, total, 0.0)

    def _by_nodes(
        self,
        known: Sequence[tuple[Array, Array]],
        n: Array,
        g: Array,
        m: Array,
        link: _Link,
        own: Array,
    ) -> Array:
        """Seconds on several nodes, by what is known of layouts of as many ranks on each.

        known: ranks, rising, and the factor by which they take longer than composed. own: seconds
        as composed.
        """
        (first, low), (last, high) = known[0], known[-1]
        less = more = own
        if self.composition.family == "nccl" and np.any(m >= self.composition.ring_from_bytes):
            other = replace(self.composition, ring_from_bytes=np.inf)
            tree = self._composed(other, n, g, m, link)
            there, tree_there = (
                self._composed(one, last, g, m, AS_MEASURED) for one in (self.composition, other)
            )
            less = np.minimum(own, tree)
            more = np.minimum(own, np.maximum(there / tree_there, 1.0) * tree)
        fewer = node_count(n, g) < node_count(first, g)
        start, start_s = first, low * self._composed(self.composition, first, g, m, link)
        found = np.where(fewer, np.minimum(less, start_s), low * own)
        for end, factor in known[1:]:
            end_s = factor * self._composed(self.composition, end, g, m, link)
            share = np.clip(np.log(n / start) / np.log(end / start), 0.0, 1.0)
            found = np.where(n >= start, start_s * (end_s / start_s) ** share, found)
            start, start_s = end, end_s
        found = np.where(n >= last, start_s, found)
        return np.where(n > last, np.maximum(high * more, start_s), found)

    def correction(self, anchor: Anchor, m: Array) -> Array:
        """Measured over composed time at the layout of an anchor, in the shape of ``m``."""
        nearest = np.clip(m, anchor.message_bytes[0], anchor.message_bytes[-1])
        n, g = _arrays(anchor.ranks, anchor.ranks_per_node)
        composed = self._composed(self.composition, n, g, nearest, AS_MEASURED)
        return np.asarray(anchor.interpolated(nearest) / composed)

    def _composed(
        self, composition: Composition, n: Array, g: Array, m: Array, link: _Link
    ) -> Array:
        slower = link.slower
        if link.leaf is not None:
            slower = slower * composition.held_up(n, g, m, link.leaf)
        shape = np.broadcast_shapes(n.shape, g.shape, m.shape)
        total, between = np.zeros(shape), np.zeros(shape)
        columns = terms(composition, self.edges_bytes, n, g, m)
        wire = len(self.coefficients) - len(self.edges_bytes) - 1  # the bytes between nodes: last
        for at, (coefficient, term) in enumerate(zip(self.coefficients, columns, strict=True)):
            if coefficient and at < wire:
                total = total + coefficient * term
            elif coefficient:
                between = between + coefficient * term
        several = node_count(n, g) > 1
        return np.where(several, total + between * slower, total)

    def priced(self, ranks: ArrayLike, ranks_per_node: ArrayLike) -> Mask:
        """Whether bytes have a price on the tier that binds; where none was measured it is 0."""
        edges = len(self.edges_bytes)
        inside = self.coefficients[2 + 2 * edges : 3 + 3 * edges]
        between = self.coefficients[-edges - 1 :]
        one = node_count(ranks, ranks_per_node) <= 1
        alone = np.asarray(ranks) <= 1
        return np.asarray(alone | np.where(one, any(inside), any(between)))


@dataclass(frozen=True)
class MeasuredLibrary(Bucketed):
    """An allreduce whose algorithm the library chooses, as it was measured.

    link_bytes_per_s: of a node to others where it was measured; None where that is not known, and
    every network then counts as that one. link_efficiency: of a link's speed what the transport
    reaches. few_nodes: most nodes measured, up to which a link is as fast as there.
    """

    cost: LibraryCost
    link_bytes_per_s: float | None
    link_efficiency: float
    reaches_device: bool
    few_nodes: float = FEW_NODES

    @property
    def axes(self) -> frozenset[str]:
        """The hardware, and what fuses the gradients."""
        return HARDWARE_AXES | {"bucket"}

    def slower(self, layout: Layout) -> Array:
        """How many times faster a node's link to others was where it was measured."""
        if self.link_bytes_per_s is None:
            return np.ones((1,) * layout.rank)
        return np.asarray(self.link_bytes_per_s / self.node_bytes_per_s(layout))

    def node_bytes_per_s(self, layout: Layout) -> Array:
        """Nominal bytes/s of a node's link to others."""
        return np.asarray(layout.across.bytes_per_s / self.link_efficiency * layout.rails)

    def message_s(self, message_bytes: Array, gradients: Gradients, layout: Layout) -> Array:
        """What was measured; NaN on a layout that has no price."""
        del gradients
        n, g = layout.gpus, layout.gpus_per_node
        slower = self.slower(layout) / link_share_of(layout, self.few_nodes)
        seconds = self.cost(n, g, message_bytes, slower, layout.leaf)
        host = np.inf if self.reaches_device else layout.host_bytes_per_s
        staged = 2 * np.asarray(message_bytes) / host
        whole = np.where(np.asarray(n) > 1, seconds + staged, 0.0)
        return np.where(self.priced(layout), whole, np.nan)

    def priced(self, layout: Layout) -> Mask:
        """Whether it was measured on as many nodes: on one, or on several."""
        return self.cost.priced(layout.gpus, layout.gpus_per_node)

    def bounded(self, gradients: Gradients, layout: Layout) -> bool:
        """Whether the links and the copies over the host link have finite prices."""
        most = float(gradients.message_bytes.max(initial=0.0))
        host = np.inf if self.reaches_device else layout.host_bytes_per_s
        return all_finite(self.slower(layout), most / np.asarray(host))


def terms(
    composition: Composition, edges_bytes: Sequence[float], n: Array, g: Array, m: Array
) -> Iterator[Array]:
    """What each coefficient multiplies, ``3 + 5 E + 2`` of them for E edges, one by one.

    One per call, and more from each edge on; then for the inside and for the tier between nodes:
    one per hop, more per hop from each edge on, and bytes carried up to each edge, and without end.
    """
    one = node_count(n, g) <= 1
    inside, across = composition.hops(n, g, m)
    small, large = composition.carried(n, g, m)
    chunk = np.where(
        one & (composition.family == "nccl"), 0.0, np.minimum(m, composition.chunk_bytes)
    )
    yield np.ones_like(m)
    for edge in edges_bytes:
        yield np.where(m >= edge, 1.0, 0.0)
    for tier, hops in ((one, inside), (~one, across)):
        yield hops
        for edge in edges_bytes:
            yield np.where(m >= edge, hops, 0.0)
        for edge in (*edges_bytes, np.inf):
            stored, whole = np.minimum(chunk, edge), np.minimum(m, edge)
            yield np.where(tier, small * stored + large * (whole - stored), 0.0)


def _arrays(*values: ArrayLike) -> tuple[Array, ...]:
    return tuple(np.asarray(value, dtype=np.float64) for value in values)
