"""Design points of a guided search: their form, their neighbours, and their kin at random."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from dse.study import Axis, Study, Value
from dse.study.definition import Wire

Point: TypeAlias = tuple[Value | None, ...]  # one value per axis, in the order of Points.names
Code: TypeAlias = int | float | None  # of a value: its position, or itself where continuous

ALL_VALUES = 64  # an axis with more has only some of its values as neighbours
NUDGES = (-0.1, -0.01, -0.001, 0.001, 0.01, 0.1)  # of a continuous axis' range
STEPS = (0.0, 0.0, 0.05, 0.3)  # how far a random step goes on an ordered axis, of its length


class Points:
    """The axes of a study as a guided search sees them.

    axes: given and default ones, without the conditional. names: of all of them, in the order of a
    point. A conditional axis has None where no condition on it holds; of several conditions the
    first that holds counts.
    """

    def __init__(self, study: Study) -> None:
        self.study = study
        self.axes: tuple[Axis, ...] = (*study.axes, *study.defaults)
        self.conditional = tuple(dict.fromkeys(c.axis for c in study.conditions))
        self.names = (*(axis.name for axis in self.axes), *self.conditional)
        self.free = tuple(a for a in self.axes if a.continuous or len(a.values) > 1)
        self.levels: dict[str, dict[Value, int]] = {
            axis.name: {value: at for at, value in enumerate(axis.values)} for axis in self.axes
        }
        for name in self.conditional:
            every = [v for c in study.conditions if c.axis == name for v in c.values]
            self.levels[name] = {value: at for at, value in enumerate(dict.fromkeys(every))}

    def values(self, point: Point) -> dict[str, Value | None]:
        """The point, axis -> value."""
        return dict(zip(self.names, point, strict=True))

    def on_axes(self, chosen: Mapping[str, Value | None]) -> dict[str, Value | None]:
        """The values with links of continuous axes as these have them, but for the bandwidth."""
        found = dict(chosen)
        for axis in self.axes:
            value = found[axis.name]
            if axis.continuous and value is not None and not isinstance(value, str):
                found[axis.name] = continuous_value(axis, size(value))
        return found

    def applicable(
        self, name: str, chosen: Mapping[str, Value | None]
    ) -> tuple[int, Sequence[Value]]:
        """(number of the condition, values) of a conditional axis; (-1, ()) where it is blank."""
        for number, condition in enumerate(self.study.conditions):
            if condition.axis == name and all(
                chosen[other] in allowed for other, allowed in condition.requires
            ):
                return number, condition.values
        return -1, ()

    def completions(self, chosen: Mapping[str, Value | None]) -> Iterator[Point]:
        """The points with these values: one for every choice of the conditional axes that do not
        have a fitting one.
        """
        options = [{axis.name: chosen[axis.name] for axis in self.axes}]
        for name in self.conditional:
            values: Sequence[Value | None] = self.applicable(name, chosen)[1] or (None,)
            if chosen.get(name) in values:
                values = (chosen.get(name),)
            options = [{**option, name: value} for option in options for value in values]
        for option in options:
            yield tuple(option[name] for name in self.names)

    def completed(self, chosen: Mapping[str, Value | None], rng: np.random.Generator) -> Point:
        """The point with these values; a conditional axis without a fitting one gets any."""
        whole = dict(chosen)
        for name in self.conditional:
            values = self.applicable(name, whole)[1]
            if not values:
                whole[name] = None
            elif whole.get(name) not in values:
                whole[name] = values[int(rng.integers(len(values)))]
        return tuple(whole[name] for name in self.names)

    # -- systematic --------------------------------------------------------------------------

    def neighbours(self, point: Point) -> Iterator[Point]:
        """Every change of one axis; where a conditional axis newly applies, each of its values."""
        chosen = self.values(point)
        for axis in self.free:
            for value in _alternatives(axis, chosen[axis.name]):
                yield from self.completions({**chosen, axis.name: value})
        for name in self.conditional:
            for value in self.applicable(name, chosen)[1]:
                yield from self.completions({**chosen, name: value})

    def corners(self) -> Iterator[Point]:
        """For every value of every unordered axis, the lowest and the highest of the ordered."""
        ends = [{a.name: at_fraction(a, end) for a in self.axes} for end in (0.0, 1.0)]
        for low_high in ends:
            yield from self.completions(low_high)
            for axis in self.free:
                for value in () if axis.continuous else axis.values[:ALL_VALUES]:
                    yield next(self.completions({**low_high, axis.name: value}))

    # -- at random ---------------------------------------------------------------------------

    def any(self, rng: np.random.Generator) -> Point:
        """A point at random."""
        return self.completed({axis.name: _any(axis, rng) for axis in self.axes}, rng)

    def spread(self, count: int, rng: np.random.Generator) -> list[Point]:
        """Points whose values on every axis are spread evenly (a Latin hypercube)."""
        at = (rng.permuted(np.tile(np.arange(count), (len(self.axes), 1)), axis=1)
              + rng.random((len(self.axes), count))) / count  # fmt: skip
        return [
            self.completed({a.name: at_fraction(a, at[k, n]) for k, a in enumerate(self.axes)}, rng)
            for n in range(count)
        ]

    def mutant(self, point: Point, rng: np.random.Generator, changes: int) -> Point:
        """The point with that many axes changed; steps on ordered axes are mostly short."""
        chosen = self.values(point)
        for at in rng.permutation(len(self.free))[:changes]:
            axis = self.free[int(at)]
            chosen[axis.name] = _step(axis, chosen[axis.name], rng)
        if self.conditional and rng.random() < 0.3:
            name = self.conditional[int(rng.integers(len(self.conditional)))]
            chosen[name] = None  # drawn anew where it applies
        return self.completed(chosen, rng)

    def child(self, one: Point, other: Point, rng: np.random.Generator) -> Point:
        """A point with every value from one of two."""
        left, right = self.values(one), self.values(other)
        return self.completed(
            {name: (left if rng.random() < 0.5 else right)[name] for name in self.names}, rng
        )

    # -- as numbers --------------------------------------------------------------------------

    def codes(self, point: Point) -> list[Code]:
        """The point as JSON."""
        found: list[Code] = []
        for name, value in zip(self.names, point, strict=True):
            axis = next((a for a in self.axes if a.name == name), None)
            if value is None:
                found.append(None)
            elif axis is not None and axis.continuous:
                found.append(size(value))
            else:
                found.append(self.levels[name][value])
        return found

    def decoded(self, codes: Sequence[Code]) -> Point:
        """The inverse of :meth:`codes`; raises ValueError or IndexError on nonsense."""
        point: list[Value | None] = []
        for name, code in zip(self.names, codes, strict=True):
            axis = next((a for a in self.axes if a.name == name), None)
            if code is None:
                point.append(None)
            elif axis is not None and axis.continuous:
                point.append(continuous_value(axis, float(code)))
            else:
                point.append(list(self.levels[name])[int(code)])
        return tuple(point)


def size(value: Value) -> float:
    """The number of a value on a numeric axis: of a link its bandwidth."""
    return value.bytes_per_s if isinstance(value, Wire) else float(value)


def continuous_value(axis: Axis, number: float) -> Value:
    """A value of a continuous axis."""
    number = float(number)
    if axis.wire is None:
        return number
    return replace(axis.wire, bytes_per_s=number, label=f"{number * 8 / 1e9:.4g} Gbps")


def fraction(axis: Axis, value: Value) -> float:
    """Where on a continuous axis a value is, from 0 to 1; by logarithm where the axis allows."""
    low, high = _ends(axis)
    if high == low:
        return 0.0
    if low > 0:
        return math.log(size(value) / low) / math.log(high / low)
    return (size(value) - low) / (high - low)


def _ends(axis: Axis) -> tuple[float, float]:
    assert axis.low is not None
    assert axis.high is not None
    return axis.low, axis.high


def at_fraction(axis: Axis, where: float) -> Value:
    """The value at a fraction of an axis, from 0 to 1."""
    if not axis.continuous:
        return axis.values[min(int(where * len(axis.values)), len(axis.values) - 1)]
    low, high = _ends(axis)
    if where in (0.0, 1.0):  # exactly, whatever rounding makes of a power
        return continuous_value(axis, high if where else low)
    number = low * (high / low) ** where if low > 0 else low + where * (high - low)
    return continuous_value(axis, min(max(number, low), high))


def _any(axis: Axis, rng: np.random.Generator) -> Value:
    return at_fraction(axis, float(rng.random()))


def _step(axis: Axis, value: Value | None, rng: np.random.Generator) -> Value:
    if not axis.ordered or rng.random() < 0.2:
        return _any(axis, rng)
    assert value is not None
    reach = STEPS[int(rng.integers(len(STEPS)))]
    if axis.continuous:
        moved = fraction(axis, value) + rng.normal() * max(reach, 0.01)
        return at_fraction(axis, min(max(moved, 0.0), 1.0))
    count = len(axis.values)
    step = int(rng.integers(1, 2 + max(1, int(reach * count)))) * (1 if rng.random() < 0.5 else -1)
    return axis.values[min(max(axis.values.index(value) + step, 0), count - 1)]


def _alternatives(axis: Axis, value: Value | None) -> Iterator[Value]:
    assert value is not None
    if axis.continuous:
        here = fraction(axis, value)
        for where in (0.0, 1.0, *(here + nudge for nudge in NUDGES)):
            if 0 <= where <= 1:
                yield at_fraction(axis, where)
        return
    if len(axis.values) <= ALL_VALUES or not axis.ordered:
        yield from (other for other in axis.values if other != value)
        return
    here = axis.values.index(value)
    count = len(axis.values)
    steps = [1 << power for power in range(count.bit_length())]
    near = {here + sign * step for step in steps for sign in (1, -1)} | {0, count - 1}
    yield from (axis.values[at] for at in sorted(near - {here}) if 0 <= at < count)
