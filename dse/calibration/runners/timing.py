"""How often to repeat each cell, and statistics of the repetitions; for every allreduce worker.

Imports the standard library and numpy only, so that a worker needs nothing else installed.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

FLOAT_BYTES = 4
LOCAL_SIZES = (2**12, 2**16, 2**20, 2**22, 2**24)  # of what one rank does alone
WRONG_SUM_STATUS = 3
PERIOD = 31  # of the data pattern: prime, so that no power-of-two share lines up with it
MAX_GROWTH_BITS = 80.0  # in-place sums grow by log2(n) bits a repetition; float32 holds 127
BATCH_S = 0.01  # a batch of repetitions lasts about this long, so that cells interleave
MAX_BATCH = 20
RELATIVE_INTERVAL = 0.05
STOP = -1

Floats = np.ndarray[Any, Any]


class WrongSum(Exception):
    """Ranks got a wrong sum; the text is one line for the user."""


@dataclass
class Cell:
    """One algorithm at one size: seconds of every repetition, and the median of every batch."""

    algorithm: str
    number: int
    size_bytes: int
    times: list[float] = field(default_factory=list)
    batches: list[float] = field(default_factory=list)

    def add(self, times: list[float]) -> None:
        self.times += times
        self.batches.append(float(np.median(times)))

    def known(self) -> bool:
        """Whether the 95 % interval of the median of batch medians is within 5 % of it.

        Batches, not repetitions: those of one batch share whatever disturbed it.
        """
        interval = median_interval(np.sort(self.batches))
        if interval is None:
            return False
        return interval[1] - interval[0] <= 2 * RELATIVE_INTERVAL * float(np.median(self.batches))


def median_interval(ordered: Floats) -> tuple[float, float] | None:
    """The 95 % interval of the median from order statistics; None for fewer than nine values."""
    count = ordered.size
    spread = 0.98 * math.sqrt(count)  # 1.96 * sqrt(n) / 2
    low, high = math.floor(count / 2 - spread), math.ceil(count / 2 + spread)
    return (float(ordered[low]), float(ordered[high])) if low >= 0 and high < count else None


def summary(times: Sequence[float]) -> dict[str, float]:
    """Repetitions, least, median, 95th percentile, and the standard error of the median."""
    ordered = np.sort(np.asarray(times))
    low, high = median_interval(ordered) or (float(ordered[0]), float(ordered[-1]))
    return {
        "repetitions": int(ordered.size),
        "min_s": float(ordered[0]),
        "median_s": float(np.median(ordered)),
        "p95_s": float(np.quantile(ordered, 0.95)),
        "median_error_s": (high - low) / 3.92,
    }


def pattern(rank: int) -> Floats:
    """One period of rank-dependent small integers: their sums are exact in float32."""
    index = np.arange(PERIOD)
    return np.asarray((7 * index + 13 * rank) % PERIOD + 1, dtype=np.float32)


def pattern_sum(ranks: int) -> Floats:
    """One period of the correct result of an allreduce over ``ranks``, float32 and exact."""
    total = np.sum([pattern(rank) for rank in range(ranks)], axis=0, dtype=np.float64)
    return np.asarray(total, dtype=np.float32)


def part(period: Floats, first: int, floats: int) -> Floats:
    """``floats`` of a repeated period, from the ``first`` on."""
    return np.resize(np.roll(period, -(first % PERIOD)), floats)


def largest_batch(ranks: int) -> int:
    """Most repetitions in place before the growing sum exceeds float32."""
    growth = int(MAX_GROWTH_BITS / math.log2(max(ranks, 2)))
    return max(1, min(MAX_BATCH, growth))


def schedule(
    cells: Sequence[Cell], seconds: float, least: int, max_batch: int, clock: Callable[[], float]
) -> Iterator[tuple[int, int]]:
    """Which cell to repeat how often next; ``clock`` counts from the start of the share.

    Rank 0 alone runs it, and adds the times to the cells meanwhile. First every cell, smallest
    sizes first, until it has its least repetitions, leaving out what no longer fits; then
    round-robin over the cells whose median is not known well enough.
    """
    measured: dict[str, Cell] = {}
    for index, cell in enumerate(cells):
        before = measured.get(cell.algorithm)
        if before is not None:
            growth = max(1.0, cell.size_bytes / before.size_bytes)
            if clock() + (least + 2) * min(before.times) * growth > seconds:
                continue
        while len(cell.times) < least:
            yield index, min(least, max_batch)
        measured[cell.algorithm] = cell
    while clock() < seconds:
        tried = 0
        for index, cell in enumerate(cells):
            typical = float(np.median(cell.times)) if cell.times else math.inf
            if cell.known() or clock() + 3 * typical > seconds:
                continue
            tried += 1
            yield index, max(1, min(max_batch, int(BATCH_S / max(typical, 1e-7))))
        if not tried:
            return


def run_schedule(
    cells: Sequence[Cell],
    plan: Iterator[tuple[int, int]],
    agree: Callable[[Floats], None],
    batch: Callable[[Cell, int], list[float] | None],
    rank: int,
    ranks: int,
) -> None:
    """Run ``plan`` on every rank: rank 0 decides each batch, the others follow.

    agree(order): makes rank 0's two int64 numbers everybody's. batch(cell, repetitions): seconds
    of the slowest rank per repetition; None, on all ranks, where a sum was wrong. Raises WrongSum.
    """
    order = np.empty(2, dtype=np.int64)
    while True:
        if rank == 0:
            order[:] = next(plan, (STOP, 0))
        agree(order)
        index, repetitions = int(order[0]), int(order[1])
        if index == STOP:
            return
        cell = cells[index]
        slowest = batch(cell, repetitions)
        if slowest is None:
            raise WrongSum(f"wrong sum: {cell.algorithm}, {cell.size_bytes} bytes, {ranks} ranks")
        cell.add(slowest)


def alone(
    add: Callable[[Floats, Floats], object], size_bytes: int
) -> dict[str, Callable[[], object]]:
    """Adding an array to another by ``add(source, target)``, and copying it."""
    source = np.ones(size_bytes // FLOAT_BYTES, dtype=np.float32)
    target = np.zeros_like(source)
    return {"reduce": partial(add, source, target), "copy": partial(np.copyto, target, source)}


def local_rows(
    seconds: float,
    calls: Callable[[int], Mapping[str, Callable[[], object]]],
    batch: int,
    agree: Callable[[Floats], None] = lambda _: None,
) -> list[dict[str, Any]]:
    """A record per size and kind of what a rank does alone: adding arrays, and copying one.

    calls: of a size in bytes, each under its kind. batch: repetitions between two looks at the
    time. agree: makes rank 0's numbers everybody's, so that all are busy as long as rank 0 is.
    """
    records = []
    for size in LOCAL_SIZES:
        kinds = calls(size)
        for kind, call in kinds.items():
            call()
            times, order, began = list[float](), np.ones(2, dtype=np.int64), time.perf_counter()
            while order[0]:
                for _ in range(batch):
                    start = time.perf_counter()
                    call()
                    times.append(time.perf_counter() - start)
                share_s = seconds / (len(kinds) * len(LOCAL_SIZES))
                order[0] = time.perf_counter() - began < share_s
                agree(order)
            records.append({"kind": kind, "bytes": size, **summary(times)})
    return records


def emit(record: dict[str, Any]) -> None:
    """One JSON line on standard output."""
    print(json.dumps(record), flush=True)
