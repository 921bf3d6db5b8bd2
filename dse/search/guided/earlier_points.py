"""Points of an earlier run, found again in another study by the names of their axes and values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dse.errors import StudyError
from dse.pricing.gradient_format import summed_format
from dse.search.guided.points import Point, Points
from dse.study import Value
from dse.study.axes import AUTO_FORMAT, GRADIENT
from dse.study.names import Names
from dse.study.values import assigned


def mapped(
    space: Points, configs: Sequence[Mapping[str, str]], names: Names
) -> tuple[list[Point], int]:
    """(points of this study, how many of the others it does not have).

    configs: axis -> value as text; "" where the axis did not apply. Axes that this study does not
    have are left out; those that it has and the earlier one had not are as in its baseline.
    """
    found = [_point(space, config, names) for config in configs]
    points = [point for point in found if point is not None]
    return list(dict.fromkeys(points)), len(found) - len(points)


def _point(space: Points, config: Mapping[str, str], names: Names) -> Point | None:
    given: dict[str, Value | None] = {}
    for axis in space.axes:
        text = config.get(axis.name, "")
        if not text and axis.name in config:
            return None
        usual = space.study.baseline.values.get(axis.name)
        if usual is None or not axis.has(usual):
            usual = next(iter(space.levels[axis.name]), None)
        value = _value(space, axis.name, text, names) if text else usual
        if value is None and axis.name == GRADIENT and space.study.has(GRADIENT, AUTO_FORMAT):
            value = AUTO_FORMAT
        if value is None:
            return None
        given[axis.name] = value
    said = config.get(GRADIENT) or AUTO_FORMAT  # or what auto came to
    if given.get(GRADIENT) == AUTO_FORMAT and said not in (AUTO_FORMAT, summed_format(given)):
        return None
    for name in space.conditional:
        values = space.applicable(name, given)[1]
        given[name] = None
        if values and config.get(name):
            value = _value(space, name, config[name], names)
            if value not in values:
                return None
            given[name] = value
        elif values:
            usual = space.study.baseline.values.get(name)
            given[name] = usual if usual in values else values[0]
    given = space.on_axes(given)
    return tuple(given[name] for name in space.names)


def _value(space: Points, name: str, text: str, names: Names) -> Value | None:
    """The value that this study has by that name; None if there is none."""
    try:
        value = assigned(space.study, f"{name}={text}", names)[1]
    except StudyError:
        return None
    return value if space.study.has(name, value) else None
