"""The space of a study: every design point has an index, every index a design point.

Axes that change the code path of the model (structural axes) are looped; each combination of their
values is a slab, a plain grid over the other axes. Points are numbered slab by slab, in C order.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from dse.study.axes import DATA, LAYOUT, LOOPED, TABLED
from dse.study.definition import Axis, Condition, Value


@dataclass(frozen=True)
class Slab:
    """A grid of design points that share their structural values.

    fixed: structural axis -> its value here, None where it does not apply. axes: the data axes (one
    whose condition fails has a single value, None). first: index of the slab's first point.
    """

    fixed: Mapping[str, Value | None]
    axes: tuple[Axis, ...]
    first: int

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Values per data axis."""
        return tuple(len(axis.values) for axis in self.axes)

    @property
    def size(self) -> int:
        """Number of design points."""
        return math.prod(self.shape)

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """How far apart the indices of neighbours on each data axis are: C order."""
        return tuple(math.prod(self.shape[axis + 1 :]) for axis in range(len(self.shape)))


@dataclass(frozen=True)
class Box:
    """A grid of points of one slab, a slice per data axis; ``first``: the first one's index.

    strides: how far apart the indices of neighbours on each axis are. Boxes that the space is cut
    into are contiguous index ranges.
    """

    slab: int
    first: int
    slices: tuple[slice, ...]
    strides: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Values per data axis."""
        return tuple(part.stop - part.start for part in self.slices)

    @property
    def size(self) -> int:
        """Number of design points."""
        return math.prod(self.shape)

    def part(self, axis: int, begin: int, end: int) -> Box:
        """The grid of some neighbouring values of one axis, counted from the box's own first.

        Its indices are contiguous only if all axes before that one have a single value.
        """
        start = self.slices[axis].start
        span = slice(start + begin, start + end)
        slices = (*self.slices[:axis], span, *self.slices[axis + 1 :])
        return Box(self.slab, self.first + begin * self.strides[axis], slices, self.strides)

    def pieces(self, largest: int) -> Iterator[Box]:
        """The box cut into boxes of at most ``largest`` points, in index order."""
        if self.size <= largest:
            yield self
            return
        axis = next(at for at, length in enumerate(self.shape) if length > 1)
        run = max(1, largest * self.shape[axis] // self.size)
        for begin in range(0, self.shape[axis], run):
            end = min(begin + run, self.shape[axis])
            yield from self.part(axis, begin, end).pieces(largest)


# Layouts that some accelerators allow, see :class:`dse.pricing.layout_tables.LayoutTable`, which a
# study may not import: rows that take the place of an axis' values. Each has a value on every axis
# of a layout, and on those that follow from them.
Layouts: TypeAlias = Any
# The layouts of the structural values of a slab.
Tabled: TypeAlias = Callable[[Mapping[str, Value | None]], Layouts]


class Space:
    """All design points of a study with finite axes.

    axes: in any order; points are numbered with the structural axes first. A conditional axis takes
    its values where its condition holds and ``None`` elsewhere, so no point is counted twice.
    tabled: where a transformer is laid out, the layouts of each structure; the counts of
    accelerators are structural then.
    """

    def __init__(
        self, axes: Sequence[Axis], conditions: Sequence[Condition], tabled: Tabled | None = None
    ) -> None:
        conditional = {condition.axis for condition in conditions}
        decisive = {name for condition in conditions for name, _ in condition.requires}
        self.tabled = tabled
        if tabled is not None:
            decisive.add("gpus")
            axes = [axis for axis in axes if axis.name not in TABLED]
        given = [a for a in axes if a.name not in conditional]
        # Those of conditional axes are without values, which :func:`_applied` gives them.
        names = dict.fromkeys(condition.axis for condition in conditions)
        given.extend(Axis(name, (), (), True) for name in names)
        looped = [a for a in given if a.name in LOOPED or a.name in decisive]
        # Conditional ones last: their values follow from those before them.
        looped.sort(key=lambda a: (a.name in conditional, (*LOOPED, *DATA).index(a.name)))
        self.looped: tuple[Axis, ...] = tuple(looped)
        data = [a for a in given if a not in looped]
        self.data_axes: tuple[Axis, ...] = tuple(sorted(data, key=lambda a: DATA.index(a.name)))
        self.conditions = tuple(conditions)
        # Points that would be no layout, by the rule that says so.
        self.removed: dict[str, int] = {}
        self.slabs: tuple[Slab, ...] = tuple(self._slabs())

    def _slabs(self) -> Iterator[Slab]:
        first = 0
        for fixed in self._structures({}, self.looped):
            axes = tuple(_applied(axis, self.conditions, fixed) for axis in self.data_axes)
            if self.tabled is not None:
                rows = self.tabled(fixed)
                beside = math.prod(len(axis.values) for axis in axes)
                for rule, count in rows.removed.items():
                    self.removed[rule] = self.removed.get(rule, 0) + count * beside
                axes = (*axes, Axis(LAYOUT, rows, (), False))
            slab = Slab(fixed, axes, first)
            first += slab.size
            if slab.size:
                yield slab

    def _structures(
        self, fixed: dict[str, Value | None], rest: tuple[Axis, ...]
    ) -> Iterator[dict[str, Value | None]]:
        if not rest:
            yield fixed
            return
        axis = _applied(rest[0], self.conditions, fixed)
        for value in axis.values:
            yield from self._structures({**fixed, axis.name: value}, rest[1:])

    @property
    def size(self) -> int:
        """Number of design points."""
        if not self.slabs:
            return 0
        last = self.slabs[-1]
        return last.first + last.size

    @property
    def names(self) -> tuple[str, ...]:
        """Axis names in numbering order."""
        own = TABLED if self.tabled is not None else ()
        return tuple(dict.fromkeys((*(a.name for a in (*self.looped, *self.data_axes)), *own)))

    def boxes(self, largest: int, first: int = 0, stop: int | None = None) -> Iterator[Box]:
        """Cut the space into boxes of at most ``largest`` points, in index order.

        A slab is cut along its leading axes only, so every box is a contiguous index range. Only
        the boxes whose own first point is in [first, stop) are made; all of them by default.
        """
        stop = self.size if stop is None else stop
        number = max(bisect_right(self._firsts, max(first, 0)) - 1, 0)
        for at in range(number, len(self.slabs)):
            slab = self.slabs[at]
            if slab.first >= stop:
                return
            yield from _cut(slab, at, largest, first - slab.first, stop - slab.first)

    @cached_property
    def _firsts(self) -> list[int]:
        return [slab.first for slab in self.slabs]

    def locate(self, index: int) -> tuple[int, tuple[int, ...]]:
        """The slab of a point and its position on each of the slab's data axes."""
        if not 0 <= index < self.size:
            raise IndexError(f"point {index} of {self.size}")
        number = bisect_right(self._firsts, index) - 1
        slab = self.slabs[number]
        return number, _position(index - slab.first, slab.shape)

    def index(self, values: Mapping[str, Value | None]) -> int:
        """The number of a design point, the inverse of :meth:`point`."""
        slab = self._slab_of[tuple(values[axis.name] for axis in self.looped)]
        position = [_place(axis, values) for axis in slab.axes]
        offset = np.ravel_multi_index(position, slab.shape) if position else 0
        return slab.first + int(offset)

    @cached_property
    def _slab_of(self) -> dict[tuple[Value | None, ...], Slab]:
        return {tuple(slab.fixed[a.name] for a in self.looped): slab for slab in self.slabs}

    def point(self, index: int) -> dict[str, Value | None]:
        """The design point: axis -> value (``None`` where the axis does not apply)."""
        number, position = self.locate(index)
        slab = self.slabs[number]
        found = dict(slab.fixed)
        for axis, at in zip(slab.axes, position, strict=True):
            if axis.name == LAYOUT:
                rows: Layouts = axis.values
                found |= rows.values(at)
            else:
                found[axis.name] = axis.values[at]
        return found


