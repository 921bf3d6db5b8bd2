"""Running a study: choose engine and executor, search, keep a log, describe the result."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from dse import __version__, catalog
from dse.errors import DseError, NoFeasiblePoint
from dse.search import exhaustive, feasibility, pareto
from dse.search.columns import Evaluation
from dse.search.executors import Executor, LocalExecutor
from dse.search.guided import Guided
from dse.search.problem import Problem
from dse.search.runlog import RunLog
from dse.search.tally import Tally, total
from dse.study import Study, Value

# What one point of a sweep costs on one core; only decides which engine `auto` picks, and the
# estimate that is printed. `make bench` measures it.
SECONDS_PER_POINT = 1e-7
SECONDS_PER_SLAB = 1e-3  # whatever its size: a combination of looped values
EXHAUSTIVE_SECONDS = 120.0


class Progress(Protocol):
    """Told how far a search is."""

    def __call__(self, done: int, whole: int) -> None:
        """``done`` of ``whole`` points are priced."""
        ...


@dataclass(frozen=True)
class FrontPoint:
    """A front point: its values by axis (None: does not apply), and the points equal to it."""

    values: Mapping[str, Value | None]
    labels: Mapping[str, str]
    gain: float
    cost: float
    ties: int
    tied: tuple[Mapping[str, str], ...]


@dataclass(frozen=True)
class Outcome:
    """A finished search. ``reason`` says why this engine ran; points are by rising cost."""

    problem: Problem
    engine: str
    reason: str
    executor: str
    tally: Tally
    front: tuple[FrontPoint, ...]
    search_s: float
    resumed_units: int


def estimate_s(problem: Problem) -> float | None:
    """Seconds an exhaustive search should take on one core; None if the space is continuous."""
    points = problem.points
    if points is None:
        return None
    return points * SECONDS_PER_POINT + len(problem.space.slabs) * SECONDS_PER_SLAB


def choose_engine(problem: Problem, wanted: str) -> tuple[str, str]:
    """(engine, why)."""
    seconds = estimate_s(problem)
    if wanted == "exhaustive" and seconds is None:
        raise DseError("engine exhaustive needs finite axes; use guided, or list the values")
    if wanted != "auto":
        return wanted, "as asked"
    if seconds is None:
        return "guided", "an axis is continuous"
    size = problem.points
    if seconds <= EXHAUSTIVE_SECONDS:
        return "exhaustive", f"{size:,} points take about {max(seconds, 0.1):.1f} s on one core"
    return "guided", f"{size:,} points would take about {seconds / 60:.0f} min on one core"


def run(
    problem: Problem,
    engine: str,
    where: Executor | None,
    log: RunLog | None,
    progress: Progress,
    budget: int,
    seed: int,
) -> Outcome:
    """Search the problem. Raises :class:`NoFeasiblePoint` if nothing meets every constraint."""
    chosen, reason = choose_engine(problem, engine)
    started = time.perf_counter()
    if chosen == "guided":
        tally, front = _guided(problem, progress, budget, seed)
        resumed, name = 0, "local"
    else:
        where = where or LocalExecutor()
        resumed = len(log.done) if log else 0
        tally = _exhaustive(problem, where, log, progress)
        front = [_indexed(problem, tally.front, at) for at in range(len(tally.front))]
        name = where.name
    elapsed = time.perf_counter() - started
    return Outcome(problem, chosen, reason, name, tally, tuple(front), elapsed, resumed)


def _exhaustive(problem: Problem, where: Executor, log: RunLog | None, progress: Progress) -> Tally:
    whole = problem.space.size
    done = log.done if log else set()
    tally = log.before if log else total([])
    progress(tally.points, whole)
    todo = (unit for unit in range(exhaustive.units(problem.space)) if unit not in done)
    for unit, found in where.run(problem, todo):
        tally = total([tally, found])
        if log:
            log.append(unit, found)
        progress(tally.points, whole)
    reasons = sorted(tally.rejected)  # in whatever order the units came
    tally = replace(tally, rejected={reason: tally.rejected[reason] for reason in reasons})
    if not tally.feasible:
        boxes = problem.space.boxes(exhaustive.BOX_POINTS)
        index = exhaustive.least_violating(problem, boxes)
        raise _nothing_feasible(
            problem, tally, problem.space.labels(index), problem.space.point(index)
        )
    return tally


def _guided(
    problem: Problem, progress: Progress, budget: int, seed: int
) -> tuple[Tally, list[FrontPoint]]:
    search = Guided(problem, budget, seed, lambda priced: progress(priced, budget))
    front = search.run()
    tally = Tally(len(search.points), search.feasible, search.rejected, front)
    if not search.feasible:
        nearest = min(range(len(search.points)), key=lambda at: search.violation[at])
        values = search.values(nearest)
        raise _nothing_feasible(problem, tally, labels_of(problem, values), values)
    found = []
    for at in range(len(front)):
        members = [search.values(search.position[int(i)]) for i in front.indices[at]]
        found.append(_described(problem, front, at, members))
    return tally, found


def _indexed(problem: Problem, front: pareto.Front, at: int) -> FrontPoint:
    members = [problem.space.point(int(index)) for index in front.indices[at]]
    return _described(problem, front, at, members)


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
        int(front.ties[at]) - 1,
        tuple(labels_of(problem, member) for member in members[1:]),
    )


def labels_of(problem: Problem, values: Mapping[str, Value | None]) -> dict[str, str]:
    """Values as text, as the study writes them; "" where an axis does not apply."""
    labels = {}
    for name, value in values.items():
        axis = problem.study.axis(name)
        if value is None:
            labels[name] = ""
        elif axis is not None:
            labels[name] = axis.label(value)
        else:
            labels[name] = _conditional_label(problem, name, value)
    return labels


def _conditional_label(problem: Problem, name: str, value: Value) -> str:
    for condition in problem.study.conditions:
        if condition.axis == name and value in condition.values:
            return condition.labels[condition.values.index(value)]
    return str(value)


def _nothing_feasible(
    problem: Problem,
    tally: Tally,
    labels: Mapping[str, str],
    values: Mapping[str, Value | None],
) -> NoFeasiblePoint:
    worst = max(tally.rejected, key=lambda reason: tally.rejected[reason])
    evaluation = problem.point(values)
    missed = [
        f"'{reason}'{_reached(evaluation, problem.study, reason)}"
        for reason, mask in feasibility.checks(evaluation, problem.study)
        if not mask.all()
    ]
    shown = ", ".join(f"{name}={label}" for name, label in labels.items() if label)
    return NoFeasiblePoint(
        f"{problem.study.path}: none of {tally.points:,} points meets every constraint; "
        f"'{worst}' rejects most ({tally.rejected[worst]:,}); nearest is {shown}, "
        f"which misses {' and '.join(missed)}"
    )


def _reached(evaluation: Evaluation, study: Study, reason: str) -> str:
    """The values that a constraint speaks of, at a point that misses it; SI units."""
    constraint = next((c for c in study.constraints if c.text == reason), None)
    if constraint is None:
        return ""
    names = sorted(constraint.expression.names) if constraint.expression else ["memory_slack"]
    return f" ({', '.join(f'{n} = {float(np.ravel(evaluation[n])[0]):.4g}' for n in names)})"


def header(problem: Problem, calibration_hash: str) -> dict[str, object]:
    """What a run log must agree on before it may be resumed."""
    return {
        "dse": __version__,
        "study": problem.study.content_hash,
        "catalogue": catalog.catalogue_hash(),
        "workload and prices": problem.inputs_hash,
        "calibration": calibration_hash,
        "unit_points": exhaustive.CHUNK_POINTS,
        "box_points": exhaustive.BOX_POINTS,
    }
