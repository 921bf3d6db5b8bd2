"""The front of a study by plain loops: each point priced alone, compared with all others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dse.model.arrays import comparable
from dse.pricing import constraints
from dse.pricing.evaluation import Evaluation
from dse.pricing.problem import Problem
from dse.search.run import Outcome
from dse.study import IGNORED, Value

QUANTITIES = ("step", "comm", "exposed", "compute", "capital", "hourly", "tco", "power",
              "memory_slack", "speedup", "goodput")  # fmt: skip
Values = Mapping[str, Value | None]


@dataclass(frozen=True)
class Front:
    """A front as tests compare it: objectives -> (how many points have them, the first of these);
    how many points are feasible; which demand rejects how many."""

    points: dict[tuple[float, ...], tuple[int, Values]]
    feasible: int
    rejected: Mapping[str, int]


def number(evaluation: Evaluation, name: str) -> float:
    """A quantity of the only point of an evaluation."""
    (value,) = np.ravel(evaluation[name])
    return float(value)


def front_of(problem: Problem, points: Iterable[Values]) -> Front:
    """The front of these points. Of equals all count and the first stands for them, as documented:
    docs/study.md, Objectives."""
    names = [objective.name for objective in problem.study.objectives]
    rejected: Counter[str] = Counter()
    equals: dict[tuple[float, ...], list[Values]] = {}
    for point in points:
        evaluation = problem.point(point)
        missed = [n for n, mask in constraints.demands(evaluation, problem.study) if not mask.all()]
        rejected.update(missed)
        if not missed:
            found = compared(evaluation, names, problem.study.memory != IGNORED)
            equals.setdefault(found, []).append(point)
    front = {
        mine: (len(members), members[0])
        for mine, members in equals.items()
        if not any(other != mine and at_least(other, mine) for other in equals)
    }
    return Front(front, sum(map(len, equals.values())), dict(rejected))


def at_least(one: Sequence[float], other: Sequence[float]) -> bool:
    """Whether a point is at least as good in all objectives, the first of which is maximized."""
    costs = zip(one[1:], other[1:], strict=True)
    return one[0] >= other[0] and all(mine <= its for mine, its in costs)


def compared(evaluation: Evaluation, names: Sequence[str], fits: bool) -> tuple[float, ...]:
    """The objectives, the first times the chance that the point fits where that is below 95 %."""
    gain, *costs = (number(evaluation, name) for name in names)
    chance = 1 - (number(evaluation, "out_of_memory") if fits else 0.0)
    gain *= chance if chance < 0.95 else 1.0
    return tuple(comparable(np.array([gain, *costs])).tolist())


def found_by(outcome: Outcome) -> Front:
    """What a search found, in the same form."""
    count = len(outcome.problem.study.objectives)
    return Front(
        {
            (point.gain, point.cost, point.other)[:count]: (point.ties + 1, point.values)
            for point in outcome.front
        },
        outcome.tally.feasible,
        {reason: count for reason, count in outcome.tally.rejected.items() if count},
    )


def alone(problem: Problem, points: Iterable[Values]) -> list[tuple[float, ...]]:
    """Prices of points, each by itself."""
    return [
        tuple(number(evaluation, name) for name in QUANTITIES)
        for evaluation in map(problem.point, points)
    ]


def together(problem: Problem, points: Sequence[Values]) -> list[tuple[float, ...]]:
    """Prices of points that are handed over at once, in their order."""
    result: list[tuple[float, ...]] = [()] * len(points)
    for where, found in problem.rows(points):
        columns = [np.broadcast_to(found[name], (len(where),)) for name in QUANTITIES]
        for at, *row in zip(where, *columns, strict=True):
            result[int(at)] = tuple(map(float, row))
    return result
