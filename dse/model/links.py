"""What one message costs: the software's part, the wire's part, and both tiers of a cluster.

A protocol sees the size of one step's message, not the gradient's total. So the cost of a message
of ``s`` bytes is fitted once and every algorithm is the sum of its own steps::

    exchange(s) = software(s) + wire latency + s * max(1/flow bandwidth, flows/node bandwidth)

The first two terms are Hockney's alpha (Parallel Computing 20, 1994), the last his beta.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from dse.model.arrays import Array, ArrayLike
from dse.model.leaves import Leaf

Exchange: TypeAlias = Callable[[ArrayLike], Array]


def regime_bytes(message_bytes: ArrayLike, edges_bytes: Sequence[float]) -> list[Array]:
    """How many bytes of a message fall into each size regime; the parts sum to the message.

    ``edges_bytes`` (R-1 of them, ascending) part the sizes into R regimes.
    """
    size = np.asarray(message_bytes, dtype=np.float64)
    if not edges_bytes:
        return [size]
    lows = (0.0, *edges_bytes)
    highs = (*edges_bytes, np.inf)
    return [np.clip(size - low, 0.0, high - low) for low, high in zip(lows, highs, strict=True)]


def mesh_bytes_per_s(all_links: ArrayLike, pair: ArrayLike, ranks: ArrayLike) -> Array:
    """What one of n accelerators sends to the others of its node: ``min(B, (n - 1) B_pair)``.

    Links that join accelerators two by two carry nothing to those that do not train. all_links: B,
    bytes per second over all links of one accelerator; pair: B_pair, over those to one other,
    infinite behind a switch; ranks: n. Arguments broadcast.
    """
    others = np.maximum(np.asarray(ranks) - 1, 1)
    return np.asarray(np.minimum(all_links, others * np.asarray(pair)))


@dataclass(frozen=True)
class StepCost:
    """Seconds of software for one message, monotone in its size by construction.

    ``f(s) = latency + sum_r s_per_byte[r] * bytes_r(s) + sum_r jump[r] [s >= edge[r]]``

    which is the piecewise alpha_r + beta_r * s with every coefficient non-negative: a larger
    message is never cheaper, and the form is linear in its coefficients, so NNLS can fit it.
    Coefficients may be arrays (bootstrap draws, say) that broadcast against the message sizes.
    """

    latency_s: ArrayLike
    s_per_byte: tuple[ArrayLike, ...]
    edges_bytes: tuple[float, ...] = ()
    jump_s: tuple[ArrayLike, ...] = ()

    def __call__(self, message_bytes: ArrayLike) -> Array:
        """Seconds for messages of ``message_bytes`` (any shape, >= 0)."""
        size = np.asarray(message_bytes, dtype=np.float64)
        parts = regime_bytes(size, self.edges_bytes)
        total = np.asarray(self.latency_s, dtype=np.float64)
        for slope, part in zip(self.s_per_byte, parts, strict=True):
            total = total + np.asarray(slope) * part
        for jump, edge in zip(self.jump_s, self.edges_bytes, strict=False):
            total = total + np.asarray(jump) * (size >= edge)
        return np.asarray(total, dtype=np.float64)


FREE = StepCost(0.0, (0.0,))


@dataclass(frozen=True)
class Link:
    """A wire: one-way latency in seconds and bytes/s in one direction. Arrays, >= 0 and > 0."""

    latency_s: ArrayLike
    bytes_per_s: ArrayLike


NO_WIRE = Link(0.0, np.inf)


@dataclass(frozen=True)
class Network:
    """Both tiers of a cluster as one transport sees them.

    intra_software, inter_software: seconds per message besides the wire, per tier.
    intra, inter: the wires; ``inter`` is one network card (rail) of a node.
    rails: network cards of a node. multirail: whether one flow spreads over all of them (NCCL's
    channels do; a plain MPI or gRPC connection does not).
    gamma_s_per_byte: seconds to reduce one byte into the local buffer.
    crossing: the bytes whose time on the wire an exchange takes (both ranks send at once), where
    that is more than one message: a protocol that waits for an answer behind its own data uses one
    direction after the other. None: the message's own, as on a full-duplex link.
    leaf: switches whose links up all nodes of a leaf share; None where nothing blocks.
    """

    intra_software: Exchange
    inter_software: Exchange
    intra: Link = NO_WIRE
    inter: Link = NO_WIRE
    rails: ArrayLike = 1.0
    multirail: bool = False
    gamma_s_per_byte: ArrayLike = 0.0
    crossing: Exchange | None = None
    leaf: Leaf | None = None

    def within(self, message_bytes: ArrayLike) -> Array:
        """Seconds of one exchange between two ranks of a node."""
        wire = np.asarray(message_bytes) / self.intra.bytes_per_s
        return np.asarray(self.intra_software(message_bytes) + self.intra.latency_s + wire)

    def across(
        self, message_bytes: ArrayLike, flows: ArrayLike = 1.0, leaving: ArrayLike | None = None
    ) -> Array:
        """Seconds of one exchange between nodes while ``flows`` such flows leave every node.

        leaving: flows that leave every leaf, see :meth:`wire_s_per_byte`.
        """
        if self.crossing is None:
            return self.one_way(message_bytes, flows, leaving)
        wire = self.crossing(message_bytes) * self.wire_s_per_byte(flows, leaving)
        return np.asarray(self.inter_software(message_bytes) + self.inter.latency_s + wire)

    def one_way(
        self, message_bytes: ArrayLike, flows: ArrayLike = 1.0, leaving: ArrayLike | None = None
    ) -> Array:
        """Seconds of one message between nodes that nothing answers meanwhile."""
        wire = np.asarray(message_bytes) * self.wire_s_per_byte(flows, leaving)
        return np.asarray(self.inter_software(message_bytes) + self.inter.latency_s + wire)

    def wire_s_per_byte(self, flows: ArrayLike = 1.0, leaving: ArrayLike | None = None) -> Array:
        """Seconds per byte of one of ``flows`` flows that share the network cards of a node.

        leaving: how many flows leave a leaf at once and share its links up, at most all of its
        nodes'; None: all of them. Without a leaf that blocks it does not matter.
        """
        link = np.asarray(self.inter.bytes_per_s, dtype=np.float64)
        rails_of_a_flow = self.rails if self.multirail else 1.0
        shared = np.asarray(flows) / (link * self.rails)
        own = np.asarray(np.maximum(1.0 / (link * rails_of_a_flow), shared))
        if self.leaf is None:
            return own
        every = self.leaf.nodes * flows
        some = every if leaving is None else np.minimum(leaving, every)
        return np.asarray(np.maximum(own, some / (link * self.leaf.uplinks)))


def single_tier(exchange: Exchange, gamma_s_per_byte: ArrayLike = 0.0) -> Network:
    """A network in which every pair of ranks pays ``exchange``: one node, or one flat switch."""
    return Network(exchange, exchange, gamma_s_per_byte=gamma_s_per_byte)
