"""Design points of a guided search: their form, and the corners of their space."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from dse.study import Axis, Study, Value
from dse.study.definition import Wire

Point: TypeAlias = tuple[Value | None, ...]  # one value per axis, in the order of Points.names

MOST_CORNERS = 64  # values of an axis


class Points:
    """The axes of a study as a guided search sees them.

    axes: given and default ones, without the conditional. continuous: those of them that are.
    names: of all of them, in the order of a point. A conditional axis has None where no condition
    on it holds; of several conditions the first that holds counts.
    """

    def __init__(self, study: Study) -> None:
        self.study = study
        self.axes: tuple[Axis, ...] = (*study.axes, *study.defaults)
        self.conditional = tuple(dict.fromkeys(c.axis for c in study.conditions))
        self.names = (*(axis.name for axis in self.axes), *self.conditional)
        self.continuous = tuple(a for a in self.axes if a.continuous)
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

    def on_axes(self, given: Mapping[str, Value | None]) -> dict[str, Value | None]:
        """The values with links of continuous axes as these have them, but for the bandwidth."""
        found = dict(given)
        for axis in self.axes:
            value = found[axis.name]
            if axis.continuous and value is not None and not isinstance(value, str):
                found[axis.name] = axis.continuous_value(size(value))
        return found

    def applicable(
        self, name: str, given: Mapping[str, Value | None]
    ) -> tuple[int, Sequence[Value]]:
        """(number of the condition, values) of a conditional axis; (-1, ()) where it is blank."""
        for number, condition in enumerate(self.study.conditions):
            if condition.axis == name and all(
                given[other] in allowed for other, allowed in condition.requires
            ):
                return number, condition.values
        return -1, ()

    def completions(self, given: Mapping[str, Value | None]) -> Iterator[Point]:
        """The points with these values: one for every choice of the conditional axes that do not
        have a fitting one.
        """
        options = [{axis.name: given[axis.name] for axis in self.axes}]
        for name in self.conditional:
            values: Sequence[Value | None] = self.applicable(name, given)[1] or (None,)
            if given.get(name) in values:
                values = (given.get(name),)
            options = [{**option, name: value} for option in options for value in values]
        for option in options:
            yield tuple(option[name] for name in self.names)

    # -- systematic --------------------------------------------------------------------------

    def corners(self) -> Iterator[Point]:
        """For every value of every unordered axis, the lowest and the highest of the ordered."""
        ends = [{a.name: at_fraction(a, end) for a in self.axes} for end in (0.0, 1.0)]
        for low_high in ends:
            yield from self.completions(low_high)
            for axis in self.free:
                for value in () if axis.continuous else axis.values[:MOST_CORNERS]:
                    yield next(self.completions({**low_high, axis.name: value}))


def size(value: Value) -> float:
    """The number of a value on a numeric axis: of a link its bandwidth."""
    return value.bytes_per_s if isinstance(value, Wire) else float(value)


def number_name(axis: Axis) -> str:
    """What the numbers of a continuous axis are called: its name and their unit."""
    return f"{axis.name}_{'bytes' if axis.wire is None else 'bytes_per_s'}"


def continuous_numbers(study: Study, values: Mapping[str, Value | None]) -> dict[str, float]:
    """Values on the continuous axes, exactly, where labels are rounded."""
    return {
        number_name(axis): size(value)
        for axis in study.axes
        if axis.continuous
        and (value := values.get(axis.name)) is not None
        and not isinstance(value, str)  # a fabric by its name
    }


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
        return axis.continuous_value(high if where else low)
    number = low * (high / low) ** where if low > 0 else low + where * (high - low)
    return axis.continuous_value(min(max(number, low), high))
