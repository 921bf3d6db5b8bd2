"""What each value of one axis is worth: all else equal, with the best software, and at best."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from dse.pricing import constraints
from dse.pricing.evaluation import Evaluation
from dse.pricing.problem import Problem
from dse.report import words
from dse.report.document import RunDocument, WhatIf, WhatIfPoint, WhatIfRow
from dse.report.recommendation import recommended
from dse.report.tables import NOT_APPLICABLE
from dse.search import exhaustive, pareto
from dse.search.best_software import best_software, restricted
from dse.search.guided import Archive
from dse.search.pareto import Front
from dse.search.run import FrontPoint, Outcome, labels_of
from dse.study import Value

Values = Mapping[str, Value | None]


def what_if(outcome: Outcome, rule: str) -> WhatIf | None:
    """A row for every value of the axis that the study asks about; None where it asks about none.

    rule: by which a point is recommended.
    """
    problem = outcome.problem
    axis = problem.study.what_if
    if axis is None:
        return None
    known = problem.study.axis(axis)
    assert known is not None, axis
    base = problem.study.baseline.values
    values = known.values if base[axis] in known.values else (base[axis], *known.values)
    rows = []
    for value in values:
        changed = {**dict.fromkeys(problem.space.names), **base, axis: value}
        software = best_software(problem, changed, [axis])
        best = _best(outcome, axis, value, rule) if value in known.values else None
        rows.append(
            WhatIfRow(
                value=labels_of(problem, {axis: value})[axis],
                baseline=value == base[axis],
                alone=_point(problem, changed, changed),
                best_software=None if software is None else _point(problem, software, changed),
                best=None if best is None else _point(problem, best, best),
            )
        )
    return WhatIf(axis=axis, rows=tuple(rows))


def _point(problem: Problem, values: Values, owned: Values) -> WhatIfPoint:
    """A point with the bill of ``owned``."""
    evaluation = replace(problem.point(values), costed=lambda: problem.point(owned).cost, _known={})
    checks = constraints.demands(evaluation, problem.study)
    most, least, *also = (objective.name for objective in problem.study.objectives)
    return WhatIfPoint(
        config=labels_of(problem, values),
        immaterial=problem.points_at(values).immaterial(),
        speedup=_number(evaluation, "speedup"),
        gain=_number(evaluation, most),
        cost=_number(evaluation, least),
        other=_number(evaluation, also[0]) if also else None,
        missed=tuple(name for name, mask in checks if not mask.all()),
    )


def _number(evaluation: Evaluation, name: str) -> float | None:
    value = float(np.ravel(evaluation[name])[0])
    return value if np.isfinite(value) else None


def _best(outcome: Outcome, axis: str, value: Value, rule: str) -> Values | None:
    """The point of the space with that value which the rule recommends; None if none is feasible.

    Of a guided search it is the best of those that it priced.
    """
    problem = outcome.problem
    if outcome.archive is not None:
        return _best_priced(outcome.archive, axis, value, rule)
    narrowed = replace(problem, study=restricted(problem.study, {axis: value}, {axis}))
    front = exhaustive.search(narrowed, narrowed.space.boxes(exhaustive.BOX_POINTS)).front
    at = _chosen(front, rule)
    return None if at is None else narrowed.space.point(int(front.best[at]))


def _best_priced(archive: Archive, axis: str, value: Value, rule: str) -> Values | None:
    points = [archive.space.values(point) for point in archive.points]
    numbers = archive.numbers
    here = np.array([at for at, point in enumerate(points)
                     if point[axis] == value and numbers[at, -1] == 0], dtype=np.int64)  # fmt: skip
    if not len(here):
        return None
    gain, cost, *other = numbers[here, :-1].T
    front = pareto.front_of(gain, cost, here, *other)
    at = _chosen(front, rule)
    return None if at is None else points[int(front.best[at])]


def _chosen(front: Front, rule: str) -> int | None:
    rows = zip(front.gain.tolist(), front.cost.tolist(), front.other.tolist(), strict=True)
    points = [FrontPoint({}, {}, gain, cost, other, 0, ()) for gain, cost, other in rows]
    return recommended(points, rule) if points else None


@dataclass(frozen=True)
class Row:
    """A value of the axis as it is shown: cells of the value alone, with the best software, at
    best."""

    value: str
    baseline: bool
    cells: tuple[str, ...]


def rows(document: RunDocument) -> list[Row]:
    """The table: of each value the gain and every cost, alone, with the best software, at best."""
    found = document.what_if
    return [] if found is None else [
        Row(
            value=words.title(found.axis, row.value) if words.titled(found.axis) else row.value,
            baseline=row.baseline,
            cells=tuple(cell for point in (row.alone, row.best_software, row.best)
                        for cell in _cells(document, point)),
        )
        for row in found.rows
    ]  # fmt: skip


def _cells(document: RunDocument, point: WhatIfPoint | None) -> tuple[str, ...]:
    """Gain, costs."""
    senses = document.objectives.senses
    if point is None:
        return (NOT_APPLICABLE,) * len(senses)
    fails = constraints.reasons(point.missed)
    numbers = [point.gain, point.cost, point.other]
    cells = [words.shown(number, words.aim(document, sense).unit)
             for number, sense in zip(numbers, senses, strict=False)]  # fmt: skip
    cells[0] += f" ({'; '.join(why.split(' (')[0] for why in fails)})" * bool(fails)
    return tuple(cells)
