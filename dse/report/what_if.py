"""What each value of one axis is worth: all else equal, and with the best software."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import product

import numpy as np

from dse.calibration.evidence import Grade
from dse.pricing import constraints, profile_use
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
from dse.study import AggregationName, Value
from dse.study.choices import RESOLUTION

Values = Mapping[str, Value | None]
# Costs of a run, and what they are in proportion to.
_OF_RUN = {"per_run": "hourly", "energy": "power"}


def what_if(problem: Problem, chosen: Values) -> WhatIf | None:
    """A row for every value of the axis that the study asks about; None without one.

    chosen: the recommended point.
    """
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
                recommended=_there(problem, chosen, axis, value),
            )
        )
    return WhatIf(axis=axis, rows=tuple(rows))


def _there(problem: Problem, chosen: Values, axis: str, value: Value) -> WhatIfPoint | None:
    """The best of the recommended hardware with this value of the axis, fewest demands missed.

    Axes that apply only there, such as the number of parameter servers, take their best value.
    """
    changed = {**chosen, axis: value}
    more = {
        one.axis: one.values
        for one in problem.study.conditions
        if all(changed.get(name) in allowed for name, allowed in one.requires)
        and not all(chosen.get(name) in allowed for name, allowed in one.requires)
    }
    tried = [{**changed, **dict(zip(more, values, strict=True))}
             for values in product(*more.values())]  # fmt: skip
    found = [(one, best_software(problem, one, [axis, *more])) for one in tried]
    points = [_point(problem, best, one) for one, best in found if best is not None]
    return min(points, key=lambda one: (len(one.missed), -(one.gain or 0.0)), default=None)


def _profiles(problem: Problem, values: Values) -> tuple[str, ...]:
    """The profiles that price the communication of a point; none where the catalogue does."""
    value = values.get("aggregation")
    if not isinstance(value, AggregationName) or not problem.step_model.measurable:
        return ()
    if problem.study.laid_out or np.max(problem.points_at(values).grade()) == Grade.CATALOGUE:
        return ()
    return tuple(dict.fromkeys(one.name for one in profile_use.taken(problem, value)))


def worth(document: RunDocument) -> tuple[str, str]:
    """How much slower or faster other values of the axis make the recommended hardware, and the
    baseline's, of which only those whose communication was measured are told; empty without."""
    found = document.what_if
    own = next((row for row in found.rows if row.baseline), None) if found else None
    if found is None or own is None:
        return "", ""
    mine = document.recommended.quantity(document.objectives.maximize)
    best = document.recommended.config[found.axis]
    there = {row.value: row.recommended for row in found.rows if row.value != best}
    here = {
        row.value: row.best_software
        for row in found.rows
        if row is not own and row.best_software and row.best_software.measured
    }
    by = dict.fromkeys(name for one in here.values() if one for name in one.measured)
    gain = own.best_software.gain if own.best_software else None
    told = _told(found.axis, gain, here)
    now = f"On your machines, measured by {' and '.join(by)}: {told}" if told else ""
    return _told(found.axis, mine, there), now


def _told(axis: str, mine: float | None, others: Mapping[str, WhatIfPoint | None]) -> str:
    """Values by how the gain with them compares: ``a as fast; b 1.2, c 3 times slower``."""
    told: dict[str, list[str]] = {"as fast": [], "times slower": [], "times faster": []}
    for value, point in others.items():
        if point is None or not point.gain or not mine:
            continue
        name, factor = words.title(axis, value), max(mine / point.gain, point.gain / mine)
        if factor < 1 + RESOLUTION:
            told["as fast"].append(name)
        else:
            kind = "times slower" if mine > point.gain else "times faster"
            told[kind].append(f"{name} {words.shown(factor, '')}")
    return "; ".join(f"{', '.join(names)} {kind}" for kind, names in told.items() if names)


def _point(problem: Problem, values: Values, owned: Values) -> WhatIfPoint:
    """A point with the bill of ``owned``."""
    evaluation = replace(problem.point(values), paid=problem.point(owned).cost)
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
        measured=_profiles(problem, values),
    )


def rows(document: RunDocument, found: WhatIf) -> list[tuple[str, bool, tuple[str, ...]]]:
    """The table: each value, whether it is the baseline's, and cells: the gain and every cost of
    the value alone, with the best software, and so on the recommended hardware."""
    return [
        (
            words.title(found.axis, row.value),
            row.baseline,
            tuple(
                cell
                for point in (row.alone, row.best_software, row.recommended)
                for cell in _cells(document, point)
            ),
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
