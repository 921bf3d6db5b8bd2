"""NCCL's allreduce where nobody measured it: a ring and a tree, by protocol, and a composed one.

The constants are those of NCCL's tuner (:mod:`.nccl_tuner`); the links are those of the layout. A
message takes the protocol, of LL, LL128 and Simple, by which it is there first::

    ring   (base + (2(n-1) - 2N) l_in + 2N l_out) p + 2(n-1)/n m / B
    tree   base + 2(g-1) l_in + 2 L l_out + F + (m - c) max(2/B_in, w/B_out)
    NVLS   l_in + 2 L l_out + F + (m - c) max(v/B_in, w/B_out)

N nodes of g ranks, n = N g, L = ceil(lg N). Latency is that along the path of one share, so only
2N of a ring's steps pay for the network. l_out is NCCL's plus the network's own latency, for Simple
twice, since it waits until data that GPUDirect wrote are flushed. B of a protocol, on the slower
tier, is what the links carry less the protocol's flags. p is the tuner's PLATEAU for Simple between
nodes, else 1.

A tree's ranks hand on chunks of one step of NCCL's buffer; a smaller message is one chunk on every
channel. So c(B) = min(m, channels x step) bytes are under way on a tier before anything is
pipelined, and F = 2 (g-1) c(B_in)/B_in + 2 L c(B_out)/B_out is the time until the first of them are
back, or their own time on the wire if that is longer; c is that of the slower tier. A tier has as
many channels as B keeps busy, two for a link of the GPU's kind, so that a hop of a full chunk takes
as long on any faster tier. w is what a node sends in a double binary tree: the message once between
two nodes, twice between more, being inside one tree and a leaf of the other (Sanders, Speck &
Träff, Parallel Computing 35, 2009). A tree's channel carries up and down together, so that two
cards on two nodes may sum less by a tree than by a ring. In one node the tree is a chain. Steps of
the buffer, and that every channel runs twice: src/include/device.h, src/enqueue.cc and
src/graph/connect.cc of NVIDIA/nccl.

NVLS is the tree where a switch adds inside the nodes, and part of the tree here, as what is there
first. A rank sends its message and a share to the switch, v = 6/5 (g+1)/g, as measured (see
:mod:`.measured_library`). The first chunk goes up and then comes down, each of it alone:
F = 2 (6/5) c(B_in)/B_in + 2 L c(B_out)/B_out.

What NCCL takes by itself is the one of both that is there first, by these same prices or by those
of a profile (:class:`NcclRules`): so a faster link, inside or between nodes, is never slower.

Oversubscribed leaf switches (:mod:`dse.model.leaves`) slow the bytes between nodes, by what of a
ring or a tree leaves a leaf; NCCL counts its channels as if they did not.

What NCCL reads of the machine is assumed as by its tuner. Left out: CollNet; small messages' fewer
channels, whose shares of the rate change the median error below 1 MiB by 1 %; and that
Simple halves a tree's chunk down to 32 KiB while a message has few of them (src/enqueue.cc).
Without a cost per chunk, of which nothing is published, that takes 0.4 to 0.6 of the measured time
from 1 to 64 MiB between the nodes of three clusters, where whole chunks take 0.6 to 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import ClassVar, NamedTuple, TypeAlias

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
from dse.model.aggregation.library_rules import Choice, Known
from dse.model.aggregation.measured_library import NVLS_FACTOR
from dse.model.aggregation.nccl_tuner import (
    FIRST_TREES,
    LEAST_CHANNELS,
    NVLS_NETWORK_S,
    NVLS_S,
    PLAIN_TREE,
    PROTOCOLS,
    RING,
    SIMPLE,
    TREE,
    Nccl,
    network_hop_s,
    tuner_of,
)
from dse.model.arrays import Array, ArrayLike, ceil_log2
from dse.model.leaves import Leaf

# Bytes of one of the eight steps of a channel's buffer, without flags: LL, LL128, Simple.
STEP_BYTES = (32 * 2.0**10, 576e3, 512 * 2.0**10)
DUPLICATED = 2.0  # channels run for every one that the tuner's search finds
MOST_CHANNELS = 32.0
FLUSHES = 2.0  # times that Simple waits for the network in one hop


class Places(NamedTuple):
    """Ranks n, nodes N of up to g of them (``local``), and bytes of the message, m; arrays."""

    ranks: Array
    nodes: Array
    local: Array
    message_bytes: Array


@dataclass(frozen=True)
class Machine:
    """What carries the messages. tuner: NCCL's view of it. wire_s: latency of the network. leaf:
    oversubscribed leaf switches, of which NCCL does not know; None where none are."""

    tuner: Nccl
    wire_s: ArrayLike
    leaf: Leaf | None = None

    def shared(self, flows: Array) -> Machine:
        """As one of several communicators sees it that share the network cards of a node."""
        return replace(self, tuner=self.tuner.slowed(flows))

    def ring_tuner(self) -> Nccl:
        """The links that a ring meets: one node of a leaf sends to other leaves."""
        return self.tuner if self.leaf is None else self.tuner.slowed(self.leaf.slower(1.0))

    def tree_tuner(self, nodes: Array) -> Nccl:
        """The links that a double binary tree of so many nodes meets."""
        leaf = self.leaf
        return self.tuner if leaf is None else self.tuner.slowed(leaf.slower(leaf.tree(nodes)))

    def under_way(self, message_bytes: Array, step_bytes: float, s_per_byte: Array) -> Array:
        """Bytes of a message on a tier at once: one step on each channel that its rate keeps busy,
        of at least LEAST_CHANNELS and at most MOST_CHANNELS. The faster, the less time they take.

        s_per_byte: of the tier, 0 where it carries nothing.
        """
        with np.errstate(divide="ignore"):
            busy = DUPLICATED / (s_per_byte * self.tuner.link_bytes_per_s())
        busy = np.clip(busy, DUPLICATED * LEAST_CHANNELS, MOST_CHANNELS)
        return np.minimum(message_bytes, busy * step_bytes)

    def across_s(self, algorithm: int, protocol: int, local: Array, hops: Array) -> Array:
        """Latency of so many hops from a node to the next: none within one node, which may have no
        network."""
        waits = FLUSHES if protocol == SIMPLE else 1.0
        hop_s = network_hop_s(algorithm, protocol, local) + waits * self.wire_s
        return np.where(hops > 0, hops * hop_s, 0.0)


Seconds: TypeAlias = Callable[[Places, Machine], Array]


def ring(places: Places, machine: Machine, turns: float = 2.0) -> Array:
    """Seconds of NCCL's ring; see above. One turn reduces and scatters, or gathers, in a node."""
    n, nodes, local, m = places
    tuner, steps = machine.ring_tuner(), turns * (n - 1)
    bus = tuner.bus_bytes_per_s(nodes, local)
    channels = machine.tuner.channels(nodes)
    crossings = ring_crossings(n, nodes)
    found = []
    for protocol in range(len(PROTOCOLS)):
        inside = (steps - crossings) * tuner.hop_s(RING, protocol, nodes)
        across = machine.across_s(RING, protocol, local, crossings)
        latency = tuner.base_s(RING, protocol) + inside + across
        if protocol == SIMPLE:
            latency = latency * tuner.plateau(n, nodes, m, channels)
        rate = tuner.rate_bytes_per_s(RING, protocol, nodes, bus, channels)
        seconds = latency + m * (steps / n / rate)
        found.append(np.where(tuner.allowed(protocol, nodes, local), seconds, np.inf))
    return _least(found)


