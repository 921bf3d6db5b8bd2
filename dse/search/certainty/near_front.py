"""Points near the front: what may turn out best once prices and speeds are known.

These are the front, the runners-up that it beats by little, and of every accelerator or node type
the points that are best there by the rule, which the front may hide though a price could bring them
up. With each stands its hardware with every aggregation at its best, since what is bought may turn
out to run best with another. More than MOST are thinned out. Last come those that miss a limit by
little, in the best estimate: in many draws they meet it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dse.model.arrays import Array
from dse.pricing import constraints
from dse.pricing.problem import Problem
from dse.search import exhaustive, pareto
from dse.search.certainty.each_aggregation import best_of_each, fuses
from dse.search.certainty.usefulness import by_worth
from dse.search.run import FrontPoint, Outcome, outlasted
from dse.search.runners_up import Collector, NearestPoints, nearest_points
from dse.study import Study, Value

MOST = 400  # points, the front's included
WITHOUT_OTHERS = 200  # of them, before other aggregations of their hardware join
SHARE = 0.1  # within which a runner-up is of its front point
EACH = 3  # runners-up of a front point, and points of an accelerator or node type
# Beyond the front, of points whose framework fuses tensors by itself: each draw of them is followed
# tensor by tensor, which takes a hundred times as long as other points.
MOST_FUSED = 10
# Larger spaces are not searched again for runners-up: it would take as long as the search itself.
SEARCHED_AGAIN = 20_000_000
# By which factor, as its logarithm, limits on what is uncertain are loosened to find what misses
# them by little; and how many such points count, of each accelerator or node type and in all.
LOOSENED = 0.5
EACH_MISSES, MOST_MISSES = 10, 60

Values = Mapping[str, Value | None]


@dataclass(frozen=True)
class NearFront:
    """Points near a front, each once: the front's own first, by rising cost.

    front: positions on the front of the first of them. whole: whether others than those of the
    front were looked for. feasible: how many of them, the first, meet every limit in the best
    estimate.
    """

    points: tuple[Values, ...]
    front: tuple[int, ...]
    whole: bool
    feasible: int

    def row(self, position: int) -> int | None:
        """The position on the front of one of the points; None where it is only near it."""
        return self.front[position] if position < len(self.front) else None


def near_front(outcome: Outcome, rule: str, named: Sequence[int]) -> NearFront:
    """The points near an outcome's front. rule: of the recommendation. named: positions of front
    points that must be among them."""
    kept = _thinned(outcome.front, rule, named)
    near = _Near(outcome.problem, [outcome.front[at].values for at in kept])
    whole = outcome.archive is not None or outcome.problem.space.size <= SEARCHED_AGAIN
    rivals, runners_up = [
        list(found) if whole else [] for found in (_rivals(outcome, rule), _runners_up(outcome))
    ]
    order = [outcome.front[at].values for at in _promising(outcome.front, rule, named)]
    others = best_of_each(outcome.problem, rule, [*order, *rivals, *runners_up])
    near.extend(rivals, WITHOUT_OTHERS)
    near.extend(filter(fuses, others), WITHOUT_OTHERS)
    near.extend(runners_up, WITHOUT_OTHERS)
    near.extend(others, MOST)
    feasible = len(near.points)
    near.extend(_near_misses(outcome) if whole else [], feasible + MOST_MISSES)
    return NearFront(tuple(near.points), tuple(kept), whole, feasible)


class _Near:
    """Points, each once."""

    def __init__(self, problem: Problem, front: Sequence[Values]) -> None:
        self._problem = problem
        self.points = list(front)
        self._known = {point_key(values) for values in front}
        self._fused = 0

    def extend(self, points: Iterable[Values], most: int) -> None:
        """Points that are not there yet and whose run ends while they are owned, up to so many in
        all."""
        given = list(points)
        beyond_s = outlasted(self._problem, given)
        for values in (one for one, beyond in zip(given, beyond_s, strict=True) if beyond <= 0):
            fused = fuses(values) and self._fused == MOST_FUSED
            if len(self.points) < most and not fused and point_key(values) not in self._known:
                self._fused += fuses(values)
                self._known.add(point_key(values))
                self.points.append(values)


def point_key(values: Values) -> str:
    """A text that is the same for equal points, in whatever order their axes are."""
    return repr(sorted(values.items(), key=lambda item: item[0]))


def _thinned(front: Sequence[FrontPoint], rule: str, named: Sequence[int]) -> list[int]:
    """Positions of WITHOUT_OTHERS front points at most: those named, and the best by the rule."""
    if len(front) <= WITHOUT_OTHERS:
        return list(range(len(front)))
    return sorted(_promising(front, rule, named)[:WITHOUT_OTHERS])


def _promising(front: Sequence[FrontPoint], rule: str, named: Sequence[int]) -> list[int]:
    """Positions of front points: those named, then the others by falling worth."""
    order = by_worth(rule, [
        np.array([getattr(point, name) for point in front]) for name in ("gain", "cost", "other")
    ])  # fmt: skip
    return list(dict.fromkeys([*named, *order.tolist()]))


def _runners_up(outcome: Outcome) -> Iterator[Values]:
    """The nearest to the front first."""
    problem, front, archive = outcome.problem, outcome.tally.front, outcome.archive
    if archive is None:
        boxes = problem.space.boxes(exhaustive.BOX_POINTS)
        found = nearest_points(problem, boxes, front, SHARE, EACH)
        at = [problem.space.point(int(index)) for index in found.index]
    else:
        found = _of_archive(outcome)
        at = [archive.values(int(index)) for index in found.index]
    for position in np.argsort(found.distance, kind="stable"):
        yield at[position]


def _of_archive(outcome: Outcome) -> NearestPoints:
    """Of the points that a guided search priced; index: their position among these."""
    archive, objectives = outcome.archive, len(outcome.problem.study.objectives)
    assert archive is not None
    nearest = Collector(outcome.tally.front, SHARE, EACH, objectives)
    values = list(archive.numbers[:, :objectives].T)
    feasible = np.flatnonzero(archive.numbers[:, -1] <= 0)
    values = [column[feasible] for column in values]
    wanted = np.flatnonzero(nearest.wanted(values))
    nearest.add([column[wanted] for column in values], feasible[wanted])
    return nearest.found


def _rivals(outcome: Outcome, rule: str) -> Iterator[Values]:
    """Of every accelerator or node type the best points by the rule."""
    problem = outcome.problem
    if outcome.archive is not None or problem.points is None:
        return
    parts = list(_by_machine(problem, problem.study))
    for part in parts if len(parts) > 1 else ():
        front = exhaustive.search(part, part.space.boxes(exhaustive.BOX_POINTS)).front
        if len(front):
            for at in by_worth(rule, [front.gain, front.cost, front.other])[:EACH]:
                yield part.space.point(int(front.indices[at][0]))


def _by_machine(problem: Problem, study: Study) -> Iterator[Problem]:
    """The problem of every accelerator or node type alone. study: the problem's, with its limits or
    others."""
    given = study.axis("node") or study.axis("accelerator")
    whole = replace(problem, study=study)
    if given is None:
        yield whole
        return
    for value in given.values:
        yield whole.narrowed({given.name: [value]})


def _near_misses(outcome: Outcome) -> Iterator[Values]:
    """What would be on the front if limits on what is uncertain were a little looser, and misses
    them; the nearest to the limits first."""
    problem = outcome.problem
    study = problem.study
    if not any(constraint.uncertain for constraint in study.constraints):
        return
    loose = replace(study, constraints=tuple(
        replace(one, expression=one.expression.loosened(LOOSENED))
        if one.expression and one.uncertain else one
        for one in study.constraints
    ))  # fmt: skip
    if outcome.archive is not None:
        every = _missed_of_archive(outcome, loose)
    else:
        found = [_missed(problem, part) for part in _by_machine(problem, loose)]
        every = [one for several in found for one in several[:EACH_MISSES]]
    yield from (values for _, values in sorted(every, key=lambda one: one[0]))


def _missed(problem: Problem, loose: Problem) -> list[tuple[float, Values]]:
    """How far points of a front with looser limits miss those of the problem, the least first."""
    front = exhaustive.search(loose, loose.space.boxes(exhaustive.BOX_POINTS)).front
    points = [loose.space.point(int(indices[0])) for indices in front.indices]
    past = _violation(problem, points, problem.study)
    return [(float(past[at]), points[at]) for at in np.argsort(past, kind="stable") if past[at] > 0]


def _violation(problem: Problem, points: Sequence[Values], study: Study) -> Array:
    """How far points are from meeting the limits of a study, (points,); 0 where they do."""
    past = np.zeros(len(points))
    for where, evaluation in problem.rows(points) if points else ():
        past[where] = constraints.violation(evaluation, study)
    return past


def _missed_of_archive(outcome: Outcome, loose: Study) -> list[tuple[float, Values]]:
    """The same of the points that a guided search priced. loose: with looser limits."""
    archive, objectives = outcome.archive, len(outcome.problem.study.objectives)
    assert archive is not None
    past = archive.numbers[:, -1]
    missing = np.flatnonzero((past > 0) & (past <= math.expm1(LOOSENED)))
    points = [archive.values(int(at)) for at in missing]
    missing = missing[_violation(outcome.problem, points, loose) == 0]
    able = np.append(np.flatnonzero(past <= 0), missing)
    front = able[pareto.nondominated(*(archive.numbers[able, at] for at in range(objectives)))]
    near = sorted((at for at in front.tolist() if past[at] > 0), key=lambda at: float(past[at]))
    return [(float(past[at]), archive.values(at)) for at in near]
