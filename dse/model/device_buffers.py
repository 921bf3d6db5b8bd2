"""What MPI on accelerator memory adds to a message: driver queries, and where the sum is made.

An MPI library that is handed a pointer asks the driver whether it points into accelerator memory,
several times a message; a pointer cache answers from its own table. And the sum is made by a kernel
on the accelerator, or by the processor on a copy in host memory. Awan et al., CCGRID 2019 (arXiv
1810.11112), propose both; here each is a term of its own, so that what it saves can be read off.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dse.model.links import Exchange, Network


@dataclass(frozen=True)
class PointerQueries:
    """Driver queries of one message: how many, seconds each; both 0 where there are none."""

    per_message: float = 0.0
    query_s: float = 0.0

    @property
    def message_s(self) -> float:
        """Seconds that one message spends asking."""
        return self.per_message * self.query_s


@dataclass(frozen=True)
class Summing:
    """Where received bytes are added: seconds per byte, and to start each addition."""

    s_per_byte: float = 0.0
    start_s: float = 0.0


def on_device(memory_bytes_per_s: float, start_s: float) -> Summing:
    """A kernel that reads two operands and writes one: 3 bytes of memory traffic per byte summed.

    start_s: to launch it and to wait for its end.
    """
    return Summing(3.0 / memory_bytes_per_s, start_s)


def on_host(s_per_byte: float, host_link_bytes_per_s: float, start_s: float) -> Summing:
    """The processor sums, on copies that cross the host link to it and back.

    s_per_byte: of its sum. start_s: to start both copies. A message that already lies in host
    memory crosses no link: ``host_link_bytes_per_s`` infinite.
    """
    return Summing(s_per_byte + 2.0 / host_link_bytes_per_s, start_s)


def with_terms(network: Network, queries: PointerQueries, summing: Summing) -> Network:
    """The network with both terms: latency of every message, and gamma."""
    return replace(
        network,
        intra_software=_later(network.intra_software, queries.message_s),
        inter_software=_later(network.inter_software, queries.message_s),
        gamma_s_per_byte=summing.s_per_byte,
    )


def _later(software: Exchange, seconds: float) -> Exchange:
    return lambda message_bytes: np.asarray(software(message_bytes) + seconds)
