"""What each value of one axis is worth: all else equal, and with the best software."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from dse.pricing import constraints
from dse.pricing.problem import Problem
from dse.report import words
from dse.report.design_point import Baseline, Point, WithoutBuying
from dse.report.document import RunDocument, WhatIf, WhatIfPoint, WhatIfRow
from dse.report.json_form import number
from dse.report.points import describe
from dse.report.tables import NOT_APPLICABLE
from dse.report.waterfall import waterfall
from dse.search.best_software import best_software, missed
from dse.search.run import labels_of
from dse.study import Value

Values = Mapping[str, Value | None]
# Costs of a run, and what they are in proportion to.
_OF_RUN = {"per_run": "hourly", "energy": "power"}


def what_if(problem: Problem) -> WhatIf | None:
    """A row for every value of the axis that the study asks about; None without one."""
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
        rows.append(
            WhatIfRow(
                value=labels_of(problem, {axis: value})[axis],
                baseline=value == base[axis],
                alone=_point(problem, changed, changed),
                best_software=None if software is None else _point(problem, software, changed),
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
        speedup=number(evaluation["speedup"]),
        gain=number(evaluation[most]),
        cost=number(evaluation[least]),
        other=number(evaluation[also[0]]) if also else None,
        missed=tuple(name for name, mask in checks if not mask.all()),
    )


def rows(document: RunDocument, found: WhatIf) -> list[tuple[str, bool, tuple[str, ...]]]:
    """The table: each value, whether it is the baseline's, and cells: the gain and every cost of
    the value alone, then with the best software."""
    return [
        (
            words.title(found.axis, row.value),
            row.baseline,
            (*_cells(document, row.alone), *_cells(document, row.best_software)),
        )
        for row in found.rows
    ]


def _cells(document: RunDocument, point: WhatIfPoint | None) -> tuple[str, ...]:
    """Gain, costs."""
    aims = document.objectives.names
    if point is None:
        return (NOT_APPLICABLE,) * len(aims)
    fails = constraints.reasons(point.missed)
    numbers = [point.gain, point.cost, point.other]
    cells = [words.shown(number, words.objective(document, name).unit)
             for number, name in zip(numbers, aims, strict=False)]  # fmt: skip
    cells[0] += f" ({'; '.join(why.split(' (')[0] for why in fails)})" * bool(fails)
    return tuple(cells)


def without_buying(
    problem: Problem, baseline: Baseline, tried: Iterable[Mapping[str, Value | None]]
) -> WithoutBuying | None:
    """The named point; None where there are too many ways of training to try them all.

    tried: points whose values of continuous axes are tried.
    """
    owned = problem.study.baseline.values
    values = best_software(problem, owned, tried=tried)
    if values is None:
        return None
    point = _priced_as(describe(problem, values), baseline)
    return WithoutBuying(
        **vars(point), missed=missed(problem, owned, values), steps=waterfall(problem, values)
    )


def _priced_as(point: Point, owned: Point) -> Point:
    """The point with the bill of another, whose hardware it is."""
    ratios = {name: (owned.costs.get(of) or 0.0) / (point.costs.get(of) or 1.0) or None
              for name, of in _OF_RUN.items()}  # fmt: skip
    objectives = {
        name: owned.costs[name] if name in owned.costs
        else value * ratio if value is not None and (ratio := ratios.get(name)) else value
        for name, value in point.objectives.items()
    }  # fmt: skip
    interval = point.interval
    if interval is not None:
        costs = owned.interval.costs if owned.interval else {}
        bounds = {
            name: costs.get(name, ends) if name in owned.costs
            else (ends[0] * ratio, ends[1] * ratio) if (ratio := ratios.get(name)) else ends
            for name, ends in interval.costs.items()
        }  # fmt: skip
        interval = replace(interval, costs=bounds)
    return replace(point, objectives=objectives, costs=owned.costs, interval=interval)
