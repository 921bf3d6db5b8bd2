"""Runs real MPI ranks with forced allreduce algorithms, within a time budget."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

from dse.calibration.experiment import Experiment, Measurement, busy_core_seconds, this_machine
from dse.calibration.runners.hosts import check_reachable
from dse.calibration.runners.mpi_library import SETTINGS, find_launcher, run_ranks
from dse.calibration.runners.plan import (
    DEFAULT_RANKS,
    MIN_REPETITIONS,
    MeasurePlan,
    affordable,
    allreduce_plan,
    counts_up_to,
    run_texts,
    shared,
    start_s,
    started_plan,
)
from dse.calibration.runners.records import experiment, samples_of
from dse.calibration.runners.registry import Request
from dse.calibration.runners.started_rank import Started
from dse.errors import MeasurementError

LOCAL_SHARE = 0.25  # of what the first count gets of the first start


def run(request: Request) -> Experiment:
    """The runner 'mpi': allreduce on this machine or on hosts; by default at all their ranks."""
    hosts = request.hosts
    usual = counts_up_to(hosts.ranks, hosts.ranks_per_node) if hosts else DEFAULT_RANKS
    return measure(allreduce_plan(request.ranks, usual, request.operations), request)


def measure(plan: MeasurePlan, request: Request) -> Experiment:
    """Measure ``plan``, which stands in place of the ranks of the request.

    Raises MeasurementError; no process survives an exception, SIGINT or SIGTERM.
    """
    began, hosts = time.monotonic(), request.hosts
    launcher = find_launcher(request.mpi)
    machine, used_before = this_machine(), busy_core_seconds()
    begins_s = start_s(max(plan.ranks), machine.cores)
    counts, runs = affordable(plan, request.budget_s, begins_s, begins_s)
    ranks = max(counts)
    extra, used = list[str](), 1
    if hosts is not None:
        extra, used = hosts.options(launcher.library), hosts.filled_by(ranks)
        check_reachable(hosts)
    everything: list[dict[str, Any]] = []
    samples: list[Measurement] = []
    texts = run_texts(counts, runs)
    for run, share_s in shared(texts, request.budget_s, request.progress, began, begins_s):
        task = task_of(plan, counts, share_s, machine.cores, local=run == 1)
        records = run_ranks(launcher, ranks, task, share_s, extra=extra)
        everything += records
        samples += samples_of(records, run, request.link, request.link_bytes_per_s)
    busy = used_before if used == 1 else None
    return experiment(request.name, machine, request.budget_s, began, busy, everything, samples)


def task_of(
    plan: MeasurePlan, counts: Sequence[int], share_s: float, cores: int, local: bool
) -> dict[str, Any]:
    """The worker's task as JSON takes it; its keys are described in mpi_worker."""
    return {
        "ranks": max(counts),
        "groups": [{"ranks": count, "cells": plan.cells(count)} for count in counts],
        "cores": cores,
        "seconds": share_s,
        "min_repetitions": MIN_REPETITIONS,
        "local_seconds": LOCAL_SHARE * share_s / len(counts) if local and plan.local else 0.0,
    }


def run_as_rank(request: Request, me: Started) -> Experiment | None:
    """The runner 'mpi' among ranks that a launcher started; the Experiment on rank 0 alone.

    Every rank must call this, once, with the same request. The rank counts are those asked for that
    there are ranks for, by default all up to them. One start is one run, so the profile's intervals
    do not hold what differs from start to start; measure again and fit both files for that.
    Raises MeasurementError; MPI is then not shut down cleanly, so that the launcher notices.
    """
    began = time.monotonic()
    plan = started_plan(request.ranks, me, request.operations, whole=False)
    counts = plan.ranks
    MPI, worker = _mpi()
    machine, budget_s = this_machine(), request.budget_s
    told = request.progress if me.rank == 0 else None
    records: list[dict[str, Any]] = []
    for _, share_s in shared(run_texts(counts, 1), budget_s, told, began):
        task = task_of(plan, counts, share_s, machine.cores, local=True) | {"ranks": me.ranks}
        try:
            records = worker.perform(MPI.COMM_WORLD, task, time.perf_counter())
        except worker.FAILURES as failure:
            raise MeasurementError(str(failure)) from None
    MPI.Finalize()
    if me.rank:
        return None
    notes = (f"one start of {me.ranks} ranks by {me.by}, measured in parts of it",)
    samples = samples_of(records, 1, request.link, request.link_bytes_per_s)
    return experiment(request.name, machine, budget_s, began, None, records, samples, notes)


def _mpi() -> tuple[Any, Any]:
    """Starts MPI in this process; its module, and the worker's."""
    for settings in SETTINGS.values():
        for variable, value in settings.items():
            os.environ[variable] = value
    try:
        import mpi4py
    except ImportError:
        remedy = "run: pip install mpi4py"
        raise MeasurementError(f"mpi4py is not installed; {remedy}") from None
    # A rank that fails must not wait for the others to finish: it ends, and the launcher them.
    mpi4py.rc.finalize = False
    try:
        from mpi4py import MPI

        from dse.calibration.runners import mpi_worker
    except (ImportError, RuntimeError) as cause:
        raise MeasurementError(f"mpi4py finds no MPI library: {cause}") from None
    return MPI, mpi_worker
