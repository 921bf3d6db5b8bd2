"""A profile's part for forced algorithms between nodes: what a message costs host and wire."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dse.calibration.experiment import STRICT, NonNegative
from dse.calibration.library_part import NORMAL_90, PER_OCTAVE
from dse.model.arrays import Array, ArrayLike
from dse.model.collectives import ALGORITHMS
from dse.model.links import FREE, Link, Network, StepCost


@dataclass(frozen=True)
class NetworkFit:
    """One algorithm's message between nodes of one rank each.

    ``latency + sum_r s_per_byte bytes_r(s) + sum jumps + sum_r wire_factor bytes_r(s) / B`` for an
    exchange; one-way messages take their own bytes of the wire, the first exchange after a barrier
    ``first_factor`` times its own. link_bytes_per_s: the speeds B measured, least and largest; of
    one speed the host's part and the wire's cannot be told apart. error, error_p90: median and 90th
    percentile on rank counts that were left out; textbook_*: the same of one alpha and one beta.
    residual: the median error of the fit itself.
    """

    __pydantic_config__: ClassVar[Any] = STRICT

    latency_s: NonNegative
    s_per_byte: tuple[NonNegative, ...]
    edges_bytes: tuple[NonNegative, ...]
    jump_s: tuple[NonNegative, ...]
    wire_factor: tuple[NonNegative, ...]
    first_factor: NonNegative
    link_bytes_per_s: tuple[NonNegative, NonNegative]
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
        edges = self.edges_bytes
        return StepCost(0.0, self.wire_factor, edges, (0.0,) * len(edges))

    def shape_is_right(self) -> bool:
        """Whether the lists fit together and the edges ascend."""
        edges = len(self.edges_bytes)
        return (
            len(self.s_per_byte) == len(self.wire_factor) == edges + 1
            and len(self.jump_s) == edges
            and list(self.edges_bytes) == sorted(set(self.edges_bytes))
        )

    def seconds(
        self,
        algorithm: str,
        nodes: ArrayLike,
        message_bytes: ArrayLike,
        link_bytes_per_s: ArrayLike,
        gamma_s_per_byte: float,
        after_barrier: bool = True,
    ) -> Array:
        """Of an allreduce, after a barrier as benchmarks time it, or as training meets it.

        The other arguments broadcast.
        """
        network = Network(
            FREE, self.host, inter=Link(0.0, link_bytes_per_s),
            gamma_s_per_byte=gamma_s_per_byte, crossing=self.crossing,
        )  # fmt: skip
        n, m, speed = (np.asarray(v, dtype=np.float64)
                       for v in (nodes, message_bytes, link_bytes_per_s))  # fmt: skip
        first = first_exchange_bytes(algorithm, n, m)
        lockstep = (self.crossing(first) - self.first_factor * first) / speed * after_barrier
        whole = ALGORITHMS[algorithm](n, np.ones_like(n), m, network)
        return np.where(n > 1, np.maximum(whole - lockstep, 0.0), 0.0)

    def log_spread(self, octaves: Array) -> Array:
        """Standard deviation of the logarithm, so many doublings beyond what was measured."""
        held_out = np.log1p(self.error_p90) / NORMAL_90
        return np.asarray(np.hypot(held_out, PER_OCTAVE * octaves))


def first_exchange_bytes(algorithm: str, ranks: Array, message_bytes: Array) -> Array:
    """Bytes of the exchange with which all ranks begin together, 0 if they do not.

    Ring: m/n. Halving-doubling: m/2. Recursive doubling: m. Those two begin with a fold where n is
    no power of two.
    """
    n, m = np.broadcast_arrays(ranks, message_bytes)
    power = 2.0 ** np.floor(np.log2(np.maximum(n, 1.0)))
    share = {"ring": m / n, "halving-doubling": m / 2, "recursive-doubling": m}
    begun = share.get(algorithm, np.zeros_like(m))
    return np.where((n == power) | (algorithm == "ring"), begun, 0.0)
