"""All feasible points of a finite space as a table, block by block: memory stays flat."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from dse.pricing import constraints
from dse.pricing.evaluation import Evaluation
from dse.pricing.gradient_format import summed_format
from dse.pricing.problem import Problem
from dse.report.front_columns import Column, axis_column, quantity_column
from dse.search import cells, exhaustive
from dse.study.axes import GRADIENT
from dse.study.quantities import QUANTITIES, Quantity
from dse.study.space import Box


def blocks(problem: Problem) -> Iterator[list[Column]]:
    """Every feasible point by its best estimate: axes, then quantities, in the order of the space.

    There are no intervals: drawing them takes hundreds of times as long.
    """
    rows = _quantities(problem)
    for box in problem.space.boxes(exhaustive.BOX_POINTS):
        for piece in box.pieces(cells.PRICED_POINTS):
            if (found := _block(problem, piece, rows)) is not None:
                yield found


def _quantities(problem: Problem) -> Sequence[Quantity]:
    axes = {axis.name for axis in (*problem.study.axes, *problem.study.defaults)}
    axes |= {condition.axis for condition in problem.study.conditions}
    aimed = problem.study.target is not None
    return [
        row
        for row in QUANTITIES.values()
        if row.name not in axes and (aimed or not row.needs_target)
    ]


def _block(problem: Problem, box: Box, rows: Sequence[Quantity]) -> list[Column] | None:
    """The feasible points of a box; None where there are none."""
    evaluation = problem.box(box)
    met = np.ones(box.shape, dtype=bool)
    for _, mask in constraints.demands(evaluation, problem.study):
        met &= mask
    at = np.flatnonzero(met)
    if not len(at):
        return None
    return [*_axes(problem, box, at), *(_column(evaluation, row, box, at) for row in rows)]


def _column(evaluation: Evaluation, row: Quantity, box: Box, at: NDArray[np.intp]) -> Column:
    found = np.broadcast_to(evaluation[row.name], box.shape).ravel()[at]
    numbers = found.tolist()
    if not (known := np.isfinite(found)).all():
        numbers = [value if is_known else None
                   for value, is_known in zip(numbers, known, strict=True)]  # fmt: skip
    return quantity_column(row, numbers)


def _axes(problem: Problem, box: Box, at: NDArray[np.intp]) -> Iterator[Column]:
    """The values of the axes, as the study writes them."""
    slab, study = problem.space.slabs[box.slab], problem.study
    labels = {name: [label] * len(at) for name, label in slab.labels.items()}
    if GRADIENT in labels:
        labels[GRADIENT] = [summed_format(slab.fixed)] * len(at)
    places = np.unravel_index(at, box.shape) if box.shape else ()
    for axis, part, place in zip(slab.axes, box.slices, places, strict=True):
        labels[axis.name] = np.array(axis.labels[part], dtype=object)[place].tolist()
    of_axis: dict[str, set[str]] = {}
    known = [(axis.name, axis.labels) for axis in (*study.axes, *study.defaults)]
    known += [(condition.axis, condition.labels) for condition in study.conditions]
    for name, its in known:
        of_axis.setdefault(name, set()).update(its)
    for name, its_labels in of_axis.items():
        yield axis_column(name, labels[name], its_labels)
