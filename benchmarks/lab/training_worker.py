"""One MPI rank of a data-parallel training loop: timed compute, real bucketed allreduce.

Started as ``mpirun -n N python -P training_worker.py JSON``; rank 0 prints one JSON line a case.
The JSON: ``{"cases": [...], "steps": n, "numbers": {algorithm: number of the library}}``, a case::

    {"algorithm", "forward_s", "backward_s", "elements": [...], "ready_s": [...], ...}

elements: float32 gradients of each bucket, in the order in which they are sent. ready_s: seconds
into the backward pass at which each is complete. What else a case holds is printed back.

Compute is sleep, until absolute times, so that ranks which share cores do not slow one another.
The main thread computes; one communication thread aggregates the buckets in order.
"""

from __future__ import annotations

import json
import queue
import sys
import threading
import time
from typing import Any

import numpy as np
from mpi4py import MPI

from dse.calibration.runners.mpi_worker import forced
from dse.calibration.runners.timing import Cell, Floats

WRONG_SUM_STATUS = 3
PERIOD = 31


class Loop:
    """The steps of one case on one communicator."""

    def __init__(self, comm: MPI.Comm, case: dict[str, Any]) -> None:
        self.comm, self.case = comm, case
        index = np.arange(sum(case["elements"]))
        ranks = range(comm.Get_size())
        self.own = self.pattern(index, comm.Get_rank())
        self.expected = np.sum([self.pattern(np.arange(PERIOD), rank) for rank in ranks], axis=0)
        self.gradients = np.empty_like(self.own)
        ends = np.cumsum(case["elements"])
        self.buckets = np.split(self.gradients, ends[:-1])
        self.work: queue.Queue[int | None] = queue.Queue()
        self.sent = threading.Semaphore(0)
        self.lasted = np.zeros(len(self.buckets))  # seconds of each bucket in the latest step

    @staticmethod
    def pattern(index: np.ndarray[Any, Any], rank: int) -> Floats:
        """Small integers that depend on the rank: their sums are exact in float32."""
        return np.asarray((7 * index + 13 * rank) % PERIOD + 1, dtype=np.float32)

    def reset(self) -> None:
        """New gradients, and all ranks at the same line."""
        self.gradients[:] = self.own
        self.comm.Barrier()

    def check(self) -> None:
        """End every rank with one line if any holds a wrong sum."""
        total = np.resize(self.expected, self.gradients.size)
        good = bool(np.array_equal(self.gradients, total))
        if not self.comm.allreduce(good, op=MPI.LAND):
            if self.comm.Get_rank() == 0:
                print(f"wrong sum: {self.case['algorithm']}", file=sys.stderr, flush=True)
            sys.exit(WRONG_SUM_STATUS)

    def aggregate(self) -> None:
        """The communication thread: buckets as they come, until None."""
        while (bucket := self.work.get()) is not None:
            start = time.perf_counter()
            self.comm.Allreduce(MPI.IN_PLACE, self.buckets[bucket])
            self.lasted[bucket] = time.perf_counter() - start
            self.sent.release()

    def overlapped(self) -> float:
        """Seconds of one step whose buckets are sent as soon as they are ready."""
        self.reset()
        start = time.perf_counter()
        backward = start + self.case["forward_s"]
        for bucket, ready in enumerate(self.case["ready_s"]):
            sleep_until(backward + ready)
            self.work.put(bucket)
        sleep_until(backward + self.case["backward_s"])
        for _ in self.buckets:
            self.sent.acquire()
        return time.perf_counter() - start

    def plain(self) -> float:
        """Seconds of one step whose buckets are sent after the backward pass."""
        self.reset()
        start = time.perf_counter()
        sleep_until(start + self.case["forward_s"] + self.case["backward_s"])
        for bucket in range(len(self.buckets)):
            self.work.put(bucket)
        for _ in self.buckets:
            self.sent.acquire()
        return time.perf_counter() - start

    def alone(self) -> list[float]:
        """Seconds of every bucket's allreduce by itself, all ranks starting it together."""
        self.reset()
        times = []
        for bucket in self.buckets:
            self.comm.Barrier()
            start = time.perf_counter()
            self.comm.Allreduce(MPI.IN_PLACE, bucket)
            times.append(time.perf_counter() - start)
        return times

    def run(self, steps: int) -> dict[str, Any]:
        """Seconds of steps with and without overlap, slowest rank each; medians for the buckets.

        alone_s: every bucket by itself after a barrier, slowest rank. row_s: every bucket in a row
        with the others, without a barrier between them, mean of the ranks.
        """
        overlapped, plain, alone, row = [], [], [], []
        for step in range(steps + 1):  # the first is the warm-up
            hidden_s, shown_s, in_a_row = self._threaded()
            alone_s = self.alone()
            self.check()
            times = self._reduced([hidden_s, shown_s, *alone_s], MPI.MAX)
            in_a_row = self._reduced(in_a_row, MPI.SUM)
            if step:
                overlapped.append(times[0])
                plain.append(times[1])
                alone.append(times[2:])
                row.append([seconds / self.comm.Get_size() for seconds in in_a_row])
        medians = {"alone_s": alone, "row_s": row}
        return {
            **self.case,
            "overlapped_s": overlapped,
            "plain_s": plain,
            **{name: [float(x) for x in np.median(m, axis=0)] for name, m in medians.items()},
        }

    def _threaded(self) -> tuple[float, float, list[float]]:
        """Both kinds of step with a communication thread, and the buckets of the second."""
        stream = threading.Thread(target=self.aggregate)
        stream.start()
        hidden_s = self.overlapped()
        self.check()
        shown_s = self.plain()
        self.check()
        self.work.put(None)
        stream.join()
        return hidden_s, shown_s, [float(seconds) for seconds in self.lasted]

    def _reduced(self, values: list[float], how: MPI.Op) -> list[float]:
        result = np.empty(len(values))
        self.comm.Allreduce(np.asarray(values), result, op=how)
        return [float(value) for value in result]


def sleep_until(moment: float) -> None:
    """Sleep until ``time.perf_counter()`` is ``moment``."""
    while (left := moment - time.perf_counter()) > 0:
        time.sleep(left)


def main() -> None:
    """Run every case of the JSON in the first argument."""
    task = json.loads(sys.argv[1])
    comm = MPI.COMM_WORLD
    cells = {name: Cell(name, number, 0) for name, number in task["numbers"].items()}
    library = forced(comm, cells.values())
    for case in task["cases"]:
        record = Loop(library.communicator(cells[case["algorithm"]]), case).run(task["steps"])
        if comm.Get_rank() == 0:
            print(json.dumps(record), flush=True)


if __name__ == "__main__":
    main()
