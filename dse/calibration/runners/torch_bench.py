"""Verified, timed batches of torch.distributed calls among some of the ranks.

Imports numpy and torch, as a part of the torch worker.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from dse.calibration.runners import timing

EXCHANGE, PING_PONG = "exchange", "ping-pong"
PRIMITIVES = (EXCHANGE, PING_PONG)
CHAINED_BYTES = 2**20  # smaller messages are sent several times in a row and the time divided:
CHAIN = 4  # the ranks leave a barrier some microseconds apart, which is nothing of a collective
LOCAL_BATCH = 5
ALLREDUCE = {"cpu": "ring", "cuda": "auto"}  # which algorithm runs: see the worker


class Group:
    """The first ``ranks`` ranks of all. Every rank makes it, but only members may use it.

    stride: how far apart the partners of an exchange and a ping-pong are. ``control`` is a gloo
    group that keeps the ranks in step; on CPUs it is also the one that is measured, ``data``.
    """

    def __init__(self, ranks: int, stride: int, sizes: Sequence[int], device: torch.device) -> None:
        self.ranks, self.rank, self.device, self.sizes = ranks, dist.get_rank(), device, sizes
        members = list(range(ranks))
        self.control = dist.new_group(members, backend="gloo")
        cuda = device.type == "cuda"
        self.data = dist.new_group(members, backend="nccl") if cuda else self.control
        self.partner = self.rank + (stride if (self.rank // stride) % 2 == 0 else -stride)
        self.busy = {
            EXCHANGE: self.partner < ranks,
            PING_PONG: self.rank in (0, stride) and self.partner < ranks,
        }
        if self.rank >= ranks:
            return
        count = max(sizes) // timing.FLOAT_BYTES
        self.own = self._whole(timing.pattern(self.rank), count)
        self.theirs = self._whole(timing.pattern(self.partner), count)
        self.expected = self._whole(timing.pattern_sum(ranks), count)
        self.buffer = torch.zeros(count, dtype=torch.float32, device=device)

    def measure(
        self, primitives: Sequence[str], seconds: float, least: int
    ) -> list[dict[str, Any]]:
        """The records of allreduce and ``primitives`` at every size that ``seconds`` can hold."""
        names = (ALLREDUCE[self.device.type], *primitives)
        cells = [timing.Cell(name, 0, size) for size in sorted(set(self.sizes)) for name in names]
        began, most = time.perf_counter(), timing.largest_batch(self.ranks)
        plan = timing.schedule(cells, seconds, least, most, lambda: time.perf_counter() - began)
        timing.run_schedule(cells, plan, self.agree, self.batch, self.rank, self.ranks)
        return [{**row, "ranks": self.ranks} for row in timing.rows(cells, PRIMITIVES)]

    def agree(self, order: timing.Floats) -> None:
        """Rank 0's numbers become everybody's."""
        dist.broadcast(torch.from_numpy(order), 0, group=self.control)

    def batch(self, cell: timing.Cell, repetitions: int) -> list[float] | None:
        """Seconds of the slowest rank, per repetition; None if any rank holds wrong data."""
        one = self._pairs if cell.algorithm in PRIMITIVES else self._allreduce
        times, good = one(cell, repetitions)
        slowest = torch.tensor([*times, 0.0 if good else 1.0], dtype=torch.float64)
        dist.all_reduce(slowest, op=dist.ReduceOp.MAX, group=self.control)
        return None if slowest[-1] else [float(seconds) for seconds in slowest[:-1]]

    def _allreduce(self, cell: timing.Cell, repetitions: int) -> tuple[list[float], bool]:
        count = cell.size_bytes // timing.FLOAT_BYTES
        buffer, expected = self.buffer[:count], self.expected[:count]
        buffer.copy_(self.own[:count])
        one = partial(dist.all_reduce, buffer, group=self.data)
        one()  # warm-up, and the exact check
        good = torch.equal(buffer, expected)
        times = [self._in_step(one) for _ in range(repetitions)]
        # Every later call multiplied the sum by n: rounding only, so a loose check suffices.
        buffer /= float(self.ranks) ** repetitions
        return times, good and torch.allclose(buffer, expected, rtol=1e-4, atol=0.0)

    def _pairs(self, cell: timing.Cell, repetitions: int) -> tuple[list[float], bool]:
        """Exchanges of all pairs at once, or ping-pongs of the first pair, of which half counts."""
        count, busy = cell.size_bytes // timing.FLOAT_BYTES, self.busy[cell.algorithm]
        own, got = self.own[:count], self.buffer[:count]
        chain = CHAIN if cell.size_bytes < CHAINED_BYTES else 1
        one = partial(self._exchange if cell.algorithm == EXCHANGE else self._ping_pong, own, got)
        messages = chain * (2 if cell.algorithm == PING_PONG else 1)
        got.zero_()

        def several() -> None:
            for _ in range(chain if busy else 0):
                one()

        times = [self._in_step(several) / messages for _ in range(repetitions + 1)][1:]
        # What came back from a ping-pong was sent here; an exchange brings the partner's own.
        expected = own if cell.algorithm == PING_PONG and self.rank == 0 else self.theirs[:count]
        return times, not busy or torch.equal(got, expected)

    def _exchange(self, own: torch.Tensor, got: torch.Tensor) -> None:
        # In the order of gloo's ring: ready to receive before anything is sent.
        receiving = dist.P2POp(dist.irecv, got, self.partner, self.data)
        sending = dist.P2POp(dist.isend, own, self.partner, self.data)
        for work in dist.batch_isend_irecv([receiving, sending]):
            work.wait()

    def _ping_pong(self, own: torch.Tensor, got: torch.Tensor) -> None:
        if self.rank == 0:
            dist.send(own, self.partner, group=self.data)
            dist.recv(got, self.partner, group=self.data)
        else:
            dist.recv(got, self.partner, group=self.data)
            dist.send(got, self.partner, group=self.data)

    def _in_step(self, task: Callable[[], object]) -> float:
        """Seconds of ``task`` on this rank after all ranks came this far."""
        dist.barrier(group=self.control)
        return self._seconds(task)

    def _seconds(self, task: Callable[[], object]) -> float:
        start = time.perf_counter()
        task()
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        return time.perf_counter() - start

    def local(self, sizes: Sequence[int], seconds: float) -> list[dict[str, Any]]:
        """Reduce and copy speed with every rank busy at once; one thread each, as gloo has."""
        records = []
        for size in sizes:
            source = torch.ones(size // timing.FLOAT_BYTES, device=self.device)
            target = torch.zeros_like(source)
            tasks: dict[str, Callable[[], object]] = {
                "reduce": partial(torch.add, target, source, out=target),
                "copy": partial(target.copy_, source),
            }
            for name, task in tasks.items():
                times = self._timed(task, seconds / (len(tasks) * len(sizes)))
                records.append({"kind": name, "bytes": size, **timing.summary(times)})
        return records

    def _timed(self, task: Callable[[], object], seconds: float) -> list[float]:
        """Times of ``task`` until ``seconds`` are over; all ranks work as long as rank 0 does."""
        task()
        times: list[float] = []
        order = np.ones(2, dtype=np.int64)
        began = time.perf_counter()
        while order[0]:
            times += [self._seconds(task) for _ in range(LOCAL_BATCH)]
            order[0] = time.perf_counter() - began < seconds
            self.agree(order)
        return times

    def _whole(self, period: timing.Floats, count: int) -> torch.Tensor:
        return torch.from_numpy(np.resize(period, count)).to(self.device)
