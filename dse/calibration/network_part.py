"""A profile's part for forced algorithms between nodes: what a message costs host and wire."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from dse.calibration.experiment import STRICT, Count, NonNegative
from dse.model.aggregation.algorithms import ALGORITHMS
from dse.model.arrays import Array, ArrayLike
from dse.model.links import Link, Network, StepCost


@dataclass(frozen=True)
class NetworkFit:
    """One algorithm's message between nodes.

    ``latency + sum_r s_per_byte bytes_r(s) + sum jump_s + crossing(s) / B`` for an exchange, with
    ``crossing(s) = sum_r wire_factor bytes_r(s) + sum wire_jump_bytes``; one-way messages take
    their own bytes of the wire, and so do exchanges in lockstep. link_bytes_per_s: the speeds B
    measured, least and largest; of one speed the host's part and the wire's cannot be told apart.
    ranks_per_node: least and largest measured. shared_cores: of emulated nodes; the host's part is
    that of a rank with its own core, and took ranks / shared_cores times as long. error, error_p90:
    median and 90th percentile on the rank counts (where one only was measured the sizes, says
    ``held_out``) that were left out; textbook_*: the same of one alpha and one beta. residual: the
    median error of the fit itself.
    """

    __pydantic_config__: ClassVar[Any] = STRICT

    latency_s: NonNegative
    s_per_byte: tuple[NonNegative, ...]
    edges_bytes: tuple[NonNegative, ...]
    jump_s: tuple[NonNegative, ...]
    wire_factor: tuple[NonNegative, ...]
    wire_jump_bytes: tuple[NonNegative, ...]
    link_bytes_per_s: tuple[NonNegative, NonNegative]
    ranks_per_node: tuple[Count, Count]
    shared_cores: Count | None
    held_out: Literal["ranks", "sizes"]
    error: NonNegative
    error_p90: NonNegative
    textbook_error: NonNegative
    textbook_error_p90: NonNegative
    residual: NonNegative

    @property
    def host(self) -> StepCost:
        """Seconds of a message besides the wire."""
        return StepCost(self.latency_s, self.s_per_byte, self.edges_bytes, self.jump_s)

    @property
    def crossing(self) -> StepCost:
        """Bytes of wire time of an exchange, of ranks that do not start in lockstep."""
        return StepCost(0.0, self.wire_factor, self.edges_bytes, self.wire_jump_bytes)

    def wrong(self) -> str:
        """What is wrong with it that no single value shows; empty if nothing."""
        edges = len(self.edges_bytes)
        fitting = (
            len(self.s_per_byte) == len(self.wire_factor) == edges + 1
            and len(self.jump_s) == len(self.wire_jump_bytes) == edges
            and list(self.edges_bytes) == sorted(set(self.edges_bytes))
        )
        return "" if fitting else "edges, slopes, jumps and factors do not fit together"

    def seconds(
        self,
        algorithm: str,
        ranks: ArrayLike,
        message_bytes: ArrayLike,
        link_bytes_per_s: ArrayLike,
        gamma_s_per_byte: float,
        after_barrier: bool = True,
        ranks_per_node: ArrayLike = 1.0,
        inside: StepCost | None = None,
    ) -> Array:
        """Of an allreduce, after a barrier as benchmarks time it, or as training meets it.

        inside: a message within a node, as between nodes but for the wire unless given. The other
        arguments broadcast.
        """
        host = on_shared_cores(self.host, ranks, self.shared_cores)
        network = Network(
            inside or host, host, inter=Link(0.0, link_bytes_per_s),
            gamma_s_per_byte=gamma_s_per_byte, crossing=self.crossing,
        )  # fmt: skip
        return between_nodes_s(
            algorithm, ranks, ranks_per_node, message_bytes, network, after_barrier
        )


def between_nodes_s(
    algorithm: str,
    ranks: ArrayLike,
    ranks_per_node: ArrayLike,
    message_bytes: ArrayLike,
    network: Network,
    after_barrier: bool = True,
) -> Array:
    """Seconds of an allreduce; after a barrier, exchanges in lockstep take their own bytes of the
    wire. The arguments broadcast."""
    n, g, m = (np.asarray(v, dtype=np.float64) for v in (ranks, ranks_per_node, message_bytes))
    whole = ALGORITHMS[algorithm](n, g, m, network)
    if after_barrier and network.crossing is not None:
        size, count = in_lockstep(algorithm, n, m, g)
        whole = whole - count * (network.crossing(size) - size) / network.inter.bytes_per_s
    return np.where(n > 1, np.maximum(whole, 0.0), 0.0)


def host_contention(ranks: ArrayLike, shared_cores: int | None) -> Array:
    """How many times as long the host's part takes: ranks per core where all nodes share them."""
    n = np.asarray(ranks, dtype=np.float64)
    return np.ones_like(n) if shared_cores is None else np.maximum(1.0, n / shared_cores)


def on_shared_cores(host: StepCost, ranks: ArrayLike, shared_cores: int | None) -> StepCost:
    """A message's cost for the host, by :func:`host_contention`."""
    busy = host_contention(ranks, shared_cores)
    slopes, jumps = (tuple(busy * one for one in ones) for ones in (host.s_per_byte, host.jump_s))
    return StepCost(busy * host.latency_s, slopes, host.edges_bytes, jumps)


def in_lockstep(
    algorithm: str, ranks: Array, message_bytes: Array, ranks_per_node: ArrayLike = 1.0
) -> tuple[Array, Array]:
    """Bytes of the exchanges between nodes in which both sides start together, and how many.

    After a barrier two ranks alone do so in every exchange. Of more, a rank's partner leaves the
    barrier when it does the less often the more ranks there are: the first exchange counts 2/n.
    Ring: m/n. Halving-doubling: m/2. Recursive doubling: m. Those two begin with a fold where n is
    no power of two, and inside the node where it holds several ranks: 0 of them.
    """
    n, m, g = np.broadcast_arrays(ranks, message_bytes, ranks_per_node)
    power = 2.0 ** np.floor(np.log2(np.maximum(n, 1.0)))
    row = ALGORITHMS[algorithm]
    if row.first_parts is None:
        return np.zeros_like(m), np.zeros_like(m)
    exchanges = np.where(n == 2, row.pair_exchanges, 2.0 / n)
    begun = (g == 1) & ((n == power) | (not row.folds))
    return np.asarray(m / row.first_parts(n)), np.where(begun, exchanges, 0.0)
