"""Some cells of a box, as arrays for the model: listed, with a grid over the axes not listed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dse.model.arrays import Mask
from dse.pricing.coordinates import Coordinate
from dse.pricing.evaluation import Evaluation
from dse.pricing.problem import Problem
from dse.search import bounds
from dse.search.pareto import Indices
from dse.study import Value
from dse.study.axes import AXES, DATA, MACHINES
from dse.study.space import Box, Slab

SCREENED_CLUSTERS = 1 << 18  # of a grid: two megabytes per array
PRICED_POINTS = 1 << 17  # priced in one call: a megabyte per array
# Axes that change neither network nor layout: all their values share the terms of communication.
_OF_ONE_GPU = tuple(name for name in DATA if "communication" not in AXES[name].changes)


@dataclass(frozen=True)
class Cells:
    """Points of a box: a list of cells (the last axis), each with the whole grid over all others.

    The list is long and the grid short: last, it is what numpy's inner loops run over. fixed,
    coordinates: as points want them. base: index of every cell's first point. shape:
    (*grid, cells), the grid with an axis for each of the box. strides: of the slab, in points.
    """

    fixed: Mapping[str, Value | None]
    coordinates: Mapping[str, Coordinate]
    base: Indices
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of design points."""
        return int(np.prod(self.shape, dtype=np.int64))

    def index(self, positions: Indices) -> Indices:
        """Indices of design points, from positions in ``shape`` (C order)."""
        *grid, cell = np.unravel_index(positions, self.shape)
        found = self.base[cell]
        for at, stride in zip(grid, self.strides, strict=True):
            found = found + at * stride
        return np.asarray(found, dtype=np.int64)

    def evaluation(self, problem: Problem) -> Evaluation:
        """All points priced; arrays broadcast to ``shape``."""
        return Evaluation(problem.points_on(self.fixed, self.coordinates, len(self.shape)))


def parts(problem: Problem, box: Box, alive: Mask, possible: Mask) -> Iterator[Cells]:
    """The cells of a box that are alive, in pieces of PRICED_POINTS points if they are listed.

    alive, possible: an axis for each of the box; of length 1, all values of that axis go together.
    Points are left out where either is False. Machines come one after the other, since their
    layers are priced once for all cells on one machine.
    """
    slab = problem.space.slabs[box.slab]
    names = [axis.name for axis in slab.axes]
    shared = tuple(names.index(name) for name in _OF_ONE_GPU if name in names)
    alive = np.logical_or.reduce(alive, axis=shared, keepdims=True)
    for row in _rows(names, alive):
        yield from _alive(slab, _narrowed(box, row, shared, possible), _at(alive, row))


def grids(problem: Problem, box: Box, largest: int) -> Iterator[Box]:
    """A box cut into grids that are screened with arrays of at most ``largest`` numbers.

    What a box costs does not depend on the batch, as a rule, so a grid may have all batch sizes of
    a number of clusters. Where a cost depends on the step, one array may be as large as the grid.
    """
    if any(objective.name in bounds.OF_THE_STEP for objective in problem.study.objectives[1:]):
        yield from box.pieces(largest)
        return
    names = [axis.name for axis in problem.space.slabs[box.slab].axes]
    axes = [at for at, name in enumerate(names) if name not in _OF_ONE_GPU]
    pending = [box]
    while pending:
        grid = pending.pop()
        clusters = math.prod(grid.shape[axis] for axis in axes)
        if clusters <= SCREENED_CLUSTERS:
            yield grid
            continue
        axis = next(at for at in axes if grid.shape[at] > 1)
        length = grid.shape[axis]
        run = max(1, SCREENED_CLUSTERS * length // clusters)
        cut = [grid.part(axis, at, min(at + run, length)) for at in range(0, length, run)]
        pending.extend(reversed(cut))


def whole(problem: Problem, box: Box) -> Cells:
    """All points of a box."""
    slab = problem.space.slabs[box.slab]
    (found,) = _alive(slab, box, np.ones((1,) * len(box.shape), dtype=bool))
    return found


Row: TypeAlias = tuple[int, int] | None  # axis and position of a machine; None: all together


def _rows(names: Sequence[str], alive: Mask) -> Iterator[Row]:
    """Each machine that has a cell."""
    axis = next((names.index(name) for name in MACHINES if name in names), None)
    if axis is None or alive.shape[axis] == 1:
        if alive.any():
            yield None
        return
    rest = tuple(other for other in range(alive.ndim) if other != axis)
    for row in np.flatnonzero(alive.any(axis=rest)):
        yield axis, int(row)


def _at(mask: Mask, row: Row) -> Mask:
    """What a mask says of one machine."""
    if row is None or mask.shape[row[0]] == 1:
        return mask
    return mask.take([row[1]], axis=row[0])


def _narrowed(box: Box, row: Row, shared: Sequence[int], possible: Mask) -> Box:
    """The box on one machine, from the first to the last value in reach on each shared axis."""
    here = _at(possible, row)
    found = box if row is None else box.part(row[0], row[1], row[1] + 1)
    for axis in shared:
        if here.shape[axis] > 1:
            rest = tuple(other for other in range(here.ndim) if other != axis)
            values = np.flatnonzero(here.any(axis=rest))
            found = found.part(axis, int(values[0]), int(values[-1]) + 1)
    return found


def _alive(slab: Slab, narrow: Box, alive: Mask) -> Iterator[Cells]:
    """The cells of a part of a box that is as wide as the box on all axes with cells listed."""
    axes = [axis for axis, length in enumerate(alive.shape) if length > 1]
    yield from listed(slab, narrow, axes, np.stack(np.nonzero(alive)))


def listed(
    slab: Slab, narrow: Box, axes: Sequence[int], positions: NDArray[np.intp]
) -> Iterator[Cells]:
    """Cells of a box of a slab, in pieces of PRICED_POINTS points.

    axes: on which cells are listed; the grid is over the others. positions: where, counted from the
    box's own first, (axes of the slab, cells); 0 on axes that are not listed.
    """
    strides, slices, first = narrow.strides, narrow.slices, narrow.first
    grid = tuple(1 if axis in axes else part.stop - part.start for axis, part in enumerate(slices))
    run = max(1, PRICED_POINTS // int(np.prod(grid, dtype=np.int64)))
    for begin in range(0, positions.shape[1], run):
        here = positions[:, begin : begin + run]
        base = np.full(here.shape[1], first, dtype=np.int64)
        coordinates = {}
        for axis, (known, part) in enumerate(zip(slab.axes, slices, strict=True)):
            if axis in axes:
                base = base + here[axis] * strides[axis]
                column = (part.start + here[axis]).reshape((1,) * len(grid) + (-1,))
                coordinates[known.name] = Coordinate(known.values, column)
            else:
                shape = (*(-1 if other == axis else 1 for other in range(len(grid))), 1)
                every = np.arange(part.start, part.stop).reshape(shape)
                coordinates[known.name] = Coordinate(known.values, every, (part.start, part.stop))
        yield Cells(slab.fixed, coordinates, base, (*grid, len(base)), strides)
