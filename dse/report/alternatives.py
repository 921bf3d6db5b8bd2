"""The recommended point with every other aggregation of its study, all else equal.

So that approaches are seen side by side although only some are on the front.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from dse.pricing import constraints
from dse.pricing.problem import Problem
from dse.report import tables, words
from dse.report.design_point import Alternative
from dse.report.document import RunDocument
from dse.report.points import describe
from dse.search.guided import Points
from dse.search.run import FrontPoint
from dse.study import Value

AXIS = "aggregation"
MOST_TRIED = 2000  # settings of one aggregation that the recommended point does not have


def alternatives(
    problem: Problem, front: Sequence[FrontPoint], recommended: Mapping[str, Value | None]
) -> tuple[Alternative, ...]:
    """A point for each value of the axis, ``recommended`` among them, the fastest first.

    Where a value brings conditional axes that ``recommended`` lacks, the point with the most of
    what the study maximizes is taken, of these the cheapest, of those that meet every demand if
    any does.
    A point of the front counts for an aggregation if it or a listed equal of it has that. Empty
    where there is only one value, or nothing to aggregate.
    """
    values = problem.study.values(AXIS)
    if len(values) < 2 or bool(np.all(problem.points_at(recommended).gpus <= 1)):
        return ()
    own = problem.point(recommended)["speedup"].item()
    found = []
    for value in values:
        point = (
            dict(recommended)
            if value == recommended[AXIS]
            else _best(problem, {**recommended, AXIS: value})
        )
        evaluation = problem.point(point)
        row = describe(problem, point)
        checks = constraints.demands(evaluation, problem.study)
        label = row.config[AXIS]
        found.append(
            Alternative(
                **vars(row),
                ratio=None if row.speedup is None else row.speedup / own,
                missed=tuple(name for name, mask in checks if not mask.all()),
                on_front=sum(
                    any(labels[AXIS] == label for labels in (entry.labels, *entry.tied))
                    for entry in front
                    if entry.values["gpus"] != 1  # one aggregates nothing
                ),
            )
        )
    return tuple(sorted(found, key=lambda row: -(row.ratio or 0.0)))


def _best(problem: Problem, recommended: Mapping[str, Value | None]) -> dict[str, Value | None]:
    """The completion of ``recommended`` that :func:`alternatives` takes."""
    space = Points(problem.study)
    tried = [space.values(p) for p in islice(space.completions(recommended), MOST_TRIED)]
    most, least, *_ = problem.study.objectives
    order = np.full((3, len(tried)), np.inf)
    for where, evaluation in problem.rows(tried):
        fails = np.zeros(len(where))
        for _, mask in constraints.demands(evaluation, problem.study):
            fails += ~np.broadcast_to(mask, fails.shape)
        order[0, where] = fails > 0
        order[1, where] = np.nan_to_num(-evaluation[most.name], nan=np.inf)
        order[2, where] = np.nan_to_num(evaluation[least.name], nan=np.inf)
    return tried[int(np.lexsort(order[::-1])[0])]


@dataclass(frozen=True)
class AlternativesTable:
    """The table: (heading, whether of numbers), and rows of (whether recommended, cells)."""

    heads: tuple[tuple[str, bool], ...]
    rows: tuple[tuple[bool, tuple[str, ...]], ...]


def table(document: RunDocument) -> AlternativesTable | None:
    """The points as a table; None where the document has none."""
    points = document.other_aggregations
    if not points:
        return None
    costs = [words.aim(document, sense).title for sense in document.objectives.minimized]
    heads = (("Aggregation", False), ("Settings of its own", False), ("Step", True),
             ("Speedup", True), ("Against the recommended", True),
             *((tables.capital(cost), True) for cost in costs),
             ("Front points", True), ("Misses", False))  # fmt: skip
    best = document.recommended.config
    rows = tuple((point.config == best, _cells(document, point)) for point in points)
    return AlternativesTable(heads, rows)


def _cells(document: RunDocument, point: Alternative) -> tuple[str, ...]:
    own = [axis.name for axis in document.axes if axis.conditional]
    settings = [f"{tables.heading(name)} {label}" for name in own
                if (label := words.label(point, name))]  # fmt: skip
    bounds = point.interval.speedup if point.interval else None
    speedup, ends = words.with_interval(point.speedup, bounds, "x")
    return (
        point.config[AXIS],
        ", ".join(settings) or tables.NOT_APPLICABLE,
        words.duration(point.step_s),
        f"{speedup} ({ends})" if ends else speedup,
        words.UNKNOWN if point.ratio is None else f"{point.ratio:.2f}x",
        *(words.show_cost(document, point, sense) for sense in document.objectives.minimized),
        words.count(point.on_front),
        "; ".join(constraints.reasons(point.missed)) or tables.NOT_APPLICABLE,
    )
