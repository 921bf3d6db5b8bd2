"""What to measure of parameter servers, and how many bytes each server gets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from dse.calibration.runners.timing import FLOAT_BYTES
from dse.errors import MeasurementError
from dse.model.aggregation.parameter_server import homes

Message: TypeAlias = tuple[int, int]  # the server, and the bytes that one worker sends to it

ALGORITHM = "ps"
DEFAULT_SIZES = tuple(4**k for k in range(6, 14))  # 4 KiB .. 64 MiB
TENSORS = 12  # that gradients are made of


@dataclass(frozen=True)
class PsPlan:
    """What to measure: every number of workers with every number of servers and every size.

    sizes_bytes: gradients of one worker, multiples of 4, made of :data:`TENSORS` equal tensors;
    a server gets one message with all of its tensors.
    """

    workers: tuple[int, ...] = (1, 2, 3)
    servers: tuple[int, ...] = (1, 2)
    sizes_bytes: tuple[int, ...] = DEFAULT_SIZES

    def __post_init__(self) -> None:
        for name, counts in (("worker", self.workers), ("server", self.servers)):
            if not counts or min(counts) < 1:
                raise MeasurementError(f"every number of {name}s must be at least 1")
        if any(size < FLOAT_BYTES or size % FLOAT_BYTES for size in self.sizes_bytes):
            raise MeasurementError("every size must be a positive multiple of 4 bytes")

    def starts(self) -> list[tuple[int, int]]:
        """(workers, servers) of every start of the processes, the fewest first."""
        return sorted(
            {(m, p) for m in self.workers for p in self.servers}, key=lambda x: (sum(x), x)
        )

    def cells(self, servers: int) -> list[list[Message]]:
        """The messages of one worker at every size, from the smallest; none is empty."""
        return [messages(size, servers) for size in sorted(set(self.sizes_bytes))]


def messages(size_bytes: int, servers: int) -> list[Message]:
    """What each server gets of gradients of that size, placed as the model assumes.

    The gradients are cut into tensors that are equal but for one float.
    """
    each, more = divmod(size_bytes // FLOAT_BYTES, TENSORS)
    tensors = np.array([FLOAT_BYTES * (each + (index < more)) for index in range(TENSORS)])
    shards = np.bincount(homes(tensors, servers), weights=tensors, minlength=servers)
    return [(server, int(size)) for server, size in enumerate(shards) if size]
