"""What NCCL's tuner knows of a machine: latencies, and the rates that its links carry by protocol.

Constants of src/graph/tuning.cc (NVIDIA/nccl@5067397c2676) for {tree, ring} x {LL, LL128, Simple},
and for NVLS (NVLSTree between nodes), where a switch adds. :mod:`.nccl` prices by them.

What else NCCL reads from the machine is assumed (unverified): an Intel host and, between nodes,
card and GPU near enough for LL128, where the layout does not say otherwise; as many channels as a
GPU has links, or a node has network cards; a tree of the balanced pattern wherever a node has
several GPUs, though from Hopper on NCCL's search may end with the plain one; a switch that adds in
nodes of NVLS_FROM_RANKS or more GPUs with NVLink, from Hopper on. Left out: CollNet, which is off
by default; and the tuner's own estimates, whose least is 0.6 of the time that was measured on 15
systems from 1 to 64 MiB (median), where that of :mod:`.nccl` is 0.8.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dse.model.aggregation.base import UNKNOWN_GENERATION, Layout
from dse.model.aggregation.measured_library import NVLS_FROM_RANKS
from dse.model.arrays import Array, ArrayLike, Mask

US, GB_PER_S = 1e-6, 1e9
TREE, RING = 0, 1
LL, LL128, SIMPLE = 0, 1, 2
PROTOCOLS = ("LL", "LL128", "Simple")
# GPUs by compute capability: 6 and older, 7, 8, 9, 10. Pascal shares Volta's rows but has no LL128.
GENERATIONS = ("pascal", "volta", "ampere", "hopper", "blackwell")
OLDEST_CAPABILITY = 6
# Older ones on TCP sockets are taken to run NCCL from before its tuner, 2.5: no trees.
FIRST_TREES = GENERATIONS.index("ampere")
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
LL_ROW_INTEL, LL_ROW_AMD = 0, 1  # between nodes the row goes by the host's maker
AMD_OVERHEAD = 2.0  # times NETWORK_OVERHEAD_S, of AMD's hosts
RING_LL128_CHANNEL = GB_PER_S * np.array([20.0, 20.0, 36.7, 40.0])
TREE_LL128_CHANNEL = GB_PER_S * np.array([
    [20.0, 20.0, 20.0], [20.0, 20.0, 20.0], [36.7, 36.7, 29.0], [55.6, 31.67, 20.0],
])  # fmt: skip
TREE_CHANNEL = GB_PER_S * np.array([
    [26.5, 18.5, 10.0], [24.0, 23.6, 17.8], [38.7, 41.4, 36.0], [70.0, 42.8, 24.0],
])  # fmt: skip
LINK = GB_PER_S * np.array([18.0, 20.0, 20.0, 20.6, 40.1])  # one NVLink, by generation
# Boost clock of Hopper, 1.98 GHz, over the generation's (data sheets of P100, V100, A100, H100 SXM,
# B200): latencies inside a node are those of kernels, and the tuner's are taken to be Hopper's.
SLOWER = np.array([1.34, 1.29, 1.40, 1.0, 1.0])
CARD_CHANNEL = GB_PER_S * 25.0  # a channel that carries as much is made two (src/graph/search.cc)
PCI_LINK = GB_PER_S * 12.0
LEAST_CHANNELS = 2.0
# Between nodes, a ring's latency where a channel has PLATEAU_BYTES a rank: before Ampere, and from.
PLATEAU_BYTES, PLATEAU = 64.0, (1.9, 1.4)
PLAIN_TREE = 0.85  # of a tree's bandwidth is left where all traffic of a node passes one GPU


@dataclass(frozen=True)
class Nccl:
    """A machine as NCCL sees it; arrays that broadcast with the points.

    generation: position in GENERATIONS. nvlink: whether the GPUs of a node meet over NVLink, else
    over PCIe. inside_bytes_per_s, between_bytes_per_s: of one GPU to the others of its node, and of
    all network cards of a node, as NCCL reaches them. direct: whether these reach the GPUs' memory
    without passing the host, be it its memory or its bridge. amd: whether AMD made the host. cards:
    of a node.
    """

    generation: ArrayLike
    nvlink: ArrayLike
    inside_bytes_per_s: ArrayLike
    between_bytes_per_s: ArrayLike
    direct: ArrayLike = True
    amd: ArrayLike = False
    cards: ArrayLike = 1.0

    def slowed(self, factor: ArrayLike) -> Nccl:
        """With network cards so many times slower."""
        return replace(self, between_bytes_per_s=np.asarray(self.between_bytes_per_s) / factor)

    def adds(self, local: Array) -> Mask:
        """Whether a switch adds in nodes of so many GPUs."""
        new = np.asarray(self.generation) >= GENERATIONS.index("hopper")
        return np.asarray(new & np.asarray(self.nvlink) & (local >= NVLS_FROM_RANKS))

    def allowed(self, protocol: int, nodes: Array, local: Array) -> Mask:
        """LL128 needs Volta or later, NVLink where a node has several GPUs (``local``), and between
        nodes a card that reaches the GPU past the host, at most over PCIe switches (PATH_PXB): 128
        bytes that pass the bridge of the host, or its memory, may arrive out of order."""
        if protocol != LL128:
            return np.asarray(True)
        old = np.asarray(self.generation) < GENERATIONS.index("volta")
        near = np.asarray(self.direct) | (nodes <= 1)
        return np.asarray(~old & near & (np.asarray(self.nvlink) | (local <= 1)))

    def bus_bytes_per_s(self, nodes: Array, local: Array) -> Array:
        """What a ring through all GPUs of a node and its network cards carries."""
        inside, between = np.asarray(self.inside_bytes_per_s), np.asarray(self.between_bytes_per_s)
        slower = np.where(local > 1, np.minimum(inside, between), between)
        return np.where(nodes <= 1, inside, slower)

    def channels(self, nodes: Array) -> Array:
        """As many as a GPU has links; between nodes one a card, more of fast ones; two at least."""
        links = np.ceil(self.inside_bytes_per_s / self.link_bytes_per_s())
        card = np.asarray(self.between_bytes_per_s) / self.cards
        found = np.where(nodes > 1, np.ceil(card / CARD_CHANNEL) * self.cards, links)
        return np.asarray(np.fmax(found, LEAST_CHANNELS))

    def base_s(self, algorithm: int, protocol: int) -> Array:
        """Latency of a call."""
        return np.asarray(BASE_S[algorithm, protocol] * SLOWER[self.generation])

    def link_bytes_per_s(self) -> Array:
        """Of one link of the GPU's kind."""
        return np.where(self.nvlink, LINK[self.generation], PCI_LINK)

    def rate_bytes_per_s(
        self, algorithm: int, protocol: int, nodes: Array, bus: Array, channels: Array
    ) -> Array:
        """What all channels carry by the protocol on such a bus; of a tree up and down together."""
        row = _ROW[self.generation]
        column = np.clip(nodes, 1, 3).astype(np.int64) - 1
        one = nodes <= 1
        between = np.where(self.amd, LL_ROW_AMD, LL_ROW_INTEL)
        most = LL_MOST[np.where(one, row, between), column]
        if algorithm == RING:
            wide, cap = bus, channels * RING_LL128_CHANNEL[row]
            shares: tuple[ArrayLike, ...] = (0.5, 0.92, 1.0)
        else:
            wide = np.minimum(bus * 0.92, channels * TREE_CHANNEL[row, column])
            cap = channels * TREE_LL128_CHANNEL[row, column]
            shares = (1 / 3.8, np.where(one, 7 / 9, 120 / 128), 1.0)
        return np.asarray(np.minimum(wide * shares[protocol], (most, cap, np.inf)[protocol]))

    def plateau(self, ranks: Array, nodes: Array, message_bytes: Array, channels: Array) -> Array:
        """By what the latency of a ring by Simple is multiplied between nodes, from PLATEAU_BYTES a
        rank on each channel on."""
        early = np.asarray(self.generation) < GENERATIONS.index("ampere")
        full = (nodes > 1) & (message_bytes / (channels * ranks) >= PLATEAU_BYTES)
        return np.where(full, np.where(early, *PLATEAU), 1.0)

    def hop_s(self, algorithm: int, protocol: int, nodes: Array) -> Array:
        """Latency from one GPU of a node to the next; a ring of several nodes has a least."""
        own = np.where(self.nvlink, NVLINK_S[algorithm, protocol], PCI_S[algorithm, protocol])
        own = own * SLOWER[self.generation]
        if algorithm == TREE:
            return np.asarray(own)
        least_s = NETWORK_OVERHEAD_S[protocol] * np.where(self.amd, AMD_OVERHEAD, 1.0)
        least = np.where(nodes > 1, least_s, 0.0)
        return np.asarray(np.maximum(own, least))


def network_hop_s(algorithm: int, protocol: int, local: Array) -> Array:
    """Latency from a node to the next; one GPU a node has a tree's, also in a ring."""
    alone, several = NETWORK_S[TREE, protocol], NETWORK_S[algorithm, protocol]
    return np.asarray(np.where(local <= 1, alone, several))


def tuner_of(layout: Layout) -> Nccl:
    """The machines of a layout as NCCL sees them.

    An accelerator of unknown generation counts as one of ASSUMED_GENERATION. Of a network card and
    its sockets, if any, the slower counts.
    """
    assumed = GENERATIONS.index(ASSUMED_GENERATION)
    known = layout.generation != UNKNOWN_GENERATION
    card = np.minimum(layout.across.bytes_per_s, layout.socket_bytes_per_s)
    return Nccl(
        np.where(known, layout.generation, assumed),
        layout.own_links,
        layout.inside.bytes_per_s,
        card * layout.rails,
        ~np.asarray(layout.through_host) & np.isinf(layout.socket_bytes_per_s),
        layout.amd_host,
        layout.rails,
    )
