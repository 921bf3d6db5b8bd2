"""One MPI rank that exchanges messages with the other, late on purpose or in a row.

Started as ``mpirun -n N python -P lockstep_worker.py JSON``; rank 0 prints one JSON line a case.
The JSON: ``{"cases": [{"kind", "bytes", "late_s", "repetitions"}, ...]}``. Kinds::

    away       one exchange; rank 1 starts late_s after rank 0, and sleeps until then
    inside     the same, but it looks for messages until then, as in an earlier call of the library
    row        exchanges one after the other, without a barrier between them
    allreduce  the library's MPI_Allreduce, likewise, of all ranks

All ranks of the lab are on one machine, so they share its clock.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np
from mpi4py import MPI

from dse.calibration.runners.timing import FLOAT_BYTES

WRONG_STATUS = 3
HEAD_START_S = 0.01  # until ranks begin, once all know when
NO_SUCH_TAG = 99
Floats = np.ndarray[Any, Any]


class Rank:
    """One rank with data to send and space to receive."""

    def __init__(self, comm: MPI.Comm, largest: int) -> None:
        self.comm, self.rank = comm, comm.Get_rank()
        self.partner = 1 - self.rank
        self.own = np.full(largest // FLOAT_BYTES, self.rank + 1.0, dtype=np.float32)
        self.got = np.zeros_like(self.own)

    def exchange(self, count: int) -> None:
        """As in a step of a ring: receive posted, then sent."""
        receive = self.comm.Irecv(self.got[:count], self.partner)
        send = self.comm.Isend(self.own[:count], self.partner)
        MPI.Request.Waitall([receive, send])

    def wait(self, moment: float, inside: bool) -> None:
        """Until ``moment``, with or without the library's looking for messages."""
        while (left := moment - time.perf_counter()) > 0:
            if inside:
                self.comm.Iprobe(self.partner, NO_SUCH_TAG)
            else:
                time.sleep(min(left, 1e-3))

    def late(self, count: int, late_s: float, inside: bool) -> list[tuple[float, float]]:
        """Start and end of one exchange that rank 1 begins late; of both ranks on rank 0."""
        self.comm.Barrier()
        begin = self.comm.bcast(time.perf_counter() + HEAD_START_S)
        self.wait(begin + late_s * self.rank, inside and self.rank == 1)
        start = time.perf_counter()
        self.exchange(count)
        return self.comm.gather((start, time.perf_counter())) or []

    def row(self, count: int, repetitions: int, reduce: bool) -> list[list[float]]:
        """The start, and the end of each in a row, of every rank on rank 0."""
        total = np.array(self.own)
        self.comm.Barrier()
        times = [time.perf_counter()]
        for _ in range(repetitions):
            if reduce:
                self.comm.Allreduce(self.own[:count], total[:count])
            else:
                self.exchange(count)
            times.append(time.perf_counter())
        if reduce:
            ranks = self.comm.Get_size()
            self.check(bool(np.all(total[:count] == ranks * (ranks + 1) / 2)))
        return self.comm.gather(times) or []

    def check(self, good: bool) -> None:
        """End every rank with one line if anything that came is wrong."""
        if not self.comm.allreduce(good, op=MPI.LAND):
            if self.rank == 0:
                print("wrong data", file=sys.stderr, flush=True)
            sys.exit(WRONG_STATUS)

    def run(self, case: dict[str, Any]) -> list[float]:
        """Seconds of each exchange or allreduce, on rank 0.

        A late one counts from the start of the last rank to the end of the last; in a row from the
        end of the last rank to the next end of the last.
        """
        count, repetitions = case["bytes"] // FLOAT_BYTES, case["repetitions"]
        if case["kind"] in ("row", "allreduce"):
            times = np.array(self.row(count, repetitions, case["kind"] == "allreduce"))
            seconds = np.diff(times.max(axis=0)) if self.rank == 0 else np.zeros(0)
        else:
            inside = case["kind"] == "inside"
            both = [self.late(count, case["late_s"], inside) for _ in range(repetitions)]
            seconds = np.array([np.ptp(np.max(pair, axis=0)) for pair in both if pair])
        if case["kind"] != "allreduce":
            self.check(bool(np.all(self.got[:count] == self.partner + 1.0)))
        return [float(second) for second in seconds]


def main() -> None:
    """Run every case of the JSON in the first argument."""
    cases = json.loads(sys.argv[1])["cases"]
    rank = Rank(MPI.COMM_WORLD, max(case["bytes"] for case in cases))
    for case in cases:
        seconds = rank.run(case)
        if rank.rank == 0:
            print(json.dumps({**case, "seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()
