"""Verified, timed batches of MPI_Allreduce with forced algorithms.

Imports the standard library, numpy and mpi4py only, as a part of the MPI worker.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from mpi4py import MPI

from dse.calibration.runners import timing
from dse.calibration.runners.clock import Clock
from dse.calibration.runners.mpi_force import forced

Floats = np.ndarray[Any, Any]


class Bench:
    """Batches of in-place Allreduce (training frameworks call it so) of a known float32 pattern.

    own: the pattern of this rank, at least as long as the largest message.
    """

    def __init__(
        self, comm: MPI.Comm, cells: Sequence[timing.Cell], own: Floats, clock: Clock
    ) -> None:
        self.comm, self.own, self.clock = comm, own, clock
        self.forced = forced(comm, cells) if cells else None
        self.expected = np.resize(timing.pattern_sum(comm.Get_size()), own.size)
        self.buffer = np.zeros_like(own)

    def batch(self, cell: timing.Cell, repetitions: int) -> list[float] | None:
        """Seconds of the slowest rank, per repetition; None if any rank holds a wrong sum."""
        assert self.forced is not None
        comm, count = self.forced.communicator(cell), cell.size_bytes // timing.FLOAT_BYTES
        buffer, expected = self.buffer[:count], self.expected[:count]
        buffer[:] = self.own[:count]
        comm.Allreduce(MPI.IN_PLACE, buffer)  # warm-up, and the exact check
        good = np.array_equal(buffer, expected)
        times, began = np.empty(repetitions), time.perf_counter()
        for repetition in range(repetitions):
            comm.Barrier()
            start = self.clock.now()
            comm.Allreduce(MPI.IN_PLACE, buffer)
            times[repetition] = self.clock.now() - start
        self.forced.release()
        slowest = self.clock.slowest(times, began)
        # Every later call multiplied the sum by n: rounding only, so a loose check suffices.
        buffer /= np.float32(float(comm.Get_size()) ** repetitions)
        good = good and bool(np.allclose(buffer, expected, rtol=1e-4, atol=0.0))
        return slowest if self.comm.allreduce(good, op=MPI.LAND) else None
