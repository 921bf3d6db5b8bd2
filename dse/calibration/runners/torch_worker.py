"""Ranks of a torch.distributed measurement: gloo between CPUs, NCCL between NVIDIA GPUs.

Started on every host as ``python -P -m dse.calibration.runners.torch_worker``; imports the standard
library, numpy and torch only. Its first line of standard input is the task as JSON. For every run
it forks its ranks; the process with rank 0 prints the port at which they meet, which reaches the
others as a line of their input. The task holds::

    mine             the ranks that run on this host
    ranks            of all hosts
    local_ranks      on a full host
    address          of rank 0, as every host can reach it
    device           cpu, cuda, or auto: a GPU where the host has one for every rank on it
    timeout_s        after which a call that waits for another rank gives up
    runs             how often to start all ranks
    groups           [{ranks, weight}, ...]: what to measure one after the other, and the shares
                     of time
    operations       to measure besides allreduce, of bench.OPERATIONS
    sizes            bytes of the float32 tensors
    seconds          for everything from the first group on
    min_repetitions  of every size, unless its share of time cannot hold them
    local_seconds    the time in which the first group times a reduction and a copy first

Which algorithm runs: torch never sets one, and gloo's default is its ring: reduce-scatter, then
all-gather, each rank's share cut in at least two segments of at most 1 MiB so that one is on its
way while another is summed (torch ProcessGroupGlooDetail.hpp; gloo/allreduce.cc, UNSPECIFIED).
NCCL chooses by its own tables, so there it is called ``auto``.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import struct
import sys
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.rendezvous import rendezvous

from dse.calibration.runners import bench as kinds
from dse.calibration.runners import forks, timing
from dse.calibration.runners.bench import Bench, Call

LOCAL_BATCH = 5
ALLREDUCE = {"cpu": "ring", "cuda": "auto"}  # which algorithm runs: see the worker
SIOCGIFADDR = 0x8915  # linux/sockios.h: the IPv4 address of an interface
Task = dict[str, Any]


class Group(Bench):
    """The first ``ranks`` ranks of all. Every rank makes it, but only members may use it.

    ``control`` is a gloo group that keeps the ranks in step; on CPUs it is also the one that is
    measured, ``data``.
    """

    def __init__(self, ranks: int, sizes: Sequence[int], device: torch.device) -> None:
        self.device, self.sizes = device, sizes
        members = list(range(ranks))
        self.control = dist.new_group(members, backend="gloo")
        cuda = device.type == "cuda"
        self.data = dist.new_group(members, backend="nccl") if cuda else self.control
        largest = max(sizes) // timing.FLOAT_BYTES if dist.get_rank() < ranks else 1
        super().__init__(dist.get_rank(), ranks, largest, self._there)

    def records(
        self, operations: Sequence[str], seconds: float, least: int, began: float
    ) -> list[dict[str, Any]]:
        """The records of allreduce and ``operations`` at every size that the time can hold.

        An operation that the library lacks is left out, which a record of the kind 'note' says.
        """
        lacks = {name: why for name in operations if (why := self._lacks(name))}
        able = (name for name in operations if name not in lacks)
        names = (ALLREDUCE[self.device.type], *able)
        cells = [timing.Cell(name, 0, size) for size in sorted(set(self.sizes)) for name in names]
        notes = [{"kind": "note", "text": f"{name} left out: {lacks[name]}"} for name in lacks]
        found = self.measure(cells, seconds, least, began)
        return [*notes, *({**row, "ranks": self.ranks} for row in found)]

    def _lacks(self, name: str) -> str:
        """What torch says to an operation that this backend lacks; all ranks get the same."""
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

    def _pass(self, own: torch.Tensor, after: int, got: torch.Tensor, before: int) -> None:
        # In the order of gloo's ring: ready to receive before anything is sent.
        receiving = dist.P2POp(dist.irecv, got, before, self.data)
        sending = dist.P2POp(dist.isend, own, after, self.data)
        for work in dist.batch_isend_irecv([receiving, sending]):
            work.wait()

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


def address_towards(host: str) -> str:
    """The IPv4 address from which this host talks to ``host``; '' where it cannot reach it."""
    with (
        contextlib.suppress(OSError),
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe,
    ):
        probe.connect((host, 9))  # a datagram socket sends nothing when it connects
        return str(probe.getsockname()[0])
    return ""


def interface_to(host: str) -> str:
    """The interface through which ``host`` is reached; '' where that is unknown."""
    wanted = address_towards(host)
    if wanted.startswith("127."):
        return "lo"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            request = struct.pack("256s", name.encode()[:15])
            with contextlib.suppress(OSError):
                found = fcntl.ioctl(probe.fileno(), SIOCGIFADDR, request)
                if socket.inet_ntoa(found[20:24]) == wanted:
                    return name
    return ""


def open_store(task: Task, port: int, listener: int | None) -> dist.TCPStore:
    """The store at which the ranks meet; rank 0's listens on the file descriptor ``listener``."""
    return dist.TCPStore(
        task["address"],
        port,
        task["ranks"],
        is_master=task["rank"] == 0,
        timeout=timedelta(seconds=task["timeout_s"]),
        wait_for_workers=False,
        master_listen_fd=listener if task["rank"] == 0 else None,
    )


