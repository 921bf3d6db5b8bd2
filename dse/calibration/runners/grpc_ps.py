"""Runs a real gRPC parameter server, here or across hosts, within a time budget."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import Any

from dse.calibration.experiment import Experiment, Measurement
from dse.calibration.runners.budget import limit_s
from dse.calibration.runners.hosts import lead_to
from dse.calibration.runners.parameter_servers import PsPlan, measure_servers, samples_of_starts
from dse.calibration.runners.processes import HERE, Host, run_processes, worker_command
from dse.calibration.runners.request import Request
from dse.errors import MeasurementError

MODULE = "dse.calibration.runners.grpc_worker"


def run(request: Request) -> Experiment:
    """The runner 'grpc': parameter servers on this machine, or with a host for every process."""
    places = [HERE]
    if request.hosts is not None:
        places = [Host(lead_to(host.name), host.name) for host in request.hosts.hosts]
    return measure_servers(
        request, lambda plan, asked: measure_ps(plan, asked, places[::-1], places)
    )


def measure_ps(
    plan: PsPlan,
    request: Request,
    server_hosts: Sequence[Host] = (HERE,),
    worker_hosts: Sequence[Host] = (HERE,),
) -> list[Measurement]:
    """The samples of a plan; process i of a role runs on host ``i mod len(hosts)``.

    Raises MeasurementError; no process outlives this call or this process.
    """
    if importlib.util.find_spec("grpc") is None:
        raise MeasurementError("grpcio is not installed; in the clone, pip install -e '.[grpc]'")
    command = worker_command(MODULE, {"GRPC_VERBOSITY": "NONE"})

    def start(task: dict[str, Any], share_s: float) -> list[dict[str, Any]]:
        commands, inputs = [], []
        for role, hosts in (("server", server_hosts), ("worker", worker_hosts)):
            for index in range(task[f"{role}s"]):
                host = hosts[index % len(hosts)]
                commands.append([*host.prefix, *command])
                inputs.append({**task, "role": role, "index": index, "address": host.address})
        return run_processes(commands, inputs, limit_s(share_s))

    return samples_of_starts(plan, request, start, "grpc", "loopback", len(worker_hosts))
