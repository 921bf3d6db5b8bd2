"""Times that ranks took, by MPI's clock, checked against the system's.

Imports the standard library, numpy and mpi4py only, as a part of the MPI worker.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from mpi4py import MPI

TOLERATED = 20  # times in a row, or in all if they are the most, that may be wrong

Floats = np.ndarray[Any, Any]


class ClockJumps(Exception):
    """Most of the measured times are impossible; the text is one line for the user."""


class Clock:
    """Reads the time and finds the slowest rank's; drops and counts impossible times.

    A time is impossible if it is no number, negative, longer than everything around it took by the
    system's clock, or zero on all ranks (on one, zero means that the rank was idle).
    """

    def __init__(self, comm: MPI.Comm) -> None:
        self.comm = comm
        self.kept = self.dropped = self._in_a_row = 0

    def now(self) -> float:
        """Seconds since some moment in the past."""
        return float(MPI.Wtime())

    def slowest(self, times: Floats, began: float) -> list[float]:
        """The slowest rank's time of every repetition; the same on all ranks.

        times: seconds of this rank, shape (repetitions,). began: time.perf_counter() before the
        first. Raises ClockJumps, on all ranks, where most times had to be dropped.
        """
        longest_s = time.perf_counter() - began
        with np.errstate(invalid="ignore"):
            possible = (times >= 0.0) & (times <= longest_s)
        found = np.empty_like(times)
        self.comm.Allreduce(np.where(possible, times, np.inf), found, op=MPI.MAX)
        good = [float(t) for t in found if 0.0 < t < np.inf]
        lost = len(found) - len(good)
        self.kept += len(good)
        self.dropped += lost
        self._in_a_row = 0 if good else self._in_a_row + lost
        if self._in_a_row >= TOLERATED or self.dropped >= max(TOLERATED, self.kept):
            total = self.kept + self.dropped
            raise ClockJumps(
                f"the clock jumps: {self.dropped} of {total} times are negative, zero or too long"
            )
        return good
