"""Verified, timed batches of allreduce and other operations, by any library.

Imports the standard library and numpy only, as a part of the workers.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dse.calibration.runners import timing

ALL_GATHER, REDUCE_SCATTER, ALLTOALL, SENDRECV = OPERATIONS = (
    "all_gather", "reduce_scatter", "alltoall", "sendrecv",
)  # fmt: skip

Array = Any  # float32, of numpy or of torch
Call = Callable[[], object]


class Bench(ABC):
    """In-place allreduce (training frameworks call it so), and OPERATIONS, out of place and in
    whole shares of the ranks, of which sendrecv is from every rank to the next. All are of a known
    pattern.

    floats: of the largest message. array: makes the library's array of a numpy one.
    """

    def __init__(
        self,
        rank: int,
        ranks: int,
        floats: int,
        array: Callable[[timing.Floats], Array] = lambda values: values,
    ) -> None:
        self.rank, self.ranks, self.array = rank, ranks, array
        self.own = array(np.resize(timing.pattern(rank), floats))
        self.expected = array(np.resize(timing.pattern_sum(ranks), floats))
        self.buffer = array(np.zeros(floats, dtype=np.float32))

    @abstractmethod
    def agree(self, order: timing.Floats) -> None:
        """Make rank 0's numbers everybody's."""

    @abstractmethod
    def barrier(self) -> None:
        """Wait until all ranks came this far."""

    @abstractmethod
    def slowest(self, times: list[float], good: bool) -> list[float] | None:
        """The slowest rank's times, on all ranks; None if any rank holds wrong data."""

    @abstractmethod
    def allreduce(self, cell: timing.Cell, buffer: Array) -> Call:
        """The call that sums the buffer over all ranks in place, by the cell's algorithm."""

    @abstractmethod
    def operation(self, name: str, own: Array, got: Array) -> Call:
        """The call of one of OPERATIONS, from ``own`` into ``got``."""

    def finish(self) -> None:
        """Wait for the end of what was begun; nothing where calls return at their end."""
        return

    def measure(
        self, cells: Sequence[timing.Cell], seconds: float, least: int, began: float
    ) -> list[dict[str, Any]]:
        """A record of every cell that ``seconds`` after ``began`` can hold, known well enough.

        Raises timing.WrongSum, on all ranks.
        """
        least_bytes = timing.FLOAT_BYTES * self.ranks
        cells = [c for c in cells if c.algorithm not in OPERATIONS or c.size_bytes >= least_bytes]
        most = timing.largest_batch(self.ranks)
        plan = timing.schedule(cells, seconds, least, most, lambda: time.perf_counter() - began)
        timing.run_schedule(cells, plan, self.agree, self.batch, self.rank, self.ranks)
        return [
            {
                "kind": "sample",
                "collective": cell.algorithm if cell.algorithm in OPERATIONS else "allreduce",
                "algorithm": "auto" if cell.algorithm in OPERATIONS else cell.algorithm,
                "bytes": timing.FLOAT_BYTES * self._floats(cell),
                "verified": True,
                **timing.summary(cell.times),
            }
            for cell in cells
            if cell.times
        ]

    def batch(self, cell: timing.Cell, repetitions: int) -> list[float] | None:
        """Seconds of the slowest rank, per repetition; None if any rank holds wrong data."""
        one = self._other if cell.algorithm in OPERATIONS else self._allreduce
        return self.slowest(*one(cell, self._floats(cell), repetitions))

    def _floats(self, cell: timing.Cell) -> int:
        """Those of the cell's bytes; of an operation what whole shares hold."""
        floats = cell.size_bytes // timing.FLOAT_BYTES
        return floats - (floats % self.ranks if cell.algorithm in OPERATIONS else 0)

    def _other(self, cell: timing.Cell, floats: int, repetitions: int) -> tuple[list[float], bool]:
        own, got, expected = self.buffers(cell.algorithm, floats)
        got[:] = 0.0
        times = self._timed(self.operation(cell.algorithm, own, got), repetitions + 1)[1:]
        return times, bool((got == self.array(expected)).all())

    def buffers(self, name: str, floats: int) -> tuple[Array, Array, timing.Floats]:
        """What an operation on ``floats`` floats reads and writes on this rank, and the result."""
        share = floats // self.ranks
        mine, every = self.rank * share, range(self.ranks)
        if name == SENDRECV:
            before = timing.pattern((self.rank - 1) % self.ranks)
            return self.own[:floats], self.buffer[:floats], np.resize(before, floats)
        if name == REDUCE_SCATTER:
            expected = timing.part(timing.pattern_sum(self.ranks), mine, share)
            return self.own[:floats], self.buffer[:share], expected
        first, own = (0, self.own[:share]) if name == ALL_GATHER else (mine, self.own[:floats])
        parts = [timing.part(timing.pattern(rank), first, share) for rank in every]
        return own, self.buffer[:floats], np.concatenate(parts)

    def _allreduce(
        self, cell: timing.Cell, floats: int, repetitions: int
    ) -> tuple[list[float], bool]:
        buffer, expected = self.buffer[:floats], self.expected[:floats]
        buffer[:] = self.own[:floats]
        one = self.allreduce(cell, buffer)
        one()  # warm-up, and the exact check
        good = bool((buffer == expected).all())
        times = self._timed(one, repetitions)
        # Every later call multiplied the sum by n: rounding only, so a loose check suffices.
        buffer /= float(self.ranks) ** repetitions
        return times, good and bool((abs(buffer - expected) <= 1e-4 * expected).all())

    def _timed(self, one: Call, repetitions: int) -> list[float]:
        """Seconds of each repetition on this rank, after all ranks came this far."""
        times = []
        for _ in range(repetitions):
            self.barrier()
            start = time.perf_counter()
            one()
            self.finish()
            times.append(time.perf_counter() - start)
        return times
