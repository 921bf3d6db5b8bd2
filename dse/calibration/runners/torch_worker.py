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
    groups           [{ranks, stride, weight, primitives}, ...]: what to measure one after the
                     other, and the shares of time; the partner in a primitive is a stride away
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

import os
import socket
import sys
import time
from datetime import timedelta
from functools import partial
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.rendezvous import rendezvous

from dse.calibration.runners import forks, network_interfaces, timing
from dse.calibration.runners.torch_bench import Group

Task = dict[str, Any]


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
    if interface := network_interfaces.interface_to(task["address"]):
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
        group = Group(wanted["ranks"], wanted["stride"], task["sizes"], device)
        if group.rank < group.ranks:
            if wanted is first and task["local_seconds"] > 0:
                records += group.local(task["local_seconds"])
            now = time.perf_counter()
            spare = max(0.0, task["seconds"] - (now - began))
            share = spare * wanted["weight"] / sum(each["weight"] for each in left)
            records += group.records(wanted["primitives"], share, task["min_repetitions"], now)
        left.pop(0)
    dist.barrier()
    return [*records, {"kind": "end", "seconds": time.perf_counter() - began}]


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
