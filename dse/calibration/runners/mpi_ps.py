"""Runs a parameter server over MPI point-to-point, within a time budget."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dse.calibration.experiment import Experiment, Measurement, usable_cores
from dse.calibration.runners.budget import Progress, server_budget
from dse.calibration.runners.hosts import Hosts
from dse.calibration.runners.mpi_library import find_launcher, library_of
from dse.calibration.runners.mpirun import run_ranks
from dse.calibration.runners.parameter_servers import measure_servers
from dse.calibration.runners.plan import MIN_REPETITIONS
from dse.calibration.runners.ps_plan import PsPlan, ps_samples
from dse.calibration.runners.request import Request

WORKER = Path(__file__).with_name("mpi_ps_worker.py")
SHARED_MEMORY = "shared-memory"


def run(request: Request) -> Experiment:
    """The runner 'mpi-ps': parameter servers on this machine, or with a host for every process."""
    where = request.where

    def over_mpi(plan: PsPlan) -> list[Measurement]:
        link, speed = where.link or SHARED_MEMORY, where.link_bytes_per_s
        return measure_ps(
            plan, request.budget_s, link, speed, where.mpi, where.hosts, request.progress
        )

    return measure_servers(request, over_mpi)


def measure_ps(
    plan: PsPlan,
    budget_s: float,
    link: str = SHARED_MEMORY,
    link_bytes_per_s: float | None = None,
    mpirun: str | None = None,
    hosts: Hosts | None = None,
    progress: Progress | None = None,
) -> list[Measurement]:
    """Seconds to send all gradients to P servers and get their sums, of the slowest of M workers.

    One mpirun of M + P ranks, the workers first, measures all sizes with one (M, P); all are gone
    through once, then again as often as ``budget_s`` seconds of wall clock allow. hosts: filled one
    after the other; None is this machine. ``progress(done, total, text)`` is called before
    each start. Raises MeasurementError; no process survives an exception, SIGINT or SIGTERM.
    """
    launcher = find_launcher(mpirun)
    extra = hosts.options(launcher.library) if hosts else []
    samples: list[Measurement] = []
    budget = server_budget(plan.starts(), budget_s, usable_cores(), progress)
    for run, (workers, servers), share_s in budget.turns():
        cells = [plan.messages(tensors, servers) for tensors in plan.gradients()]
        task = {
            "workers": workers,
            "cells": cells,
            "seconds": share_s,
            "min_repetitions": MIN_REPETITIONS,
        }
        began = time.monotonic()
        records = run_ranks(launcher, workers + servers, task, share_s, WORKER, extra)
        budget.spent((workers, servers), time.monotonic() - began, records)
        on_a_node = min(workers, hosts.ranks_per_node if hosts else workers)
        about = {
            **_library(records),
            "transport": "mpi",
            "run": run,
            "ranks": workers,
            "ranks_per_node": on_a_node,
            "nodes": -(-workers // on_a_node),
            "link": link,
            "link_bytes_per_s": link_bytes_per_s,
        }
        samples += ps_samples(records, cells, plan.algorithm, servers, about)
    return samples


def _library(records: Sequence[dict[str, Any]]) -> dict[str, str]:
    text = next(str(record["library"]) for record in records if record["kind"] == "start")
    name, version = library_of(text)
    return {"library": name, "version": version}
