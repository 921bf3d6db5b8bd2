"""NCCL's tuner: the algorithm and protocol of the least time by its own model.

``T = latency + m / bandwidth`` for {tree, ring} x {LL, LL128, Simple}, and for NVLS (NVLSTree
between nodes), where a switch adds; with the constants of src/graph/tuning.cc
(NVIDIA/nccl@5067397c2676). The tuner only chooses; the price is that of the model's tree, which
includes NVLS, or ring.

What NCCL reads from the machine is not known here, so it is assumed (unverified): an Intel host; a
network that adds no latency of its own; as many channels as the bus has links of the GPU's kind,
two at least; card and GPU near enough for LL128; between nodes the speed of the network on any
number of them; a tree of the balanced pattern wherever a node has several GPUs, though from Hopper
on NCCL's search may end with the plain one; a switch that adds in nodes of NVLS_FROM_RANKS or more
GPUs with NVLink, from Hopper on; as many channels of NVLS as an own link has. Left out: CollNet,
which is off by default.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dse.model.aggregation.algorithms import node_count
from dse.model.aggregation.base import UNKNOWN_GENERATION, Layout
from dse.model.aggregation.library_rules import Choice, Known, Rules
from dse.model.aggregation.measured_library import NVLS_FROM_RANKS
from dse.model.arrays import Array, ArrayLike, Mask, ceil_log2, largest_power_of_two

US, GB_PER_S = 1e-6, 1e9
TREE, RING, NVLS = 0, 1, 2
LL, LL128, SIMPLE = 0, 1, 2
PROTOCOLS = ("LL", "LL128", "Simple")
# GPUs by compute capability: 6 and older, 7, 8, 9, 10. Pascal shares Volta's rows but has no LL128.
GENERATIONS = ("pascal", "volta", "ampere", "hopper", "blackwell")
OLDEST_CAPABILITY = 6
ASSUMED_GENERATION = "ampere"  # where an accelerator has none
_ROW = np.array([0, 0, 1, 2, 3])  # of a generation in the tables below
# Seconds: [algorithm][protocol].
BASE_S = US * np.array([[6.8, 14.0, 8.4], [6.6, 14.0, 8.4]])
NVLINK_S = US * np.array([[0.6, 1.25, 4.0], [0.6, 1.9, 3.4]])
PCI_S = US * np.array([[1.0, 1.9, 4.0], [1.0, 2.5, 5.7]])
NETWORK_S = US * np.array([[5.0, 8.5, 14.0], [2.7, 4.0, 14.0]])
NETWORK_OVERHEAD_S = US * np.array([1.0, 1.0, 3.0])  # a step's least, per protocol, several nodes
NVLS_S, NVLS_NETWORK_S = 25.0 * US, 20.9 * US  # a step of NVLS, and of NVLSTree between nodes
# Bytes/s by generation, and by nodes: 1, 2, more.
LL_MOST = GB_PER_S * np.array([
    [39.0, 39.0, 20.4], [87.7, 22.5, 19.0], [141.0, 45.0, 35.0], [282.0, 90.0, 70.0],
])  # fmt: skip
LL_ROW_BETWEEN = 0  # between nodes the row goes by the host's maker: Intel
RING_LL128_CHANNEL = GB_PER_S * np.array([20.0, 20.0, 36.7, 40.0])
TREE_LL128_CHANNEL = GB_PER_S * np.array([
    [20.0, 20.0, 20.0], [20.0, 20.0, 20.0], [36.7, 36.7, 29.0], [55.6, 31.67, 20.0],
])  # fmt: skip
TREE_CHANNEL = GB_PER_S * np.array([
    [26.5, 18.5, 10.0], [24.0, 23.6, 17.8], [38.7, 41.4, 36.0], [70.0, 42.8, 24.0],
])  # fmt: skip
NVLS_EFFICIENCY = np.array([0.0, 0.0, 0.85, 0.74])  # none before Hopper
NVLS_TREE_CHANNEL = GB_PER_S * np.array([
    [np.inf, 0.0, 0.0], [np.inf, 0.0, 0.0], [np.inf, 57.7, 45.5], [np.inf, 96.0, 80.0],
])  # fmt: skip
LINK = GB_PER_S * np.array([18.0, 20.0, 20.0, 20.6, 40.1])  # one NVLink, by generation
PCI_LINK = GB_PER_S * 12.0
LEAST_CHANNELS = 2.0
# A tree's bandwidth is multiplied by these: [protocol][floor(lg(m / 64))].
TREE_CORRECTION = np.array([
    [1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1],
    [1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1],
    [.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9,
     .9],
])  # fmt: skip
CORRECTED_FROM_BYTES = 64.0
CORRECTED_OCTAVES = 23  # of the table; NCCL has one more column, which its tree never reads
# Between nodes, a ring's latency where a channel has PLATEAU_BYTES a rank: before Ampere, and from.
PLATEAU_BYTES, PLATEAU = 64.0, (1.9, 1.4)
TWO_NODES = 2.0  # a tree between two nodes: speed inside over that between, at most
PLAIN_TREE = 0.85  # of a tree's bandwidth is left where all traffic of a node passes one GPU
_PAIRS = (
    *((algorithm, protocol) for algorithm in (TREE, RING) for protocol in range(3)),
    (NVLS, SIMPLE),
)


@dataclass(frozen=True)
class Nccl:
    """NCCL's choice on a machine; arrays that broadcast with the points.

    generation: position in GENERATIONS. nvlink: whether the GPUs of a node meet over NVLink, else
    over PCIe. inside_bytes_per_s, between_bytes_per_s: of one GPU to the others of its node, and of
    all network cards of a node, as NCCL reaches them.
    """

    title: ClassVar[str] = "NCCL's tuner"
    source: ClassVar[str] = "NVIDIA/nccl@5067397c2676, src/graph/tuning.cc"
    algorithms: ClassVar[tuple[Known, ...]] = (
        *(
            Known(f"{how} with {protocol}", how)
            for how in ("tree", "ring")
            for protocol in PROTOCOLS
        ),
        Known("NVLS", "tree"),
    )

    generation: ArrayLike
    nvlink: ArrayLike
    inside_bytes_per_s: ArrayLike
    between_bytes_per_s: ArrayLike

    def __call__(
        self, ranks: ArrayLike, ranks_per_node: ArrayLike, message_bytes: ArrayLike
    ) -> Choice:
        """Positions in ``algorithms``: of the least :meth:`seconds`, the first of equals."""
        best = self.seconds(0, ranks, ranks_per_node, message_bytes)
        choice = np.zeros(best.shape, dtype=np.int64)
        for at in range(1, len(self.algorithms)):
            seconds = self.seconds(at, ranks, ranks_per_node, message_bytes)
            choice = np.where(seconds < best, at, choice)
            best = np.minimum(seconds, best)
        return choice

    def seconds(
        self, at: int, ranks: ArrayLike, ranks_per_node: ArrayLike, message_bytes: ArrayLike
    ) -> Array:
        """What NCCL takes ``algorithms[at]`` to need; infinite where it may not be taken."""
        algorithm, protocol = _PAIRS[at]
        n, m = np.asarray(ranks, dtype=np.float64), np.asarray(message_bytes, dtype=np.float64)
        nodes, local = node_count(n, ranks_per_node), np.minimum(n, ranks_per_node)
        if algorithm == NVLS:
            return self._nvls_s(n, nodes, local, m)
        one = nodes <= 1
        bus = self.bus_bytes_per_s(nodes, local)
        channels = self.channels(bus)
        if algorithm == TREE:
            bus = np.where((nodes == 2) & (local > 1), self._bus_of_two_nodes(), bus)
        rate = self.rate_bytes_per_s(algorithm, protocol, nodes, bus, channels)
        hop_s = self.hop_s(algorithm, protocol, nodes)
        wire_s = network_hop_s(algorithm, protocol, local)
        if algorithm == TREE:
            rate = rate / 2 * np.where(local <= 1, PLAIN_TREE, 1.0) * _tree_correction(protocol, m)
            levels = ceil_log2(largest_power_of_two(nodes))
            one_way = (np.floor(n / nodes) - 1) * hop_s + levels * wire_s
            latency = BASE_S[TREE, protocol] + 2 * one_way
        else:
            steps, across = 2 * (n - 1), 2 * (nodes - 1)
            rate = rate * n / np.maximum(steps, 1.0)
            latency = BASE_S[RING, protocol] + (steps - across) * hop_s + across * wire_s
            if protocol == SIMPLE:
                full = ~one & (m / (channels * n) >= PLATEAU_BYTES)
                early = np.asarray(self.generation) < GENERATIONS.index("ampere")
                latency = latency * np.where(full, np.where(early, *PLATEAU), 1.0)
        return np.where(self.allowed(protocol, local), latency + m / rate, np.inf)

    def _nvls_s(self, n: Array, nodes: Array, local: Array, m: Array) -> Array:
        """NVLS in one node, NVLSTree between several; infinite where no switch adds."""
        inside = np.asarray(self.inside_bytes_per_s)
        row, column = _ROW[self.generation], np.clip(nodes, 1, 3).astype(np.int64) - 1
        channels = self.channels(inside)
        reached = 2 * inside * NVLS_EFFICIENCY[row] * (channels - 1) / channels
        network = np.where(nodes == 2, TWO_NODES, 1.0) * self.between_bytes_per_s
        rate = np.minimum(reached, np.where(nodes <= 1, np.inf, network))
        rate = np.minimum(rate, channels * NVLS_TREE_CHANNEL[row, column])
        rate = np.where(self.adds(local), rate * n / np.maximum(2 * (n - 1), 1.0), np.inf)
        levels = ceil_log2(largest_power_of_two(nodes))
        latency = NVLS_S + 2 * levels * NVLS_NETWORK_S
        return np.where(self.adds(local), latency + m / rate, np.inf)

    def adds(self, local: Array) -> Mask:
        """Whether a switch adds in nodes of so many GPUs."""
        new = np.asarray(self.generation) >= GENERATIONS.index("hopper")
        return np.asarray(new & np.asarray(self.nvlink) & (local >= NVLS_FROM_RANKS))

    def allowed(self, protocol: int, local: Array) -> Mask:
        """LL128 needs Volta or later, and NVLink where a node has several GPUs (``local``)."""
        if protocol != LL128:
            return np.asarray(True)
        old = np.asarray(self.generation) < GENERATIONS.index("volta")
        return np.asarray(~old & (np.asarray(self.nvlink) | (local <= 1)))

    def bus_bytes_per_s(self, nodes: Array, local: Array) -> Array:
        """What a ring through all GPUs of a node and its network cards carries."""
        inside, between = np.asarray(self.inside_bytes_per_s), np.asarray(self.between_bytes_per_s)
        slower = np.where(local > 1, np.minimum(inside, between), between)
        return np.where(nodes <= 1, inside, slower)

    def _bus_of_two_nodes(self) -> Array:
        """A tree's: it sends a message once between two nodes, so NCCL lets the links inside a
        node run at up to twice the speed of the network (src/graph/search.cc)."""
        twice = TWO_NODES * np.asarray(self.between_bytes_per_s)
        return np.asarray(np.minimum(self.inside_bytes_per_s, twice))

    def channels(self, bus_bytes_per_s: Array) -> Array:
        """As many as the bus has links of the GPU's kind, two at least."""
        link = np.where(self.nvlink, LINK[self.generation], PCI_LINK)
        return np.asarray(np.maximum(np.ceil(bus_bytes_per_s / link), LEAST_CHANNELS))

    def rate_bytes_per_s(
        self, algorithm: int, protocol: int, nodes: Array, bus: Array, channels: Array
    ) -> Array:
        """What all channels carry by the protocol on such a bus."""
        row = _ROW[self.generation]
        column = np.clip(nodes, 1, 3).astype(np.int64) - 1
        one = nodes <= 1
        most = LL_MOST[np.where(one, row, LL_ROW_BETWEEN), column]
        if algorithm == RING:
            wide, cap = bus, channels * RING_LL128_CHANNEL[row]
            shares: tuple[ArrayLike, ...] = (0.5, 0.92, 1.0)
        else:
            wide = np.minimum(bus * 0.92, channels * TREE_CHANNEL[row, column])
            cap = channels * TREE_LL128_CHANNEL[row, column]
            shares = (1 / 3.8, np.where(one, 7 / 9, 120 / 128), 1.0)
        return np.asarray(np.minimum(wide * shares[protocol], (most, cap, np.inf)[protocol]))

    def hop_s(self, algorithm: int, protocol: int, nodes: Array) -> Array:
        """Latency from one GPU of a node to the next; a ring of several nodes has a least."""
        own = np.where(self.nvlink, NVLINK_S[algorithm, protocol], PCI_S[algorithm, protocol])
        if algorithm == TREE:
            return np.asarray(own)
        least = np.where(nodes > 1, NETWORK_OVERHEAD_S[protocol], 0.0)
        return np.asarray(np.maximum(own, least))


