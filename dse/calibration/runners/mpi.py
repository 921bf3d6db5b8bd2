"""Runs real MPI ranks on this machine with forced allreduce algorithms, within a time budget."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, TypeAlias

from dse import __version__
from dse.calibration.experiment import (
    Experiment,
    LocalSpeed,
    Measurement,
    busy_core_seconds,
    this_machine,
    today,
)
from dse.calibration.runners.launch import find_mpirun, run_ranks
from dse.errors import MeasurementError

Progress: TypeAlias = Callable[[int, int, str], None]

# Open MPI's coll_tuned_allreduce_algorithm numbers (ompi_info --param coll tuned --level 9).
OPENMPI_ALGORITHMS = {"recursive-doubling": 3, "ring": 4, "halving-doubling": 6}
DEFAULT_RANKS = (2, 3, 4, 8)
DEFAULT_SIZES = (*(8 * 4**k for k in range(11)), 16 * 2**20)
LOCAL_SIZES = (2**12, 2**16, 2**20, 2**22, 2**24)
GAMMA_SIZES = (2**20, 2**24)  # the range of sizes whose median speed is gamma
MIN_REPETITIONS = 5
START_S = (0.8, 0.25)  # guess of a start's seconds: fixed, and per rank of two cores
STARTS_SHARE = 0.5  # of the budget that the starts of one pass over the rank counts may take
PASSES_SHARE = 0.4  # of the budget that the starts of all passes may take, if that is several
LEAST_SHARE = 0.75  # of the budget that the starts may take where no rank count can be dropped
MAX_PASSES = 5
FLOAT_BYTES = 4


@dataclass(frozen=True)
class MeasurePlan:
    """What to measure. sizes_bytes: per rank, multiples of 4. ranks: each at least 2."""

    algorithms: tuple[str, ...] = tuple(OPENMPI_ALGORITHMS)
    ranks: tuple[int, ...] = DEFAULT_RANKS
    sizes_bytes: tuple[int, ...] = DEFAULT_SIZES

    def __post_init__(self) -> None:
        unknown = set(self.algorithms) - set(OPENMPI_ALGORITHMS)
        if unknown or not self.algorithms:
            known = ", ".join(OPENMPI_ALGORITHMS)
            raise MeasurementError(f"cannot measure {sorted(unknown)}; choose from {known}")
        if not self.ranks or min(self.ranks) < 2:
            raise MeasurementError("every rank count must be at least 2, for example 2,3,4,8")
        if not self.sizes_bytes or any(s < 4 or s % FLOAT_BYTES for s in self.sizes_bytes):
            raise MeasurementError("every size must be a positive multiple of 4 bytes")

    def cells(self, ranks: int) -> list[tuple[str, int, int]]:
        """(algorithm, its number, bytes), smallest first, where the library really runs it.

        With fewer elements than ranks there is nothing to share out, and Open MPI falls back to
        another algorithm for all but recursive doubling.
        """
        return [
            (algorithm, OPENMPI_ALGORITHMS[algorithm], size)
            for size in sorted(set(self.sizes_bytes))
            for algorithm in self.algorithms
            if algorithm == "recursive-doubling" or size >= FLOAT_BYTES * ranks
        ]


def measure(
    plan: MeasurePlan,
    budget_s: float,
    name: str = "this-machine",
    progress: Progress | None = None,
    mpirun: str | None = None,
) -> Experiment:
    """Measure ``plan`` within ``budget_s`` seconds of wall clock, starts included.

    One start measures all algorithms at one rank count; all rank counts are gone through once,
    then again as often as the budget allows, because two starts of the same thing differ more
    than its repetitions do. What is left of the budget is shared out again before each start, in
    proportion to the contention. ``progress(done, total, text)`` is called before each.
    Raises MeasurementError; no process survives an exception.
    """
    began = time.monotonic()
    launcher, machine, used_before = find_mpirun(mpirun), this_machine(), busy_core_seconds()
    cores = machine.cores
    counts, passes = affordable(plan, budget_s, cores)
    starts = [(run, ranks) for run in range(1, passes + 1) for ranks in counts]
    tell = progress or (lambda *_: None)
    slowness, library = 1.0, ("unknown", "")
    local: tuple[LocalSpeed, ...] = ()
    samples: list[Measurement] = []
    for done, (run, ranks) in enumerate(starts):
        tell(done, len(starts), f"{ranks} ranks, run {run} of {passes}")
        left = [r for _, r in starts[done:]]
        lost = slowness * sum(start_s(r, cores) for r in left)
        spare = max(0.0, began + budget_s - time.monotonic() - lost)
        share = spare * _weight(ranks, cores) / sum(_weight(r, cores) for r in left)
        start_began = time.monotonic()
        records = run_ranks(launcher, ranks, _task(plan, ranks, share, first=done == 0), share)
        inside = next((float(r["seconds"]) for r in records if r["kind"] == "end"), share)
        spent = (time.monotonic() - start_began - inside) / start_s(ranks, cores)
        slowness = min(max(0.5 * slowness + 0.5 * spent, 0.5), 10.0)
        if done == 0:
            library = _library(records)
            local = tuple(
                LocalSpeed(**_known(LocalSpeed, record))
                for record in records
                if record["kind"] in ("reduce", "copy", "ping-pong")
            )
        samples += _samples(records, run, ranks, library)
    tell(len(starts), len(starts), "done")
    if not samples:
        raise MeasurementError("the ranks reported no measurement; give a larger --budget")
    return Experiment(
        name=name,
        date=today(),
        dse_version=__version__,
        machine=machine,
        budget_s=budget_s,
        wall_s=round(time.monotonic() - began, 2),
        background_cores=_background(used_before, time.monotonic() - began),
        gamma_s_per_byte=_speed(local, "reduce"),
        copy_s_per_byte=_speed(local, "copy"),
        local=local,
        samples=tuple(samples),
    )


def start_s(ranks: int, cores: int) -> float:
    """A guess of the seconds from mpirun to the first barrier; measured starts correct it."""
    return START_S[0] + START_S[1] * max(2.0, ranks * 2.0 / cores)


def affordable(plan: MeasurePlan, budget_s: float, cores: int) -> tuple[tuple[int, ...], int]:
    """The rank counts to measure and how often.

    What does not fit STARTS_SHARE loses rank counts, the largest first; three always stay, one of
    them no power of two if the plan has one. MeasurementError if those do not fit LEAST_SHARE.
    """
    counts = sorted(set(plan.ranks))

    def starts() -> float:
        return sum(start_s(ranks, cores) for ranks in counts)

    while len(counts) > 3 and starts() > STARTS_SHARE * budget_s:
        odd = [ranks for ranks in counts if ranks & (ranks - 1)]
        counts.remove(max(ranks for ranks in counts if odd != [ranks]))
    if starts() > LEAST_SHARE * budget_s:
        needed = starts() / LEAST_SHARE
        problem = f"{budget_s:g} s do not hold the starts of {len(counts)} rank counts"
        raise MeasurementError(f"{problem}; give --budget {math.ceil(needed)} or more")
    passes = int(PASSES_SHARE * budget_s / starts())
    return tuple(counts), min(max(passes, 1), MAX_PASSES)


def _task(plan: MeasurePlan, ranks: int, share_s: float, first: bool) -> dict[str, Any]:
    return {
        "cells": plan.cells(ranks),
        "seconds": share_s,
        "min_repetitions": MIN_REPETITIONS,
        "local_sizes": LOCAL_SIZES,
        "local_seconds": 0.25 * share_s if first else 0.0,
    }


def _samples(
    records: Sequence[dict[str, Any]], run: int, ranks: int, library: tuple[str, str]
) -> list[Measurement]:
    about = {
        "transport": "mpi",
        "library": library[0],
        "version": library[1],
        "run": run,
        "ranks": ranks,
        "ranks_per_node": ranks,
        "nodes": 1,
        "link": "shared-memory",
    }
    mine = [record for record in records if record["kind"] == "allreduce"]
    return [Measurement(**_known(Measurement, {**record, **about})) for record in mine]


def _background(before: tuple[float, float], wall_s: float) -> float:
    """Cores that processes other than the ranks kept busy, on average over ``wall_s``."""
    everyone, ours = (now - then for now, then in zip(busy_core_seconds(), before, strict=True))
    return round(max(0.0, everyone - ours) / wall_s, 2)


def _library(records: Sequence[dict[str, Any]]) -> tuple[str, str]:
    """'Open MPI v5.0.11' -> ('openmpi', '5.0.11')."""
    text = next((str(r["library"]) for r in records if r["kind"] == "start"), "unknown")
    name, _, version = text.rpartition(" ")
    return (name or text).lower().replace(" ", ""), version.removeprefix("v")


def _known(kind: type[Any], record: dict[str, Any]) -> dict[str, Any]:
    return {key: record[key] for key in kind.__dataclass_fields__ if key in record}


def _speed(local: Sequence[LocalSpeed], kind: str) -> float:
    low, high = GAMMA_SIZES
    rows = [r.median_s / r.bytes for r in local if r.kind == kind and low <= r.bytes <= high]
    return median(rows) if rows else 0.0


def _weight(ranks: int, cores: int) -> float:
    return max(1.0, ranks / cores)
