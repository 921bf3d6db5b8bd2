"""Whether a study's budget keeps faster points out of the front."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from dse.model.arrays import Mask
from dse.pricing import constraints
from dse.pricing.problem import Problem
from dse.search import bounds, exhaustive, screening
from dse.search.cells import PRICED_POINTS, Cells, whole
from dse.search.pareto import Values
from dse.search.run import Outcome
from dse.study import Constraint, Study
from dse.study.quantities import PURCHASE, QUANTITIES, RENT

RESOLUTION = 0.01  # a point that is faster by no more is as fast
_BELOW = ("<=", "<")


def budgets(study: Study) -> tuple[Constraint, ...]:
    """The constraints that say how much money may be spent: ``capital <= 2 MUSD``."""
    return tuple(constraint for constraint in study.constraints if _is_budget(constraint))


def _is_budget(constraint: Constraint) -> bool:
    limit = constraint.limit
    if limit is None or limit.comparison not in _BELOW:
        return False
    return bool(QUANTITIES[limit.name].facts & {PURCHASE, RENT})


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

    def wanted(values: Values) -> Mask:
        return np.asarray(values[0] > bar)

    found = (screening.wanted_points(freed, part, wanted)[0][0] for part in _parts(freed, wanted))
    return any(len(gains) for gains in found)


def _tried(freed: Problem, outcome: Outcome, bar: float) -> bool:
    """Whether one that a guided search priced is: it does not know the others."""
    archive = outcome.archive
    assert archive is not None
    fast = np.flatnonzero(archive.numbers[:, 0] > bar)
    values = [archive.space.values(archive.points[at]) for at in fast]
    found = freed.rows(values) if values else []
    return any(
        bool(constraints.met(evaluation, freed.study, len(where)).any())
        for where, evaluation in found
    )


def _parts(problem: Problem, wanted: screening.Wanted) -> Iterator[Cells]:
    """Points of the whole space, but for those that cannot be wanted for certain."""
    for box in problem.space.boxes(exhaustive.BOX_POINTS):
        if bounds.screens(problem, box):
            yield from screening.wanted_cells(problem, box, wanted)[1]
        else:
            yield from (whole(problem, piece) for piece in box.pieces(PRICED_POINTS))
