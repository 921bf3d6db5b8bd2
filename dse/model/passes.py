"""Seconds of both passes of a step, on a grid of points or for each of many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dse.model.arrays import Array, ArrayLike


@dataclass(frozen=True)
class Compute:
    """Seconds of one step on one accelerator.

    forward_s, backward_s: shape S, the broadcast of device and batch. layer_done_s: shape
    (layers, *S), in forward order: from the start of the backward pass until it has done a layer.
    """

    forward_s: Array
    backward_s: Array
    layer_done_s: LayerTimes


class LayerTimes(Protocol):
    """Times of every layer, (layers, *S): rows are looked up by one index or several."""

    def __getitem__(self, layer: Any) -> Array: ...


class CellOfPoints:
    """Which of a few cells each of many points agrees with.

    which: (points,), each in [0, cells). Points in the order of their cells are spread the fastest.
    """

    def __init__(self, which: NDArray[np.intp], cells: int) -> None:
        self.which, self.cells = which, cells
        in_order = bool(np.all(which[1:] >= which[:-1]))
        self._counts = np.bincount(which, minlength=cells) if in_order else None

    def spread(self, few: Array) -> Array:
        """Values of the cells as values of the points, (..., cells) -> (..., points)."""
        if self._counts is not None:
            return few.repeat(self._counts, axis=-1)
        return few.take(self.which, axis=-1)


@dataclass(frozen=True)
class SpreadTimes:
    """:class:`LayerTimes` of many points, kept for a few cells: (layers, cells)."""

    few: Array
    points: CellOfPoints

    def __getitem__(self, layer: Any) -> Array:
        return self.points.spread(self.few[layer])

    def part(self, where: slice) -> SpreadTimes:
        """Those of some of the points."""
        return SpreadTimes(self.few, CellOfPoints(self.points.which[where], self.points.cells))


def part_of(times: LayerTimes, where: slice, count: int) -> LayerTimes:
    """Times of some of ``count`` points, from those of all."""
    if isinstance(times, SpreadTimes):
        return times.part(where)
    every = np.asarray(times)
    return np.broadcast_to(every, (len(every), count))[:, where]


def spread(passes: Compute, shape: tuple[int, ...], points: CellOfPoints) -> Compute:
    """The passes of points each of which agrees with a cell of a grid.

    passes: of the grid, in arrays that broadcast to ``shape``, the cells.
    """
    forward, backward = (
        points.spread(np.broadcast_to(seconds, shape).reshape(-1))
        for seconds in (passes.forward_s, passes.backward_s)
    )
    done = np.asarray(passes.layer_done_s)
    few = np.broadcast_to(done, (len(done), *shape)).reshape(len(done), -1)
    return Compute(forward, backward, SpreadTimes(few, points))


def scaled(passes: Compute, factor: ArrayLike) -> Compute:
    """The same passes, ``factor`` times as long; factor may add leading axes to shape S."""
    factor = np.asarray(factor)
    done = np.asarray(passes.layer_done_s)
    layers = done.reshape(done.shape[:1] + (1,) * (factor.ndim - done.ndim + 1) + done.shape[1:])
    return Compute(passes.forward_s * factor, passes.backward_s * factor, layers * factor)
