"""Runs a real gRPC parameter server, here or across hosts, within a time budget."""

from __future__ import annotations

import importlib.util
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dse.calibration.experiment import Experiment, Measurement, usable_cores
from dse.calibration.runners.budget import Progress, limit_s, server_budget
from dse.calibration.runners.hosts import lead_to
from dse.calibration.runners.parameter_servers import measure_servers
from dse.calibration.runners.plan import MIN_REPETITIONS
from dse.calibration.runners.processes import run_processes, worker_command
from dse.calibration.runners.ps_plan import (
    Message,
    PsPlan,
    ps_samples,
)
from dse.calibration.runners.request import Request
from dse.errors import MeasurementError

MODULE = "dse.calibration.runners.grpc_worker"
LOOPBACK = "loopback"


@dataclass(frozen=True)
class Host:
    """Where processes run.

    prefix: what starts a command there, such as ('ip', 'netns', 'exec', 'host2'); empty: here.
    address: on which servers there listen, and at which all others reach them.
    """

    prefix: tuple[str, ...] = ()
    address: str = "127.0.0.1"


HERE = Host()


def run(request: Request) -> Experiment:
    """The runner 'grpc': parameter servers on this machine, or with a host for every process."""
    where, places = request.where, [HERE]
    if where.hosts is not None:
        places = [Host(lead_to(host.name), host.name) for host in where.hosts.hosts]

    def over_grpc(plan: PsPlan) -> list[Measurement]:
        link, speed = where.link or LOOPBACK, where.link_bytes_per_s
        return measure_ps(
            plan, request.budget_s, places[::-1], places, link, speed, request.progress
        )

    return measure_servers(request, over_grpc)


def measure_ps(
    plan: PsPlan,
    budget_s: float,
    server_hosts: Sequence[Host] = (HERE,),
    worker_hosts: Sequence[Host] = (HERE,),
    link: str = LOOPBACK,
    link_bytes_per_s: float | None = None,
    progress: Progress | None = None,
) -> list[Measurement]:
    """Seconds to push all gradients to P servers and pull their sums, of the slowest of M workers.

    Process i of a role runs on host ``i mod len(hosts)``. One start of the processes measures all
    sizes with one (M, P); all are gone through once, then again as often as ``budget_s`` seconds
    of wall clock allow. ``progress(done, total, text)`` is called before each start. In a sample
    ``ranks`` are the workers and ``nodes`` the hosts that have workers. Raises MeasurementError;
    no process outlives this call or this process.
    """
    for hosts in (server_hosts, worker_hosts):
        _require(hosts)
    samples: list[Measurement] = []
    budget = server_budget(plan.starts(), budget_s, usable_cores(), progress)
    for run, (workers, servers), share_s in budget.turns():
        cells = [plan.messages(tensors, servers) for tensors in plan.gradients()]
        at = _places(server_hosts, servers), _places(worker_hosts, workers)
        began = time.monotonic()
        records = _start(at[0], at[1], cells, share_s)
        budget.spent((workers, servers), time.monotonic() - began, records)
        nodes = len(set(at[1]))
        about = {
            **_about(records, run, link, link_bytes_per_s),
            "ranks": workers,
            "ranks_per_node": -(-workers // nodes),
            "nodes": nodes,
        }
        samples += ps_samples(records, cells, plan.algorithm, servers, about)
    return samples


def _require(hosts: Sequence[Host]) -> None:
    """MeasurementError unless grpcio and the commands that lead to the hosts are there."""
    if not hosts:
        raise MeasurementError("at least one host for the servers and one for the workers")
    for host in hosts:
        if host.prefix and shutil.which(host.prefix[0]) is None:
            raise MeasurementError(f"the command {host.prefix[0]!r} was not found")
    if importlib.util.find_spec("grpc") is None:
        raise MeasurementError("grpcio is not installed; in the clone, pip install -e '.[grpc]'")


def _places(hosts: Sequence[Host], count: int) -> list[Host]:
    return [hosts[index % len(hosts)] for index in range(count)]


def _start(
    servers: Sequence[Host],
    workers: Sequence[Host],
    cells: Sequence[Sequence[Message]],
    share_s: float,
) -> list[dict[str, Any]]:
    """One start of all processes; what server 0 printed."""
    task = {
        "workers": len(workers),
        "servers": len(servers),
        "cells": cells,
        "seconds": share_s,
        "min_repetitions": MIN_REPETITIONS,
    }
    command = worker_command(MODULE, {"GRPC_VERBOSITY": "NONE"})
    inputs: list[dict[str, Any]] = [
        *(
            {**task, "role": "server", "index": i, "address": h.address}
            for i, h in enumerate(servers)
        ),
        *({**task, "role": "worker", "index": i} for i in range(len(workers))),
    ]
    commands = [[*host.prefix, *command] for host in (*servers, *workers)]
    return run_processes(commands, inputs, limit_s(share_s))


def _about(
    records: Sequence[dict[str, Any]], run: int, link: str, link_bytes_per_s: float | None
) -> dict[str, Any]:
    library = next(str(record["library"]) for record in records if record["kind"] == "start")
    return {
        "transport": "grpc",
        "library": library.split()[0],
        "version": library.split()[1],
        "run": run,
        "link": link,
        "link_bytes_per_s": link_bytes_per_s,
    }
