"""Runs real MPI ranks with forced allreduce algorithms, within a time budget."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

from dse.calibration.experiment import Experiment, Measurement, busy_core_seconds, this_machine
from dse.calibration.runners.hosts import check_reachable
from dse.calibration.runners.mpi_library import SETTINGS, find_launcher, run_ranks
from dse.calibration.runners.plan import (
    DEFAULT_RANKS,
    MIN_REPETITIONS,
    Budget,
    MeasurePlan,
    Placement,
    about,
    affordable_counts,
    allreduce_plan,
    counts_up_to,
    start_s,
    weight,
)
from dse.calibration.runners.records import experiment, samples_of
from dse.calibration.runners.registry import Request
from dse.calibration.runners.started_rank import Started
from dse.errors import MeasurementError

LOCAL_SHARE = 0.25  # of the first start
WAIT_S = 0.005  # between two looks of a rank that waits for others, so that it takes no core


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
        lambda run, ranks: f"{ranks} ranks, run {run} of {passes}",
        request.progress,
        began,
        lambda ranks: start_s(ranks, cores),
        lambda ranks: weight(ranks, cores),
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


def run_as_rank(request: Request, me: Started) -> Experiment | None:
    """The runner 'mpi' among ranks that a launcher started; the Experiment on rank 0 alone.

    Every rank must call this, once, with the same request. The rank counts are those asked for that
    there are ranks for, by default all up to them: each is measured among the first so many, while
    the rest wait without using a core. One start is one run, so the profile's intervals do not hold
    what differs from start to start; measure again and fit both files for that.
    Raises MeasurementError; MPI is then not shut down cleanly, so that the launcher notices.
    """
    began = time.monotonic()
    plan = allreduce_plan(request.ranks, counts_up_to(me.ranks), request.operations)
    counts = sorted({count for count in plan.ranks if count <= me.ranks})
    if not counts:
        raise MeasurementError(f"{me.by} started {me.ranks} ranks, fewer than --ranks asks for")
    MPI, worker = _mpi()
    comm = MPI.COMM_WORLD
    if comm.Get_size() != me.ranks:
        problem = f"{me.by} started {me.ranks} ranks, but mpi4py ({worker.library()}) sees"
        remedy = "use that library's mpirun or srun --mpi=pmix, or set MPI4PY_LIBMPI"
        raise MeasurementError(f"{problem} {comm.Get_size()}; {remedy}")
    nodes: list[str] = comm.allgather(MPI.Get_processor_name())
    machine = this_machine()
    budget = Budget(
        counts,
        1,
        request.budget_s,
        lambda _, ranks: f"{ranks} of {me.ranks} ranks",
        request.progress if me.rank == 0 else None,
        began,
        weight=lambda ranks: weight(ranks, machine.cores),
    )
    everything: list[dict[str, Any]] = []
    samples: list[Measurement] = []
    for _, ranks, own_share in budget.turns():
        share = comm.bcast(own_share)
        task = task_of(plan, ranks, share, stride(nodes[:ranks]), local=ranks == counts[0])
        part = comm.Split(0 if me.rank < ranks else MPI.UNDEFINED, me.rank)
        if me.rank < ranks:
            try:
                records = worker.perform(part, task, time.perf_counter())
            except worker.FAILURES as failure:
                raise MeasurementError(str(failure)) from None
            part.Free()
            everything += records
            on_each = Counter(nodes[:ranks])
            link = request.link, request.link_bytes_per_s
            where = about(max(on_each.values()), len(on_each), *link)
            samples += samples_of(records, 1, ranks, where)
        _wait(comm)
    MPI.Finalize()
    if me.rank:
        return None
    notes = (f"one start of {me.ranks} ranks by {me.by}, measured in parts of it",)
    return experiment(
        request.name, machine, request.budget_s, began, None, everything, samples, notes
    )


def stride(nodes: Sequence[str]) -> int:
    """How far apart the ranks of a pair are, so that every message leaves its node, if one can.

    nodes: the node of every rank. Ranks may fill one node after the other, or be dealt out.
    """
    return next((rank for rank, node in enumerate(nodes) if node != nodes[0]), 1)


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


def _wait(comm: Any) -> None:
    """A barrier that leaves the core to others."""
    arrived = comm.Ibarrier()
    while not arrived.Test():
        time.sleep(WAIT_S)
