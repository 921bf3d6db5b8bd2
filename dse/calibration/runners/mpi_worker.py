"""One MPI rank of a measurement; imports only the standard library, numpy and mpi4py.

Started by path as ``mpirun -n N python -P mpi_worker.py JSON``, so it needs no installed ``dse``.
Rank 0 prints one JSON object a line; every other rank prints nothing. The JSON holds::

    cells            [[algorithm, number, bytes], ...]: time in-place float32 Allreduce of each,
                     forced to the library's algorithm of that number (in place, because training
                     frameworks call it so), interleaved so that a disturbance hits all alike
    seconds          the share of time of the whole start, set-up included
    min_repetitions  of every cell, unless its share of time cannot hold them
    local_sizes      bytes at which to time a reduction, a copy and a ping-pong first
    local_seconds    the time for that

A wrong sum ends every rank with status 3 and one line on stderr.
"""

from __future__ import annotations

import ctypes
import json
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from mpi4py import MPI

FLOAT_BYTES = 4
WRONG_SUM_STATUS = 3
PERIOD = 31  # of the data pattern: prime, so that no power-of-two share lines up with it
MAX_GROWTH_BITS = 80.0  # in-place sums grow by log2(n) bits a repetition; float32 holds 127
BATCH_S = 0.01  # a batch of repetitions lasts about this long, so that cells interleave
MAX_BATCH = 20
RELATIVE_INTERVAL = 0.05
STOP = -1
FORCED_ALGORITHM = b"coll_tuned_allreduce_algorithm"

Floats = np.ndarray[Any, Any]


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


class Bench:
    """Verified batches of in-place Allreduce on communicators that force an algorithm each."""

    def __init__(self, comm: MPI.Comm, cells: Sequence[Cell]) -> None:
        self.comm, self.ranks = comm, comm.Get_size()
        self.forced = forced_communicators(comm, sorted({cell.number for cell in cells}))
        total = np.sum([pattern(rank) for rank in range(self.ranks)], axis=0, dtype=np.float64)
        largest = max(cell.size_bytes for cell in cells) // FLOAT_BYTES
        self.own = np.resize(pattern(comm.Get_rank()), largest)
        self.expected = np.resize(total.astype(np.float32), largest)
        self.buffer = np.zeros(largest, dtype=np.float32)
        growth = int(MAX_GROWTH_BITS / math.log2(max(self.ranks, 2)))
        self.max_batch = max(1, min(MAX_BATCH, growth))

    def batch(self, cell: Cell, repetitions: int) -> list[float] | None:
        """Seconds of the slowest rank, per repetition; None if any rank holds a wrong sum."""
        comm, count = self.forced[cell.number], cell.size_bytes // FLOAT_BYTES
        buffer, expected = self.buffer[:count], self.expected[:count]
        buffer[:] = self.own[:count]
        comm.Allreduce(MPI.IN_PLACE, buffer)  # warm-up, and the exact check
        good = np.array_equal(buffer, expected)
        times = np.empty(repetitions)
        for repetition in range(repetitions):
            comm.Barrier()
            start = MPI.Wtime()
            comm.Allreduce(MPI.IN_PLACE, buffer)
            times[repetition] = MPI.Wtime() - start
        # Every later call multiplied the sum by n: rounding only, so a loose check suffices.
        buffer /= np.float32(float(self.ranks) ** repetitions)
        good = good and bool(np.allclose(buffer, expected, rtol=1e-4, atol=0.0))
        slowest = np.empty_like(times)
        self.comm.Allreduce(times, slowest, op=MPI.MAX)
        all_good = self.comm.allreduce(good, op=MPI.LAND)
        return [float(t) for t in slowest] if all_good else None


def forced_communicators(comm: MPI.Comm, numbers: Sequence[int]) -> dict[int, MPI.Comm]:
    """A copy of ``comm`` for each of the library's allreduce algorithms.

    Open MPI reads the forced algorithm when a communicator is made. Setting it through the MPI
    tool interface before each copy lets one start measure them all under the same conditions.
    """
    with open("/proc/self/maps", encoding="utf-8") as maps:
        loaded = [line.split()[-1] for line in maps if "/libmpi.so" in line]
    library = ctypes.CDLL(loaded[0] if loaded else "libmpi.so")
    handle, index, count = ctypes.c_void_p(), ctypes.c_int(), ctypes.c_int()
    _check(library.MPI_T_init_thread(0, ctypes.byref(count)))
    _check(library.MPI_T_cvar_get_index(FORCED_ALGORITHM, ctypes.byref(index)))
    _check(library.MPI_T_cvar_handle_alloc(index, None, ctypes.byref(handle), ctypes.byref(count)))
    forced = {}
    for number in numbers:
        wanted, actual = ctypes.c_int(number), ctypes.c_int(-1)
        _check(library.MPI_T_cvar_write(handle, ctypes.byref(wanted)))
        _check(library.MPI_T_cvar_read(handle, ctypes.byref(actual)))
        _check(actual.value != number)
        forced[number] = comm.Dup()
    return forced