def tree(places: Places, machine: Machine) -> Array:
    """Seconds of NCCL's double binary tree; see above."""
    _, nodes, local, m = places
    tuner, levels = machine.tree_tuner(nodes), ceil_log2(nodes)
    channels = machine.tuner.channels(nodes)
    sent = np.where(nodes == 2, 1.0, 2.0)
    pattern = np.where(local <= 1, PLAIN_TREE, 1.0)
    found = []
    for protocol, step in enumerate(STEP_BYTES):
        hops_s = (local - 1) * tuner.hop_s(TREE, protocol, nodes)
        across_s = machine.across_s(TREE, protocol, local, levels)
        latency = tuner.base_s(TREE, protocol) + 2 * (hops_s + across_s)
        inside, across = (
            both / tuner.rate_bytes_per_s(TREE, protocol, nodes, both * np.asarray(link), channels)
            for both, link in (
                (1.0, tuner.inside_bytes_per_s), (2 / sent, tuner.between_bytes_per_s)
            )
        )  # fmt: skip
        inside, across = np.where(local > 1, inside, 0.0), np.where(nodes > 1, across / pattern, 0)
        filled = 2 * (local - 1) * inside, 2 * levels * across
        seconds = latency + _pipelined_s(
            m, machine, step, (inside, across), filled, np.maximum(2 * inside, sent * across)
        )
        found.append(np.where(tuner.allowed(protocol, nodes, local), seconds, np.inf))
    return np.asarray(np.minimum(_least(found), nvls(places, machine)))


def nvls(places: Places, machine: Machine) -> Array:
    """Seconds of NVLS, between nodes of NVLSTree; infinite where no switch adds. See above."""
    _, nodes, local, m = places
    tuner, levels = machine.tree_tuner(nodes), ceil_log2(nodes)
    wire_s = NVLS_NETWORK_S + FLUSHES * np.asarray(machine.wire_s)
    latency = NVLS_S + 2 * np.where(levels > 0, levels * wire_s, 0.0)
    inside = NVLS_FACTOR * (local + 1) / local / np.asarray(tuner.inside_bytes_per_s)
    across = np.where(nodes > 1, 1 / np.asarray(tuner.between_bytes_per_s), 0.0)
    slowest = np.maximum(inside, np.where(nodes == 2, 1.0, 2.0) * across)
    filled = 2 * local / (local + 1) * inside, 2 * levels * across
    seconds = latency + _pipelined_s(
        m, machine, STEP_BYTES[SIMPLE], (inside, across), filled, slowest
    )
    return np.where(tuner.adds(local), seconds, np.inf)


