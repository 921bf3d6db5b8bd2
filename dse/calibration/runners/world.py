"""Measures as one of the MPI ranks that a launcher started: splits them, starts none itself."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

from dse.calibration.experiment import Experiment, Measurement, this_machine
from dse.calibration.runners.budget import Budget, rank_costs
from dse.calibration.runners.mpi import task_of
from dse.calibration.runners.mpi_library import SETTINGS
from dse.calibration.runners.plan import about, allreduce_plan, counts_up_to
from dse.calibration.runners.records import experiment, samples_of
from dse.calibration.runners.request import Request
from dse.calibration.runners.started_rank import Started
from dse.errors import MeasurementError

WAIT_S = 0.005  # between two looks of a rank that waits for others, so that it takes no core


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
        rank_costs(machine.cores, started=True),
        lambda _, ranks: f"{ranks} of {me.ranks} ranks",
        request.progress if me.rank == 0 else None,
        began,
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