def network_hop_s(algorithm: int, protocol: int, local: Array) -> Array:
    """Latency from a node to the next; one GPU a node has a tree's, also in a ring."""
    alone, several = NETWORK_S[TREE, protocol], NETWORK_S[algorithm, protocol]
    return np.asarray(np.where(local <= 1, alone, several))


def _tree_correction(protocol: int, message_bytes: Array) -> Array:
    table = TREE_CORRECTION[protocol]
    octave = np.frexp(message_bytes / CORRECTED_FROM_BYTES)[1] - 1  # floor(lg), below 0 for 0
    known = (octave >= 0) & (octave < CORRECTED_OCTAVES)
    return np.where(known, table[np.clip(octave, 0, table.size - 1)], 1.0)


def tuner_of(layout: Layout, copy_s_per_byte: float = 0.0) -> Nccl:
    """NCCL's tuner on the machines of a layout.

    An accelerator of unknown generation counts as one of ASSUMED_GENERATION. copy_s_per_byte: of
    what copies beside each network card; the slower of both counts.
    """
    assumed = GENERATIONS.index(ASSUMED_GENERATION)
    known = layout.generation != UNKNOWN_GENERATION
    card = np.asarray(layout.across.bytes_per_s)
    if copy_s_per_byte:
        card = np.minimum(card, 1 / copy_s_per_byte)
    return Nccl(
        np.where(known, layout.generation, assumed),
        layout.own_links,
        layout.inside.bytes_per_s,
        card * layout.rails,
    )


@dataclass(frozen=True)
class NcclRules:
    """NCCL's tuner on the machines of a layout; see :class:`.library_rules.RulesOf`."""

    title: str = Nccl.title
    source: str = Nccl.source
    algorithms: tuple[Known, ...] = Nccl.algorithms

    def __call__(self, layout: Layout, element_bytes: float) -> Rules:
        """Whatever the elements."""
        del element_bytes
        return tuner_of(layout)