def _pipelined_s(
    message_bytes: Array,
    machine: Machine,
    step_bytes: float,
    tiers: tuple[Array, Array],
    filled: tuple[Array, Array],
    slowest: Array,
) -> Array:
    """Seconds of the bytes of a tree: F + (m - c) slowest, at least m slowest; see above.

    tiers: seconds per byte inside and between nodes, 0 where there is none. filled: likewise, until
    the first bytes are back. slowest: likewise, of the pipeline.
    """
    stored = [machine.under_way(message_bytes, step_bytes, tier) for tier in tiers]
    fill_s = stored[0] * filled[0] + stored[1] * filled[1]
    rest_s = (message_bytes - np.minimum(*stored)) * slowest
    return np.asarray(np.maximum(fill_s + rest_s, message_bytes * slowest))


def hierarchical(places: Places, machine: Machine) -> Array:
    """Seconds of an allreduce that a framework composes of three of NCCL's operations.

    A reduce-scatter inside each node, an allreduce of every m/g among the ranks of the same place
    on all nodes, which share the network cards, and an all-gather inside, one after the other
    (Horovod's hierarchical allreduce has these phases, with MPI between the nodes)::

        2 (base + (g-1) l_in + (g-1)/g m / B_in) + min(ring, tree)(N ranks on N nodes, m/g)
    """
    _, nodes, local, m = places
    zero = 0.0 * nodes
    inside = 2 * ring(Places(local, zero + 1, local, m), machine, turns=1.0)
    part = Places(nodes, nodes, zero + 1, m / local)
    between = machine.shared(local)
    across = np.minimum(ring(part, between), tree(part, between))
    return np.where(local > 1, inside, 0.0) + np.where(nodes > 1, across, 0.0)


# By the names of :data:`.algorithms.ALGORITHMS`. Those COMPOSED are no algorithm of NCCL's own.
COMPOSED = frozenset({"hierarchical"})
NCCL_ALGORITHMS: Mapping[str, Seconds] = MappingProxyType(
    {"ring": ring, "tree": tree, "hierarchical": hierarchical}
)


@dataclass(frozen=True)
class NcclAllreduce(Bucketed):
    """An algorithm of NCCL_ALGORITHMS, not measured."""

    algorithm: str

    @property
    def axes(self) -> frozenset[str]:
        """The hardware, and what fuses the gradients."""
        return HARDWARE_AXES | {"bucket"}

    @property
    def algorithms(self) -> tuple[str, ...]:
        """Its own."""
        return (self.algorithm,)

    def message_s(self, message_bytes: Array, gradients: Gradients, layout: Layout) -> Array:
        """Seconds of the algorithm; one accelerator sends nothing."""
        del gradients
        n = np.asarray(layout.gpus, dtype=np.float64)
        g = np.asarray(layout.gpus_per_node, dtype=np.float64)
        places = Places(n, node_count(n, g), np.minimum(n, g), message_bytes)
        seconds = NCCL_ALGORITHMS[self.algorithm](places, self._machine(layout))
        return np.where(n > 1, seconds, 0.0)

    def bounded(self, gradients: Gradients, layout: Layout) -> bool:
        """Whether both links have a finite price per byte, and the network a latency."""
        machine = self._machine(layout)
        rates = machine.tuner.inside_bytes_per_s, machine.tuner.between_bytes_per_s
        most = float(gradients.message_bytes.max(initial=0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            prices = [most / np.asarray(rate) for rate in rates]
        return all_finite(machine.wire_s, *prices)

    def _machine(self, layout: Layout) -> Machine:
        tuner = tuner_of(layout).slowed(1 / link_share_of(layout))
        return Machine(tuner, layout.across.latency_s, layout.leaf)


@dataclass(frozen=True)
class NcclRules:
    """The one of NCCL's ring and tree that takes less by its price; see :class:`.RulesOf`.

    prices: of both, by name.
    """

    title: ClassVar[str] = "NCCL's tuner at these prices"
    source: ClassVar[str] = "NVIDIA/nccl@5067397c2676, src/graph/tuning.cc"
    algorithms: ClassVar[tuple[Known, ...]] = (Known("ring", "ring"), Known("tree", "tree"))

    prices: Mapping[str, Bucketed]

    def choice(self, message_bytes: Array, gradients: Gradients, layout: Layout) -> Choice:
        """The ring where both take as long, or NCCL has no tree."""
        ring_s, tree_s = (
            self.prices[known.priced_as].message_s(message_bytes, gradients, layout)
            for known in self.algorithms
        )
        early = np.isfinite(layout.socket_bytes_per_s) & (layout.generation < FIRST_TREES)
        return np.where((tree_s < ring_s) & ~early, 1, 0)


def _least(found: list[Array]) -> Array:
    ll, ll128, simple = found
    return np.asarray(np.minimum(np.minimum(ll, ll128), simple))
