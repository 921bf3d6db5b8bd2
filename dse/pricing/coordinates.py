"""Where design points lie on the axes of a study, and how like points are brought together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

import numpy as np
from numpy.typing import NDArray

from dse.model.arrays import Array
from dse.study import Value

_SORTED_IN_ONE_PASS = 1 << 16  # codes that numpy sorts so


@dataclass(frozen=True)
class Coordinate:
    """Where points lie on one axis: its values, and positions in them, in any shape."""

    values: tuple[Value | None, ...]
    at: NDArray[np.int64]
    key: tuple[int, int] | None = None  # (start, stop) if ``at`` is a slice, for remembering

    def numbers(self, blank: float) -> Array:
        """The values of a numeric axis, in the shape of ``at``; ``blank`` where there is none."""
        values = [blank if value is None else value for value in self.values]
        return np.array(values, dtype=np.float64).take(self.at)

    def blank(self) -> Coordinate:
        """Whether points have no value on the axis."""
        empty = np.array([value is None for value in self.values], dtype=np.int64)
        return Coordinate((False, True), empty.take(self.at))

    def part(self, where: slice) -> Coordinate:
        """The coordinate of some of the points, with no other values than theirs where some do not
        apply (None)."""
        at = self.at[where]
        if None not in self.values:
            return Coordinate(self.values, at)
        kept, at = np.unique(at, return_inverse=True)
        return Coordinate(tuple(self.values[position] for position in kept), at)


def listed(values: Sequence[Value | None]) -> Coordinate:
    """Values given per point, as distinct values and positions in them."""
    distinct = tuple(dict.fromkeys(values))
    place = {value: position for position, value in enumerate(distinct)}
    return Coordinate(distinct, np.array([place[value] for value in values], dtype=np.int64))


def columns_of(points: Sequence[Mapping[str, Value | None]]) -> dict[str, Coordinate]:
    """Points given one by one, as columns by axis."""
    names = dict.fromkeys(name for values in points for name in values)
    return {name: listed([values.get(name) for values in points]) for name in names}


def sorted_by(
    outer: Sequence[Coordinate], inner: Sequence[Coordinate], last: Sequence[Coordinate] = ()
) -> tuple[NDArray[np.int64], list[list[slice]]]:
    """The order that brings points together which have the same values on these axes.

    Beside it, where they then lie: a list for every combination of values of ``outer``, in it a
    slice for every one of ``inner`` that is there. last: axes that order the points of a slice, if
    that costs no time.
    """
    code = coded((*outer, *inner))
    keys, every = code, (*outer, *inner, *last)
    if math.prod(len(axis.values) for axis in every) <= _SORTED_IN_ONE_PASS:
        keys = coded(every).astype(np.uint16)
    elif code.max(initial=0) < _SORTED_IN_ONE_PASS:
        keys = code.astype(np.uint16)
    order = np.argsort(keys, kind="stable")
    code = code.take(order)
    ends = [0, *(np.flatnonzero(np.diff(code)) + 1).tolist(), len(order)]
    within = math.prod(len(axis.values) for axis in inner)
    groups = groupby(pairwise(ends), lambda run: int(code[run[0]]) // within)
    return order, [[slice(*run) for run in runs] for _, runs in groups]


def coded(axes: Sequence[Coordinate]) -> NDArray[np.intp]:
    """One whole number for every combination of values, in the order of the first axis, then of the
    second, ..."""
    code = np.zeros(1, dtype=np.intp)
    for axis in axes:
        code = code * len(axis.values) + axis.at
    return code
