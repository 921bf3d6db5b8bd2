"""What to measure of parameter servers, and which tensor is on which server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from dse.calibration.experiment import Measurement
from dse.calibration.runners.timing import FLOAT_BYTES
from dse.errors import MeasurementError

Message: TypeAlias = tuple[int, int]  # the server, and the bytes that one worker sends to it

ALGORITHM = "ps"
PER_TENSOR = "ps-per-tensor"
DEFAULT_SIZES = tuple(4**k for k in range(6, 14))  # 4 KiB .. 64 MiB


@dataclass(frozen=True)
class PsPlan:
    """What to measure: every number of workers with every number of servers and every size.

    sizes_bytes: gradients of one worker, multiples of 4, made of ``tensors`` equal tensors.
    tensor_bytes: the tensors of a real network; if given, they are the only size measured.
    per_tensor: one message a tensor, as TensorFlow does it, instead of one a server with all of
    its tensors; such samples are called 'ps-per-tensor'.
    """

    workers: tuple[int, ...] = (1, 2, 3)
    servers: tuple[int, ...] = (1, 2)
    sizes_bytes: tuple[int, ...] = DEFAULT_SIZES
    tensors: int = 12
    tensor_bytes: tuple[int, ...] = ()
    per_tensor: bool = False

    def __post_init__(self) -> None:
        for name, counts in (("worker", self.workers), ("server", self.servers)):
            if not counts or min(counts) < 1:
                raise MeasurementError(f"every number of {name}s must be at least 1")
        if self.tensors < 1:
            raise MeasurementError("gradients consist of at least one tensor")
        check_sizes(self.tensor_bytes or self.sizes_bytes)

    @property
    def algorithm(self) -> str:
        """The name of the samples."""
        return PER_TENSOR if self.per_tensor else ALGORITHM

    def gradients(self) -> list[tuple[int, ...]]:
        """The bytes of the tensors of every size, from the smallest."""
        if self.tensor_bytes:
            return [self.tensor_bytes]
        return [equal_tensors(size, self.tensors) for size in sorted(set(self.sizes_bytes))]

    def starts(self) -> list[tuple[int, int]]:
        """(workers, servers) of every start of the processes, the fewest first."""
        return sorted(
            {(m, p) for m in self.workers for p in self.servers}, key=lambda x: (sum(x), x)
        )

    def messages(self, tensor_bytes: Sequence[int], servers: int) -> list[Message]:
        """The messages of one worker: whole shards, or tensor by tensor; none is empty."""
        shards = assign(tensor_bytes, servers)
        if self.per_tensor:
            return [(server, size) for server, shard in enumerate(shards) for size in shard]
        return [(server, sum(shard)) for server, shard in enumerate(shards) if shard]


def check_sizes(sizes_bytes: Sequence[int]) -> None:
    """Raise MeasurementError unless every size is a whole number of float32, at least one."""
    if not sizes_bytes or any(s < FLOAT_BYTES or s % FLOAT_BYTES for s in sizes_bytes):
        raise MeasurementError("every size must be a positive multiple of 4 bytes")


def equal_tensors(size_bytes: int, tensors: int) -> tuple[int, ...]:
    """Split the bytes into so many tensors, equal but for one float; none of them empty."""
    each, more = divmod(size_bytes // FLOAT_BYTES, tensors)
    floats = [each + (index < more) for index in range(tensors)]
    return tuple(FLOAT_BYTES * count for count in floats if count)


def assign(tensor_bytes: Sequence[int], servers: int) -> list[list[int]]:
    """The tensors of each server: the largest first, each to the server with the least so far.

    The assignment that dse.model.aggregation.parameter_server.shard_imbalance assumes.
    """
    shards: list[list[int]] = [[] for _ in range(servers)]
    load = np.zeros(servers)
    for size in sorted(tensor_bytes, reverse=True):
        least = int(np.argmin(load))
        shards[least].append(size)
        load[least] += size
    return shards


def largest_shard_bytes(messages: Sequence[Message], servers: int) -> int:
    """Bytes of one worker's gradients on the fullest server; 0 where there is no server."""
    return max(
        (sum(size for where, size in messages if where == one) for one in range(servers)), default=0
    )


def ps_samples(
    records: Sequence[dict[str, Any]],
    cells: Sequence[Sequence[Message]],
    algorithm: str,
    servers: int,
    about: dict[str, Any],
) -> list[Measurement]:
    """The samples among the records of one start; ``about``: the fields they have in common."""
    times = ("repetitions", "min_s", "median_s", "p95_s", "median_error_s")
    return [
        Measurement(
            **about,
            **{name: record[name] for name in times},
            algorithm=algorithm,
            bytes=sum(size for _, size in cells[record["index"]]),
            servers=servers,
            largest_shard_bytes=largest_shard_bytes(cells[record["index"]], servers),
        )
        for record in records
        if record["kind"] == "sample"
    ]