def launcher_store(task: Task) -> dist.Store:
    """The store of a launcher (torchrun has its own), or one at MASTER_ADDR and MASTER_PORT."""
    wait = timedelta(seconds=task["timeout_s"])
    found = rendezvous("env://", task["rank"], task["ranks"], timeout=wait)
    store: dist.Store = next(found)[0]
    return store


def measure(task: Task, store: dist.Store) -> list[dict[str, Any]]:
    """Join the other ranks, measure every group, leave; the records on rank 0, none elsewhere.

    Raises timing.WrongSum, and RuntimeError where another rank is gone or does not answer.
    """
    torch.set_num_threads(1)
    device = chosen_device(task)
    if interface := interface_to(task["address"]):
        os.environ.setdefault("GLOO_SOCKET_IFNAME", interface)
    dist.init_process_group(
        "gloo" if device.type == "cpu" else "cpu:gloo,cuda:nccl",
        store=dist.PrefixStore(f"run-{task['run']}", store),
        rank=task["rank"],
        world_size=task["ranks"],
        timeout=timedelta(seconds=task["timeout_s"]),
    )
    try:
        records = [about(device), *_measure_groups(task, device)]
    finally:
        dist.destroy_process_group()
    return [{**record, "run": task["run"]} for record in records if task["rank"] == 0]


def _measure_groups(task: Task, device: torch.device) -> list[dict[str, Any]]:
    began = time.perf_counter()
    records: list[dict[str, Any]] = []
    first, left = task["groups"][0], list(task["groups"])
    while left:
        dist.barrier()  # ranks outside the group wait here, without using a core
        wanted = left[0]
        group = Group(wanted["ranks"], task["sizes"], device)
        if group.rank < group.ranks:
            if wanted is first and task["local_seconds"] > 0:
                records += group.local(task["local_seconds"])
            now = time.perf_counter()
            spare = max(0.0, task["seconds"] - (now - began))
            share = spare * wanted["weight"] / sum(each["weight"] for each in left)
            records += group.records(task["operations"], share, task["min_repetitions"], now)
        left.pop(0)
    dist.barrier()
    return records


def chosen_device(task: Task) -> torch.device:
    """This rank's GPU where the task wants one and its host has enough, else the CPU."""
    if task["device"] == "cpu":
        return torch.device("cpu")
    found = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if found < task["local_ranks"]:
        if task["device"] == "auto":
            return torch.device("cpu")
        have, want = f"{found} GPUs on this host", f"{task['local_ranks']} ranks"
        raise RuntimeError(f"{have} for {want}; give fewer ranks, or measure on the cpu")
    torch.cuda.set_device(task["local_rank"])
    return torch.device("cuda", task["local_rank"])


def about(device: torch.device) -> dict[str, Any]:
    """The transport, torch's version and the device of this rank."""
    cuda = device.type == "cuda"
    return {
        "kind": "start",
        "transport": "nccl" if cuda else "gloo",
        "version": str(torch.__version__),
        "device": torch.cuda.get_device_name(device) if cuda else "cpu",
    }


def _as_rank(task: Task, port: int, listener: int | None) -> int:
    """Be one rank of one run; its exit status, after a line on standard error if it failed."""
    try:
        for record in measure(task, open_store(task, port, listener)):
            timing.emit(record)
    except timing.WrongSum as wrong:
        print(wrong, file=sys.stderr, flush=True)
        return timing.WRONG_SUM_STATUS
    except (RuntimeError, OSError) as cause:
        said = (str(cause).splitlines() or [type(cause).__name__])[0]
        print(f"rank {task['rank']}: {said}", file=sys.stderr, flush=True)
        return forks.FAILED_STATUS
    return 0


def main() -> None:
    """Do what standard input says."""
    starter = forks.Input()
    task = starter.line()
    began = time.perf_counter()
    for run in range(1, task["runs"] + 1):
        listener = socket.create_server((task["address"], 0)) if 0 in task["mine"] else None
        if listener:
            port = listener.getsockname()[1]
            timing.emit({"kind": "pass-on", "port": port, "run": run})
        else:
            port = starter.line()["port"]
        left_s = task["seconds"] - (time.perf_counter() - began)
        mine = {"run": run, "seconds": max(0.0, left_s / (task["runs"] - run + 1))}
        if run > 1:
            mine["local_seconds"] = 0.0
        bodies = {
            rank: partial(
                _as_rank,
                {**task, **mine, "rank": rank, "local_rank": local},
                port,
                listener.fileno() if listener else None,
            )
            for local, rank in enumerate(task["mine"])
        }
        forks.run_forked(bodies, task["ranks"], starter)
        if listener:
            listener.close()


if __name__ == "__main__":
    main()
