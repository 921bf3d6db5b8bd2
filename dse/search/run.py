"""Running a study: search it, keep a log, describe the result."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from dse.errors import NoFeasiblePoint
from dse.model.arrays import Array
from dse.model.money import HOURS_PER_YEAR
from dse.pricing import market
from dse.pricing.gradient_format import summed_format
from dse.pricing.problem import Problem
from dse.search import exhaustive, pareto
from dse.search.engine_choice import choose_engine
from dse.search.executors import Executor, LocalExecutor
from dse.search.guided import Archive, Block, Guided
from dse.search.guided.archive import block_from, block_record
from dse.search.infeasibility import nothing_feasible
from dse.search.runlog import RunLog
from dse.search.tally import Tally, total
from dse.study import Value
from dse.study.axes import GRADIENT
from dse.study.definition import written
from dse.study.quantities import QUANTITIES, SECONDS_PER_HOUR

Progress: TypeAlias = Callable[[int, int], None]  # told how many points are done, and of how many


@dataclass(frozen=True)
class FrontPoint:
    """A front point: its values by axis (None: does not apply), and the points equal to it.

    gain, cost, other: the objectives as in :class:`.pareto.Front`.
    """

    values: Mapping[str, Value | None]
    labels: Mapping[str, str]
    gain: float
    cost: float
    other: float
    ties: int
    tied: tuple[Mapping[str, str], ...]


@dataclass(frozen=True)
class Outcome:
    """A finished search. ``reason`` says why this engine ran; points are by rising cost.

    units: of work, in a guided search blocks of points; of them ``resumed_units`` were taken from
    the log of an earlier run. repeated_units: how often one was done again, because its worker or
    node was lost. archive: every point that a guided search priced; budget: how many it
    might have.
    """

    problem: Problem
    engine: str
    reason: str
    executor: str
    tally: Tally
    front: tuple[FrontPoint, ...]
    search_s: float
    units: int
    resumed_units: int
    repeated_units: int
    archive: Archive | None = None
    budget: int | None = None


def run(
    problem: Problem,
    engine: str,
    where: Executor | None,
    log: RunLog | None,
    progress: Progress,
    budget: int,
    seed: int,
    reason: str = "",
) -> Outcome:
    """Search the problem. Raises :class:`NoFeasiblePoint` if nothing meets every constraint.

    reason: why this engine was chosen, where that is known; else it is chosen here.
    """
    engine_used = engine
    if not reason:
        engine_used, reason = choose_engine(problem, engine)
    started = time.perf_counter()
    archive = None
    if engine_used == "guided":
        guided = _guided_search(problem, log, progress, budget, seed)
        tally, front = _guided(problem, guided)
        resumed, repeated, name = len(guided.before), 0, "local"
        units = resumed + guided.blocks
        archive = guided.archive
    else:
        where = where or LocalExecutor()
        resumed = len(log.done) if log else 0
        units = exhaustive.units(problem.space)
        tally, repeated = _exhaustive(problem, where, log, progress)
        front = [
            _described(problem, tally.front, at, [problem.space.point(int(one)) for one in members])
            for at, members in enumerate(tally.front.indices)
        ]
        name = where.name
    front = ending_in_time(problem, front)
    elapsed = time.perf_counter() - started
    return Outcome(
        problem,
        engine_used,
        reason,
        name,
        tally,
        tuple(front),
        elapsed,
        units,
        resumed,
        repeated,
        archive,
        budget if engine_used == "guided" else None,
    )


def outlasted(problem: Problem, points: Sequence[Mapping[str, Value | None]]) -> Array:
    """Seconds by which the run of each point is longer than the years of ownership, (points,).

    Below 0 where it ends within them, and where the study has no target or rents its machines.
    """
    if not points or problem.study.target is None or market.rents(problem.study):
        return np.full(len(points), -math.inf)
    years = float(problem.prices.amortisation_years.value or math.inf)
    lasts = problem.numbers(points, ["time_to_target"])["time_to_target"]
    return np.nan_to_num(lasts - years * HOURS_PER_YEAR * SECONDS_PER_HOUR, nan=-math.inf)


def ending_in_time(problem: Problem, front: Sequence[FrontPoint]) -> list[FrontPoint]:
    """The points of a front whose run to the target ends within the years of ownership.

    Where speedup is maximized, time falls as it rises, so that no point beyond the front could take
    the place of one that is dropped. Raises :class:`NoFeasiblePoint` where every run is longer.
    """
    beyond_s = outlasted(problem, [point.values for point in front])
    kept = [point for point, beyond in zip(front, beyond_s, strict=True) if beyond <= 0]
    if not kept:
        years = float(problem.prices.amortisation_years.value or math.inf)
        shortest = float(beyond_s.min()) + years * HOURS_PER_YEAR * SECONDS_PER_HOUR
        raise NoFeasiblePoint(
            f"{problem.study.path}: no run of the front ends within the {years:g} years of "
            f"ownership: the shortest takes {QUANTITIES['time_to_target'].text(shortest)}; allow "
            "more accelerators, or a smaller target"
        )
    return kept


def _exhaustive(
    problem: Problem, where: Executor, log: RunLog | None, progress: Progress
) -> tuple[Tally, int]:
    """The tally of the whole space, and how many units had to be done again."""
    whole = problem.space.size
    done = log.done if log else set()
    tally = log.before if log else total([])
    repeated = log.repeated if log else 0
    progress(tally.points, whole)
    todo = (unit for unit in exhaustive.scattered(problem.space) if unit not in done)
    for unit, found, attempts in where.run(problem, todo, tally.front):
        tally = total([tally, found])
        repeated += attempts - 1
        if log:
            log.append(unit, found, attempts)
        progress(tally.points, whole)
    reasons = sorted(tally.rejected)  # in whatever order the units came
    tally = replace(tally, rejected={reason: tally.rejected[reason] for reason in reasons})
    if not tally.feasible:
        raise none_of_all(problem, tally.points, tally.rejected)
    return tally, repeated


def none_of_all(problem: Problem, points: int, rejected: Mapping[str, int]) -> NoFeasiblePoint:
    """Why no point of the whole space is feasible, and what comes nearest; every point is priced
    for that. rejected: demand -> points that fail it."""
    boxes = [*problem.space.boxes(exhaustive.BOX_POINTS)]
    values = problem.space.point(exhaustive.least_violating(problem, boxes))
    every = (found for box in boxes for _, found in exhaustive.judged(problem, box))
    labels = labels_of(problem, values)
    return nothing_feasible(problem, points, rejected, labels, values, every)


def _guided_search(
    problem: Problem,
    log: RunLog | None,
    progress: Progress,
    budget: int,
    seed: int,
) -> Guided:
    """The search, with what the log knows already, and every block logged as it is priced."""
    before = [block_from(block) for block in log.blocks] if log else []
    first = max(log.done, default=-1) + 1 if log else 0
    goal = budget if problem.points is None else min(budget, problem.points)
    search = Guided(problem, budget, seed, lambda known: progress(known, goal), before=before)

    def told(block: Block) -> None:
        if log:
            unit, count = first + search.blocks, len(block.violation)
            feasible = int(np.count_nonzero(block.violation == 0))
            # Its front is found again from its points.
            tally = Tally(count, feasible, block.rejected, pareto.empty_front(), count)
            log.append(unit, tally, block=block_record(block))

    search.told = told
    return search


def _guided(problem: Problem, search: Guided) -> tuple[Tally, list[FrontPoint]]:
    front = search.run()
    archive = search.archive
    tally = Tally(len(archive), archive.feasible, archive.rejected, front, len(archive))
    if not archive.feasible:
        values = archive.values(archive.best()[0])
        priced = problem.rows([archive.space.values(point) for point in archive.points])
        every = (found for _, found in priced)
        labels = labels_of(problem, values)
        raise nothing_feasible(problem, tally.points, tally.rejected, labels, values, every)
    found = []
    for at in range(len(front)):
        positions = [archive.position[int(index)] for index in front.indices[at]]
        members = [archive.values(position) for position in positions]
        found.append(_described(problem, front, at, members))
    return tally, found


def _described(
    problem: Problem,
    front: pareto.Front,
    at: int,
    members: Sequence[Mapping[str, Value | None]],
) -> FrontPoint:
    return FrontPoint(
        members[0],
        labels_of(problem, members[0]),
        float(front.gain[at]),
        float(front.cost[at]),
        float(front.other[at]),
        int(front.ties[at]) - 1,
        tuple(labels_of(problem, member) for member in members[1:]),
    )


def labels_of(problem: Problem, values: Mapping[str, Value | None]) -> dict[str, str]:
    """Values as text, as the study writes them; "" where an axis does not apply.

    What follows from the others (gradient: auto) is what it comes to.
    """
    labels = {}
    for name, value in values.items():
        axis = problem.study.axis(name)
        if value is None:
            labels[name] = ""
        elif name == GRADIENT:
            labels[name] = summed_format(values)
        elif axis is not None:
            labels[name] = axis.label(value)
        else:
            of_condition = (dict(zip(one.values, one.labels, strict=True))
                            for one in problem.study.conditions if one.axis == name)  # fmt: skip
            known = next((found[value] for found in of_condition if value in found), None)
            labels[name] = written(name, value) if known is None else known
    return labels
