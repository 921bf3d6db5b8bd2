"""One MPI rank of a measurement; imports the standard library, numpy and mpi4py only.

Started by path as ``mpirun -n N python -P mpi_worker.py JSON`` with the folder of ``dse`` in
PYTHONPATH. Rank 0 prints one JSON object a line; every other rank prints nothing. The JSON holds::

    ranks            N, if that is to be checked
    cells            [[algorithm, number, bytes], ...]: time in-place float32 Allreduce of each,
                     forced to the library's algorithm (by number in Open MPI), interleaved so that
                     a disturbance hits all alike; the algorithms 'exchange' and 'ping-pong' are
                     messages of pairs of ranks
    stride           the partner of rank r in those is r + stride or r - stride
    seconds          the share of time of the whole start, set-up included
    min_repetitions  of every cell, unless its share of time cannot hold them
    local_sizes      bytes at which to time a reduction and a copy first
    local_seconds    the time for that

A wrong sum ends every rank with status 3 and one line on stderr.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from mpi4py import MPI

from dse.calibration.runners import timing
from dse.calibration.runners.clock import Clock, ClockJumps
from dse.calibration.runners.mpi_bench import Bench
from dse.calibration.runners.mpi_force import CannotForce
from dse.calibration.runners.pairs import PRIMITIVES, Pairs

LOCAL_REPETITIONS = 5  # at least, and so many between two looks at the time
FAILURES = (timing.WrongSum, ClockJumps, CannotForce, MPI.Exception)

Records = list[dict[str, Any]]


def perform(comm: MPI.Comm, task: dict[str, Any], began: float) -> Records:
    """Do the task on all ranks of ``comm``; the records are rank 0's. Raises one of FAILURES.

    began: time.perf_counter() when the share of time began.
    """
    if comm.Get_size() != task.get("ranks", comm.Get_size()):
        sees = f"{task['ranks']} ranks were started, but each sees {comm.Get_size()}"
        raise CannotForce(f"{sees}: mpi4py uses {library()}, which is another MPI than mpirun's")
    clock = Clock(comm)
    records: Records = [{"kind": "start", "library": library()}]
    if task["local_seconds"] > 0:
        records += measure_local(comm, task["local_sizes"], task["local_seconds"])
    records += measure_cells(comm, task, began, clock)
    end = {"kind": "end", "seconds": time.perf_counter() - began}
    return [*records, {**end, "kept": clock.kept, "dropped": clock.dropped}]


def library() -> str:
    """Name and version of the MPI library: its own description up to the first comma."""
    return MPI.Get_library_version().strip().splitlines()[0].split(",")[0]


def measure_cells(comm: MPI.Comm, task: dict[str, Any], began: float, clock: Clock) -> Records:
    """Time all cells until their medians are known or the share of time is gone."""
    rank, ranks = comm.Get_rank(), comm.Get_size()
    cells = [timing.Cell(*cell) for cell in task["cells"]]
    largest = max(cell.size_bytes for cell in cells) // timing.FLOAT_BYTES
    own = np.resize(timing.pattern(rank), largest)
    bench = Bench(comm, [c for c in cells if c.algorithm not in PRIMITIVES], own, clock)
    pairs = Pairs(comm, task["stride"], own, clock)

    def batch(cell: timing.Cell, repetitions: int) -> list[float] | None:
        if cell.algorithm in PRIMITIVES:
            run = partial(pairs.batch, cell.algorithm, cell.size_bytes, repetitions)
        else:
            run = partial(bench.batch, cell, repetitions)
        while True:  # the clock gives up where no batch has a time that can be
            times = run()
            if times is None or times:
                return times

    plan = timing.schedule(
        cells,
        task["seconds"],
        task["min_repetitions"],
        timing.largest_batch(ranks),
        lambda: time.perf_counter() - began,
    )
    timing.run_schedule(cells, plan, comm.Bcast, batch, rank, ranks)
    return timing.rows(cells, PRIMITIVES)


def measure_local(comm: MPI.Comm, sizes: Sequence[int], seconds: float) -> Records:
    """Reduce and copy speed with every rank busy at once; the times of rank 0."""
    records: Records = []
    for size in sizes:
        source = np.ones(size // timing.FLOAT_BYTES, dtype=np.float32)
        target = np.zeros_like(source)
        tasks: dict[str, Callable[[], object]] = {
            "reduce": partial(MPI.SUM.Reduce_local, source, target),
            "copy": partial(np.copyto, target, source),
        }
        for name, task in tasks.items():
            times = _timed(comm, task, seconds / (len(tasks) * len(sizes)))
            if times:
                records.append({"kind": name, "bytes": size, **timing.summary(times)})
    return records


def _timed(comm: MPI.Comm, task: Callable[[], object], seconds: float) -> list[float]:
    """As many repetitions on all ranks, until ``seconds`` are gone; those that can be."""
    task()
    times: list[float] = []
    start, go_on = time.perf_counter(), True
    while go_on:
        comm.Barrier()
        for _ in range(LOCAL_REPETITIONS):
            begin = time.perf_counter()
            task()
            times.append(time.perf_counter() - begin)
        go_on = comm.bcast(time.perf_counter() - start < seconds)
    return [seconds for seconds in times if seconds > 0.0]


def main() -> None:
    """Do what the JSON in the first argument says."""
    began = time.perf_counter()
    task = json.loads(sys.argv[1])
    try:
        records = perform(MPI.COMM_WORLD, task, began)
    except FAILURES as failure:
        if MPI.COMM_WORLD.Get_rank() == 0:
            print(failure, file=sys.stderr, flush=True)
        sys.exit(timing.WRONG_SUM_STATUS)
    for record in records if MPI.COMM_WORLD.Get_rank() == 0 else ():
        timing.emit(record)


if __name__ == "__main__":
    main()
