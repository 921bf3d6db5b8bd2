"""Messages between pairs of MPI ranks: the exchange that collectives are made of, and a ping-pong.

Imports the standard library, numpy and mpi4py only, as a part of the MPI worker.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from mpi4py import MPI

from dse.calibration.runners.clock import Clock
from dse.calibration.runners.timing import FLOAT_BYTES

EXCHANGE, PING_PONG = "exchange", "ping-pong"
PRIMITIVES = (EXCHANGE, PING_PONG)
CHAINED_BYTES = 2**20  # smaller messages are sent several times in a row and the time divided:
CHAIN = 4  # the ranks leave a barrier some microseconds apart, which is nothing of a collective

Floats = np.ndarray[Any, Any]


class Pairs:
    """Verified batches of exchanges (all ranks at once) and ping-pongs (the first pair alone).

    Ranks are paired ``stride`` apart: with stride 1 rank r with r XOR 1, with stride g, the ranks
    of a node, every rank with its counterpart on the next node. A rank without partner is idle.
    own: float32 data of this rank, at least as long as the largest message.
    """

    def __init__(self, comm: MPI.Comm, stride: int, own: Floats, clock: Clock) -> None:
        self.comm, self.own, self.clock = comm, own, clock
        self.rank = comm.Get_rank()
        step = stride if (self.rank // stride) % 2 == 0 else -stride
        self.partner = self.rank + step
        self.busy = {
            EXCHANGE: self.partner < comm.Get_size(),
            PING_PONG: self.rank in (0, stride) and self.partner < comm.Get_size(),
        }
        theirs = self.partner if self.busy[EXCHANGE] else MPI.PROC_NULL
        self.theirs, self.got = np.zeros_like(own), np.zeros_like(own)
        comm.Sendrecv(own, theirs, recvbuf=self.theirs, source=theirs)

    def batch(self, kind: str, size_bytes: int, repetitions: int) -> list[float] | None:
        """Seconds of the slowest rank, per exchange or half ping-pong; None after wrong data."""
        count = size_bytes // FLOAT_BYTES
        own, got = self.own[:count], self.got[:count]
        busy, chain = self.busy[kind], CHAIN if size_bytes < CHAINED_BYTES else 1
        one = self._exchange if kind == EXCHANGE else self._ping_pong
        times, began = np.zeros(repetitions), time.perf_counter()
        got[:] = 0.0
        for repetition in range(-1, repetitions):  # the first is the warm-up
            self.comm.Barrier()
            if not busy:
                continue
            start = self.clock.now()
            for _ in range(chain):
                one(own, got)
            if repetition >= 0:
                times[repetition] = (self.clock.now() - start) / chain
        if kind == PING_PONG:
            times /= 2.0
        # What came back from a ping-pong was sent here; an exchange brings the partner's own.
        expected = own if kind == PING_PONG and self.rank == 0 else self.theirs[:count]
        good = not busy or np.array_equal(got, expected)
        slowest = self.clock.slowest(times, began)
        return slowest if self.comm.allreduce(good, op=MPI.LAND) else None

    def _exchange(self, own: Floats, got: Floats) -> None:
        self.comm.Sendrecv(own, self.partner, recvbuf=got, source=self.partner)

    def _ping_pong(self, own: Floats, got: Floats) -> None:
        if self.rank == 0:
            self.comm.Send(own, self.partner)
            self.comm.Recv(got, self.partner)
        else:
            self.comm.Recv(got, self.partner)
            self.comm.Send(got, self.partner)
