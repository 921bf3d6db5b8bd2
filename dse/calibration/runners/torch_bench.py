"""Batches of torch.distributed calls among some of the ranks; imports numpy and torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
import torch.distributed as dist

from dse.calibration.runners import bench as kinds
from dse.calibration.runners import timing
from dse.calibration.runners.bench import Bench, Call

LOCAL_BATCH = 5
ALLREDUCE = {"cpu": "ring", "cuda": "auto"}  # which algorithm runs: see the worker


class Group(Bench):
    """The first ``ranks`` ranks of all. Every rank makes it, but only members may use it.

    ``control`` is a gloo group that keeps the ranks in step; on CPUs it is also the one that is
    measured, ``data``.
    """

    def __init__(self, ranks: int, stride: int, sizes: Sequence[int], device: torch.device) -> None:
        self.device, self.sizes = device, sizes
        members = list(range(ranks))
        self.control = dist.new_group(members, backend="gloo")
        cuda = device.type == "cuda"
        self.data = dist.new_group(members, backend="nccl") if cuda else self.control
        largest = max(sizes) // timing.FLOAT_BYTES if dist.get_rank() < ranks else 1
        super().__init__(dist.get_rank(), ranks, stride, largest, self._there)

    def records(
        self, primitives: Sequence[str], seconds: float, least: int, began: float
    ) -> list[dict[str, Any]]:
        """The records of allreduce and ``primitives`` at every size that the time can hold.

        An operation that the library lacks is left out, which a record of the kind 'note' says.
        """
        lacks = {name: why for name in primitives if (why := self._lacks(name))}
        able = (name for name in primitives if name not in lacks)
        names = (ALLREDUCE[self.device.type], *able)
        cells = [timing.Cell(name, 0, size) for size in sorted(set(self.sizes)) for name in names]
        notes = [{"kind": "note", "text": f"{name} left out: {lacks[name]}"} for name in lacks]
        found = self.measure(cells, seconds, least, began)
        return [*notes, *({**row, "ranks": self.ranks} for row in found)]

    def _lacks(self, name: str) -> str:
        """What torch says to an operation that this backend lacks; all ranks get the same."""
        if name not in kinds.OPERATIONS:
            return ""
        own, got, _ = self.buffers(name, self.ranks)
        try:
            self.operation(name, own, got)()
        except (RuntimeError, NotImplementedError) as refused:
            return str(refused).splitlines()[0]
        self.finish()
        return ""

    def agree(self, order: timing.Floats) -> None:
        dist.broadcast(torch.from_numpy(order), 0, group=self.control)

    def barrier(self) -> None:
        dist.barrier(group=self.control)

    def slowest(self, times: list[float], good: bool) -> list[float] | None:
        found = torch.tensor([*times, 0.0 if good else 1.0], dtype=torch.float64)
        dist.all_reduce(found, op=dist.ReduceOp.MAX, group=self.control)
        return None if found[-1] else [float(seconds) for seconds in found[:-1]]

    def allreduce(self, _: timing.Cell, buffer: torch.Tensor) -> Call:
        return partial(dist.all_reduce, buffer, group=self.data)

    def operation(self, name: str, own: torch.Tensor, got: torch.Tensor) -> Call:
        if name == kinds.SENDRECV:
            after, before = (self.rank + 1) % self.ranks, (self.rank - 1) % self.ranks
            return partial(self._pass, own, after, got, before)
        call: Callable[..., object] = {
            kinds.ALL_GATHER: dist.all_gather_into_tensor,
            kinds.REDUCE_SCATTER: dist.reduce_scatter_tensor,
            kinds.ALLTOALL: dist.all_to_all_single,
        }[name]
        return partial(call, got, own, group=self.data)

    def exchange(self, own: torch.Tensor, got: torch.Tensor) -> None:
        self._pass(own, self.partner, got, self.partner)

    def _pass(self, own: torch.Tensor, after: int, got: torch.Tensor, before: int) -> None:
        # In the order of gloo's ring: ready to receive before anything is sent.
        receiving = dist.P2POp(dist.irecv, got, before, self.data)
        sending = dist.P2POp(dist.isend, own, after, self.data)
        for work in dist.batch_isend_irecv([receiving, sending]):
            work.wait()

    def send(self, values: torch.Tensor) -> None:
        dist.send(values, self.partner, group=self.data)

    def receive(self, values: torch.Tensor) -> None:
        dist.recv(values, self.partner, group=self.data)

    def finish(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def local(self, seconds: float) -> list[dict[str, Any]]:
        """Reduce and copy speed with every rank busy at once; one thread each, as gloo has."""
        return timing.local_rows(seconds, self._alone, LOCAL_BATCH, self.agree)

    def _alone(self, size_bytes: int) -> dict[str, Callable[[], object]]:
        source = torch.ones(size_bytes // timing.FLOAT_BYTES, device=self.device)
        target = torch.zeros_like(source)

        def reduce() -> None:
            torch.add(target, source, out=target)
            self.finish()

        def copy() -> None:
            target.copy_(source)
            self.finish()

        return {"reduce": reduce, "copy": copy}

    def _there(self, values: timing.Floats) -> torch.Tensor:
        return torch.from_numpy(values).to(self.device)
