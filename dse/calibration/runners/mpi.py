"""Runs real MPI ranks with forced allreduce algorithms, within a time budget."""

from __future__ import annotations

import time
from typing import Any

from dse.calibration.experiment import Experiment, Measurement, busy_core_seconds, this_machine
from dse.calibration.runners.budget import Budget, affordable_counts, rank_costs
from dse.calibration.runners.hosts import check_reachable
from dse.calibration.runners.mpi_library import find_launcher, run_ranks
from dse.calibration.runners.plan import (
    DEFAULT_RANKS,
    MIN_REPETITIONS,
    MeasurePlan,
    Placement,
    allreduce_plan,
    counts_up_to,
)
from dse.calibration.runners.records import experiment, samples_of
from dse.calibration.runners.request import Request

LOCAL_SHARE = 0.25  # of the first start


def run(request: Request) -> Experiment:
    """The runner 'mpi': allreduce on this machine or on hosts; by default at all their ranks."""
    hosts = request.hosts
    usual = counts_up_to(hosts.ranks, hosts.ranks_per_node) if hosts else DEFAULT_RANKS
    return measure(allreduce_plan(request.ranks, usual, request.operations), request)


def measure(plan: MeasurePlan, request: Request) -> Experiment:
    """Measure ``plan``, which stands in place of the ranks of the request.

    One start measures all algorithms at one rank count; all rank counts are gone through once,
    then again as often as the budget allows, because two starts of the same thing differ more
    than its repetitions do. What is left of the budget is shared out again before each start, in
    proportion to the contention.
    Raises MeasurementError; no process survives an exception, SIGINT or SIGTERM.
    """
    began, hosts = time.monotonic(), request.hosts
    launcher = find_launcher(request.mpi)
    machine, used_before = this_machine(), busy_core_seconds()
    cores = machine.cores
    counts, passes = affordable_counts(plan, request.budget_s, cores)
    each, nodes = (hosts.ranks_per_node, len(hosts.hosts)) if hosts else (max(counts), 1)
    place = Placement(each, nodes, request.link, request.link_bytes_per_s)
    used = place.nodes_of(max(counts))
    extra = hosts.options(launcher.library) if hosts else []
    if hosts is not None:
        check_reachable(hosts)
    budget = Budget(
        counts,
        passes,
        request.budget_s,
        rank_costs(cores),
        lambda run, ranks: f"{ranks} ranks, run {run} of {passes}",
        request.progress,
        began,
    )
    everything: list[dict[str, Any]] = []
    samples: list[Measurement] = []
    for run, ranks, share in budget.turns():
        start_began = time.monotonic()
        task = task_of(plan, ranks, share, place.stride(ranks), local=not everything)
        records = run_ranks(launcher, ranks, task, share, extra=extra)
        budget.spent(ranks, time.monotonic() - start_began, records)
        everything += records
        samples += samples_of(records, run, ranks, place.about(ranks))
    busy = used_before if used == 1 else None
    return experiment(request.name, machine, request.budget_s, began, busy, everything, samples)


def task_of(
    plan: MeasurePlan, ranks: int, share_s: float, stride: int, local: bool
) -> dict[str, Any]:
    """The worker's task as JSON takes it; its keys are described in mpi_worker."""
    return {
        "ranks": ranks,
        "cells": plan.cells(ranks),
        "stride": stride,
        "seconds": share_s,
        "min_repetitions": MIN_REPETITIONS,
        "local_seconds": LOCAL_SHARE * share_s if local and plan.local else 0.0,
    }
