"""The front as choices: points that differ by less than their numbers are worth are one row.

The rows cover the front greedily. The recommended point comes first, then the fastest point that no
row has yet, and so on; each stands for every point left that is within the resolution of it in all
objectives. So no chain of small differences makes one row of a long front, and the rows follow from
the front alone: dominated points change nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dse.model.arrays import Array
from dse.report import words
from dse.report.design_point import Point
from dse.report.document import Choice, Choices, RunDocument
from dse.search.pareto import Indices
from dse.study.choices import alike

_ROUNDING = 1e-12  # of a relative difference


def covered(values: Sequence[Array], resolution: float, first: int | None) -> list[Indices]:
    """Positions of points by row, the one that stands for a row at its head.

    values: what is maximized, then what is minimized; shape (points,) each. Two points are alike if
    in no objective they differ by more than ``resolution`` of the larger value. first: the point
    that takes its row before all others, if any does; they follow by falling gain, then rising
    cost.
    """
    gain, *costs = values
    order = np.lexsort((np.arange(len(gain)), *reversed(costs), -gain))
    left = np.ones(len(gain), dtype=bool)
    rows = []
    for at in ([] if first is None else [first]) + order.tolist():
        if left[at]:
            pairs = [alike(column, column[at], resolution + _ROUNDING) for column in values]
            near = np.flatnonzero(left & np.logical_and.reduce(pairs))
            left[near] = False
            rows.append(np.array([at, *near[near != at]], dtype=np.int64))
    return rows


def choices(
    front: Sequence[Point], values: Sequence[Array], recommended: int | None, resolution: float
) -> Choices | None:
    """The front as rows by rising cost; None where the study wants every point by itself.

    values: the objectives of the front points, as :func:`covered` wants them. recommended: position
    of the point that is recommended, None where that is not on the front. Rows whose first points
    read the same on every axis are one.
    """
    if not resolution:
        return None
    named: dict[tuple[tuple[str, str], ...], list[int]] = {}
    for row in covered(values, resolution, recommended):
        head = front[int(row[0])]
        name = tuple((axis, words.label(head, axis)) for axis in sorted(head.config))
        named.setdefault(name, []).extend(row.tolist())
    rows = [
        Choice(front=(at[0], *sorted(at[1:])), varies=_varying([front[one] for one in at]))
        for at in named.values()
    ]
    return Choices(resolution=resolution, rows=tuple(sorted(rows, key=lambda row: row.front[0])))


def _varying(points: Sequence[Point]) -> dict[str, tuple[str, ...]]:
    """Axis -> its labels over points and the listed equals of each, where there are several."""
    found: dict[str, dict[str, None]] = {}
    for point in points:
        for config in (point.config, *point.tied):
            for axis, label in config.items():
                if label and words.matters(point, axis):
                    found.setdefault(axis, {})[label] = None
    return {axis: tuple(labels) for axis, labels in found.items() if len(labels) > 1}


def rows(document: RunDocument) -> Sequence[Choice]:
    """The rows of the front; a row for every point where the document has no choices."""
    if document.choices is None:
        return [Choice(front=(at,), varies=_varying([point]))
                for at, point in enumerate(document.front)]  # fmt: skip
    return document.choices.rows