def _place(axis: Axis, values: Mapping[str, Value | None]) -> int:
    """Where the value of a point is among those of an axis."""
    if axis.name != LAYOUT:
        return axis.values.index(values[axis.name])
    rows: Layouts = axis.values
    return int(rows.row(values))


def _cut(slab: Slab, number: int, largest: int, first: int, stop: int) -> Iterator[Box]:
    """The boxes of a slab whose first point, counted from the slab's, is in [first, stop)."""
    cut = 0
    while cut < len(slab.shape) and math.prod(slab.shape[cut:]) > largest:
        cut += 1
    *outer_shape, rows = slab.shape[:cut] or (1,)  # axes cut into single values, and into runs
    tail = math.prod(slab.shape[cut:])
    whole = tuple(slice(0, n) for n in slab.shape[cut:])
    run = max(1, largest // tail) if cut else 1
    outer, rest = divmod(max(first, 0), rows * tail)
    begin = -(-rest // (run * tail)) * run  # the first run that starts there or later
    if begin >= rows:
        outer, begin = outer + 1, 0
    stop = min(stop, slab.size)
    while (at := (outer * rows + begin) * tail) < stop:
        end = min(begin + run, rows)
        inner = (slice(begin, end),) if cut else ()
        outers = tuple(slice(p, p + 1) for p in _position(outer, outer_shape))
        yield Box(number, slab.first + at, (*outers, *inner, *whole), slab.strides)
        outer, begin = (outer, end) if end < rows else (outer + 1, 0)


def _position(offset: int, shape: Sequence[int]) -> tuple[int, ...]:
    """Where the point ``offset`` of a grid in C order is on each axis."""
    position = []
    for length in reversed(shape):
        offset, at = divmod(offset, length)
        position.append(at)
    return tuple(reversed(position))


def _applied(
    axis: Axis, conditions: Sequence[Condition], values: Mapping[str, Value | None]
) -> Axis:
    """The axis as it is where the structural axes have these values."""
    mine = [c for c in conditions if c.axis == axis.name]
    if not mine:
        return axis
    for condition in mine:  # the first that holds
        if all(values[name] in allowed for name, allowed in condition.requires):
            return Axis(axis.name, condition.values, condition.labels, axis.ordered)
    return Axis(axis.name, (None,), ("",), axis.ordered)  # type: ignore[arg-type]