def _check(failed: int) -> None:
    if failed:
        sys.exit("this MPI does not let its allreduce algorithm be set; use Open MPI 4 or newer")


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


def measure_allreduce(comm: MPI.Comm, task: dict[str, Any], start: float) -> None:
    """Run the schedule; rank 0 decides every batch and broadcasts it."""
    rank = comm.Get_rank()
    cells = [Cell(*cell) for cell in task["cells"]]
    bench = Bench(comm, cells)
    least, seconds = task["min_repetitions"], task["seconds"]
    plan = schedule(cells, seconds, least, bench.max_batch, lambda: time.perf_counter() - start)
    order = np.empty(2, dtype=np.int64)
    while True:
        if rank == 0:
            order[:] = next(plan, (STOP, 0))
        comm.Bcast(order)
        index, repetitions = int(order[0]), int(order[1])
        if index == STOP:
            break
        cell = cells[index]
        slowest = bench.batch(cell, repetitions)
        if slowest is None:
            if rank == 0:
                problem = f"{cell.algorithm}, {cell.size_bytes} bytes, {comm.Get_size()} ranks"
                print(f"wrong sum: {problem}", file=sys.stderr, flush=True)
            sys.exit(WRONG_SUM_STATUS)
        cell.add(slowest)
    for cell in cells if rank == 0 else ():
        if cell.times:
            about = {"kind": "allreduce", "algorithm": cell.algorithm, "bytes": cell.size_bytes}
            emit({**about, **summary(cell.times), "verified": True})


def measure_local(comm: MPI.Comm, sizes: Sequence[int], seconds: float) -> None:
    """Reduce and copy speed with every rank busy at once, then a ping-pong of ranks 0 and 1."""
    for size in sizes:
        source = np.ones(size // FLOAT_BYTES, dtype=np.float32)
        target = np.zeros_like(source)
        tasks: dict[str, Callable[[], object]] = {
            "reduce": partial(MPI.SUM.Reduce_local, source, target),
            "copy": partial(np.copyto, target, source),
            "ping-pong": partial(_ping_pong, comm, source, target),
        }
        for name, task in tasks.items():
            times = _timed(comm, task, seconds / (len(tasks) * len(sizes)))
            if comm.Get_rank() == 0:
                emit({"kind": name, "bytes": size, **summary(times)})


def _ping_pong(comm: MPI.Comm, source: Floats, target: Floats) -> None:
    rank = comm.Get_rank()
    if rank == 0:
        comm.Send(source, 1)
        comm.Recv(target, 1)
    elif rank == 1:
        comm.Recv(target, 0)
        comm.Send(source, 0)


def _timed(comm: MPI.Comm, task: Callable[[], object], seconds: float) -> list[float]:
    """At least 5 repetitions; all ranks make the same number, as a ping-pong needs."""
    task()
    times: list[float] = []
    start = time.perf_counter()
    while comm.bcast(len(times) < 5 or time.perf_counter() - start < seconds):
        comm.Barrier()
        for _ in range(5):
            begin = MPI.Wtime()
            task()
            times.append(MPI.Wtime() - begin)
    return times


def emit(record: dict[str, Any]) -> None:
    """One JSON line on standard output."""
    print(json.dumps(record), flush=True)


def main() -> None:
    """Do what the JSON in the first argument says."""
    start = time.perf_counter()
    task = json.loads(sys.argv[1])
    comm = MPI.COMM_WORLD
    if comm.Get_rank() == 0:
        library = MPI.Get_library_version().strip().split(",")[0]
        emit({"kind": "start", "library": library})
    if task["local_seconds"] > 0:
        measure_local(comm, task["local_sizes"], task["local_seconds"])
    measure_allreduce(comm, task, start)
    if comm.Get_rank() == 0:
        emit({"kind": "end", "seconds": time.perf_counter() - start})


if __name__ == "__main__":
    main()
