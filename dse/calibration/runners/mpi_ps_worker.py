"""One MPI rank of a parameter server; imports the standard library, numpy and mpi4py only.

Started by path as ``mpirun -n M+P python -P mpi_ps_worker.py JSON`` with the folder of ``dse`` in
PYTHONPATH. Ranks 0..M-1 are the workers, the others the servers. Rank 0 prints one JSON object a
line. The JSON holds::

    workers          M
    cells            [[[server, bytes], ...], ...]: the messages of each cell, from small to large
    seconds          for all cells together
    min_repetitions  of every cell, unless its share of time cannot hold them

A repetition: every worker posts the receives of all sums, sends all its messages, and is done when
all sums are there. A server adds up a message's values as they arrive and sends the sum to every
worker as soon as it is complete. Nobody asks for a sum: MPI needs no call to pull it.
A wrong sum ends every rank with status 3 and one line on stderr.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np
from mpi4py import MPI

from dse.calibration.runners import timing

MAX_BATCH = 20


class Role:
    """What one rank does in a cell: ``run`` is one repetition."""

    def __init__(self, comm: MPI.Comm, workers: int, cells: list[list[list[int]]]) -> None:
        self.comm, self.rank, self.workers = comm, comm.Get_rank(), workers
        self.cells = [
            [(workers + server, size // timing.FLOAT_BYTES) for server, size in cell]
            for cell in cells
        ]

    def run(self, index: int) -> float:
        """Seconds of one repetition; 0 on servers."""
        raise NotImplementedError

    def prepare(self, index: int, step: int) -> None:
        """Called before the ranks begin; does nothing here."""

    def good(self, index: int) -> bool:
        """Whether the result of the last repetition is exact; servers hold none."""
        return index >= 0


class Worker(Role):
    """Sends its messages and receives their sums."""

    def __init__(self, comm: MPI.Comm, workers: int, cells: list[list[list[int]]]) -> None:
        super().__init__(comm, workers, cells)
        largest = max(sum(floats for _, floats in cell) for cell in self.cells)
        self.own = np.resize(timing.pattern(self.rank), largest)
        self.expected = np.resize(timing.pattern_sum(workers), largest)
        self.weights = np.zeros(largest, dtype=np.float32)
        self.changed: tuple[list[int], int] = ([], 0)

    def prepare(self, index: int, step: int) -> None:
        """Change the data, so that an old sum does not pass for a new one."""
        for places, old, sign in ((*self.changed, -1), (self._ends(index)[:-1], step, 1)):
            self.own[places] += sign * old
            self.expected[places] += sign * old * self.workers
        self.changed = (self._ends(index)[:-1], step)

    def run(self, index: int) -> float:
        """Seconds from the first send to the last sum."""
        messages, ends = self.cells[index], self._ends(index)
        pending = []
        begin = MPI.Wtime()
        for number, (server, _) in enumerate(messages):
            here = self.weights[ends[number] : ends[number + 1]]
            pending.append(self.comm.Irecv(here, server, number))
        for number, (server, _) in enumerate(messages):
            here = self.own[ends[number] : ends[number + 1]]
            pending.append(self.comm.Isend(here, server, number))
        MPI.Request.Waitall(pending)
        return float(MPI.Wtime() - begin)

    def good(self, index: int) -> bool:
        """Whether every sum is exact."""
        used = self._ends(index)[-1]
        return np.array_equal(self.weights[:used], self.expected[:used])

    def _ends(self, index: int) -> list[int]:
        return [int(end) for end in np.cumsum([0, *(floats for _, floats in self.cells[index])])]


class Server(Role):
    """Adds up what all workers send and gives every one of them the sum."""

    def __init__(self, comm: MPI.Comm, workers: int, cells: list[list[list[int]]]) -> None:
        super().__init__(comm, workers, cells)
        self.mine = [
            [(number, floats) for number, (rank, floats) in enumerate(cell) if rank == self.rank]
            for cell in self.cells
        ]
        largest = max((sum(floats for _, floats in cell) for cell in self.mine), default=0)
        self.inbox = [np.zeros(largest, dtype=np.float32) for _ in range(workers)]
        self.total = np.zeros(largest, dtype=np.float32)

    def run(self, index: int) -> float:
        """Serve one repetition."""
        receives, parts, replies = [], [], []
        start = 0
        for number, floats in self.mine[index]:
            part = slice(start, start + floats)
            start += floats
            for worker in range(self.workers):
                receives.append(self.comm.Irecv(self.inbox[worker][part], worker, number))
                parts.append((number, part, worker))
        arrived = dict.fromkeys((number for number, _ in self.mine[index]), 0)
        for _ in receives:
            number, part, worker = parts[MPI.Request.Waitany(receives)]
            if arrived[number] == 0:
                np.copyto(self.total[part], self.inbox[worker][part])
            else:
                self.total[part] += self.inbox[worker][part]
            arrived[number] += 1
            if arrived[number] == self.workers:
                total = self.total[part]
                replies += [self.comm.Isend(total, who, number) for who in range(self.workers)]
        MPI.Request.Waitall(replies)
        return 0.0


def measure(comm: MPI.Comm, task: dict[str, Any]) -> list[timing.Cell]:
    """The cells with their times. Raises WrongSum on all ranks."""
    began, workers = time.perf_counter(), int(task["workers"])
    kind = Worker if comm.Get_rank() < workers else Server
    role = kind(comm, workers, task["cells"])
    cells = [timing.Cell("ps", i, sum(s for _, s in cell)) for i, cell in enumerate(task["cells"])]
    warm: set[int] = set()
    step = 0

    def batch(cell: timing.Cell, repetitions: int) -> list[float] | None:
        """Seconds of the slowest worker; ``cell.number`` is its index."""
        nonlocal step
        warm_up = cell.number not in warm
        warm.add(cell.number)
        times = np.zeros(repetitions + warm_up)
        good = True
        for repetition in range(times.size):
            step += 1
            role.prepare(cell.number, step)
            comm.Barrier()
            times[repetition] = role.run(cell.number)
            comm.Barrier()
            good = good and role.good(cell.number)
        slowest = np.empty_like(times)
        comm.Allreduce(times, slowest, op=MPI.MAX)
        all_good = comm.allreduce(good, op=MPI.LAND)
        return [float(t) for t in slowest[warm_up:]] if all_good else None

    def clock() -> float:
        return time.perf_counter() - began

    plan = timing.schedule(cells, task["seconds"], task["min_repetitions"], MAX_BATCH, clock)
    timing.run_schedule(cells, plan, comm.Bcast, batch, comm.Get_rank(), comm.Get_size())
    return cells


def main() -> None:
    """Do what the JSON in the first argument says."""
    began, comm = time.perf_counter(), MPI.COMM_WORLD
    try:
        cells = measure(comm, json.loads(sys.argv[1]))
    except timing.WrongSum as wrong:
        if comm.Get_rank() == 0:
            print(wrong, file=sys.stderr, flush=True)
        sys.exit(timing.WRONG_SUM_STATUS)
    if comm.Get_rank() > 0:
        return
    timing.emit({"kind": "start", "library": MPI.Get_library_version().strip().split(",")[0]})
    for index, cell in enumerate(cells):
        if cell.times:
            timing.emit({"kind": "sample", "index": index, **timing.summary(cell.times)})
    timing.emit({"kind": "end", "seconds": time.perf_counter() - began})


if __name__ == "__main__":
    main()
