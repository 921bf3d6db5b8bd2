"""Runs a parameter server over MPI point-to-point, within a time budget."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dse.calibration.experiment import Experiment, Measurement
from dse.calibration.runners.mpi_library import find_launcher, run_ranks
from dse.calibration.runners.parameter_servers import PsPlan, measure_servers, samples_of_starts
from dse.calibration.runners.request import Request

WORKER = Path(__file__).with_name("mpi_ps_worker.py")


def run(request: Request) -> Experiment:
    """The runner 'mpi-ps': parameter servers on this machine, or with a host for every process."""
    return measure_servers(request, measure_ps)


def measure_ps(plan: PsPlan, request: Request) -> list[Measurement]:
    """The samples of a plan: every start is one mpirun of M + P ranks, the workers first.

    Raises MeasurementError; no process survives an exception, SIGINT or SIGTERM.
    """
    launcher, hosts = find_launcher(request.mpi), request.hosts
    extra = hosts.options(launcher.library) if hosts else []

    def start(task: dict[str, Any], share_s: float) -> list[dict[str, Any]]:
        ranks = task["workers"] + task["servers"]
        return run_ranks(launcher, ranks, task, share_s, WORKER, extra)

    there = len(hosts.hosts) if hosts else 1
    return samples_of_starts(plan, request, start, "mpi", "shared-memory", there)
