"""Starts the processes of an approach, on the hosts of a lab or all here, and reads their times."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.approaches.cells import BAIDU, GRPC_PS, messages, to_servers
from benchmarks.lab.network import INTERFACE, Lab
from benchmarks.lab.openmpi import mpirun_inside, on_hosts
from dse.calibration.runners.mpi_library import find_launcher, run_ranks
from dse.calibration.runners.parameter_servers import GRPC_WORKER
from dse.calibration.runners.processes import Record, run_processes, worker_command

WORKER = Path(__file__).with_name("mpi_worker.py")
GLOO_MODULE = "benchmarks.approaches.gloo_worker"
TIMES = ("repetitions", "min_s", "median_s", "p95_s")


def run_start(
    names: Sequence[str], workload: str, hosts: int, rounds: int, limit_s: float, lab: Lab | None
) -> list[dict[str, Any]]:
    """Run the approaches of one start, one rank a host; a row of times for each of them.

    Servers sit on the hosts of the workers, one on each. lab: None runs all processes here.
    Raises MeasurementError, also where a sum was wrong or after ``limit_s`` seconds.
    """
    if GRPC_PS in names:
        records = _grpc(to_servers(workload, hosts), hosts, rounds, limit_s, lab)
    else:
        approaches = [
            {"name": name, "ring": name == BAIDU, "messages": messages(name, workload)}
            for name in names
        ]
        task = {"rounds": rounds, "approaches": approaches}
        by_mpi = any(name == BAIDU for name in names)
        records = (_mpi if by_mpi else _gloo)(task, hosts, limit_s, lab)
    library = next(str(record["library"]) for record in records if record["kind"] == "start")
    samples = [record for record in records if record["kind"] == "sample"]
    return [
        {"approach": name, "library": library, **{key: sample[key] for key in TIMES}}
        for name, sample in zip(names, samples, strict=True)
    ]


def _once(workload_messages: Sequence[tuple[int, int]], rounds: int) -> dict[str, Any]:
    """What the workers of parameter servers are told: so many rounds, and no time for more."""
    return {"cells": [workload_messages], "seconds": 0.0, "min_repetitions": rounds}


def _grpc(
    sent: Sequence[tuple[int, int]], hosts: int, rounds: int, limit_s: float, lab: Lab | None
) -> list[Record]:
    task = {"workers": hosts, "servers": hosts, **_once(sent, rounds)}
    command = worker_command(GRPC_WORKER, {"GRPC_VERBOSITY": "NONE"})
    inputs = [
        {**task, "role": role, "index": index, "address": _address(lab, index)}
        for role in ("server", "worker") for index in range(hosts)
    ]  # fmt: skip
    commands = [[*_prefix(lab, index), *command] for _ in range(2) for index in range(hosts)]
    return run_processes(commands, inputs, limit_s)


def _mpi(task: dict[str, Any], hosts: int, limit_s: float, lab: Lab | None) -> list[Record]:
    if lab is None:
        return run_ranks(find_launcher(), hosts, task, limit_s / 3, WORKER)
    with mpirun_inside(lab) as (mpirun, options):
        extra = [*options, *on_hosts(lab, range(hosts), 1)]
        return run_ranks(mpirun, hosts, task, limit_s / 3, WORKER, extra)


def _gloo(task: dict[str, Any], hosts: int, limit_s: float, lab: Lab | None) -> list[Record]:
    interface = INTERFACE if lab else "lo"
    command = worker_command(GLOO_MODULE, {"GLOO_SOCKET_IFNAME": interface})
    about = {**task, "ranks": hosts, "address": _address(lab, 0), "timeout_s": limit_s}
    commands = [[*_prefix(lab, rank), *command] for rank in range(hosts)]
    inputs = [{**about, "rank": rank} for rank in range(hosts)]
    return run_processes(commands, inputs, limit_s)


def _prefix(lab: Lab | None, host: int) -> list[str]:
    return lab.prefix(host) if lab else []


def _address(lab: Lab | None, host: int) -> str:
    return lab.address(host) if lab else "127.0.0.1"
