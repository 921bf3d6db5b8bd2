"""Whether a study's budget keeps faster points out of the front."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from dse.pricing import constraints
from dse.pricing.problem import Problem
from dse.search import bounds, exhaustive, screening
from dse.search.cells import PRICED_POINTS, Cells, whole
from dse.search.pareto import Values
from dse.search.run import Outcome
from dse.study import Constraint, Study
from dse.study.expressions import Name, Number
from dse.study.quantities import PURCHASE, QUANTITIES, RENT

RESOLUTION = 0.01  # a point that is faster by no more is as fast
_BELOW = ("<=", "<")


def budgets(study: Study) -> tuple[Constraint, ...]:
    """The constraints that say how much money may be spent: ``capital <= 2 MUSD``."""
    return tuple(constraint for constraint in study.constraints if _is_budget(constraint))


def _is_budget(constraint: Constraint) -> bool:
    expression = constraint.expression
    if expression is None or expression.comparison not in _BELOW:
        return False
    left, right = expression.left, expression.right
    if not (isinstance(left, Name) and isinstance(right, Number)):
        return False
    return bool(QUANTITIES[left.name].facts & {PURCHASE, RENT})


def binds(outcome: Outcome) -> bool:
    """Whether a point that meets all but the budgets is faster than the fastest of the front."""
    problem, limits = outcome.problem, budgets(outcome.problem.study)
    if not any(outcome.tally.rejected.get(limit.text) for limit in limits):
        return False
    kept = tuple(c for c in problem.study.constraints if c not in limits)
    freed = replace(problem, study=replace(problem.study, constraints=kept))
    bar = max(point.gain for point in outcome.front) * (1 + RESOLUTION)
    if outcome.archive is not None:
        return _tried(freed, outcome, bar)
    return any(_faster(freed, part, bar) for part in _parts(freed, bar))


def _tried(freed: Problem, outcome: Outcome, bar: float) -> bool:
    """Whether one that a guided search priced is: it does not know the others."""
    archive = outcome.archive
    assert archive is not None
    fast = np.flatnonzero(archive.numbers[:, 0] > bar)
    values = [archive.space.values(archive.points[at]) for at in fast]
    for where, evaluation in freed.rows(values) if values else []:
        passed = np.ones(len(where), dtype=bool)
        for _, mask in constraints.demands(evaluation, freed.study):
            passed &= mask
        if passed.any():
            return True
    return False


def _parts(problem: Problem, bar: float) -> Iterator[Cells]:
    """Points of the whole space, but for those that cannot gain as much for certain."""
    for box in problem.space.boxes(exhaustive.BOX_POINTS):
        if bounds.screens(problem, box):
            yield from screening.wanted_cells(problem, box, lambda values: values[0] > bar)[1]
        else:
            yield from (whole(problem, piece) for piece in box.pieces(PRICED_POINTS))


def _faster(problem: Problem, part: Cells, bar: float) -> bool:
    def wanted(values: Values) -> np.ndarray:
        return np.asarray(values[0] > bar)

    gains, *_ = screening.wanted_points(problem, part, wanted)[0]
    return bool(len(gains))
