"""The axes of a study as a page may change them: fewer values, and listed ones of ranges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dse.report.live.questions import Refused
from dse.study import Axis, Study, Value, Wire
from dse.study.axes import AXES, BANDWIDTH, NumberKind
from dse.study.numbers import shown
from dse.units import UnitError, parse

GRID = 5  # values of a continuous axis that are tried where nobody lists others
MOST_VALUES = 100  # of such an axis


@dataclass(frozen=True)
class Range:
    """A continuous axis. written: its ends; values: those that are tried, as they are written."""

    name: str
    written: str
    values: tuple[str, ...]


def ranges(study: Study) -> list[Range]:
    """The continuous axes, with GRID values of each at even ratios, and the baseline's."""
    found = []
    for axis in study.axes:
        if axis.low is None or axis.high is None:
            continue
        numbers = {*np.geomspace(axis.low, axis.high, GRID)[1:-1], axis.low, axis.high}
        base = study.baseline.values.get(axis.name)
        if base is not None and axis.has(base):
            numbers.add(base.bytes_per_s if isinstance(base, Wire) else float(base))
        texts = [shown(_rounded(number), _kind(axis)) for number in sorted(numbers)]
        found.append(Range(axis.name, axis.written, tuple(dict.fromkeys(texts))))
    return found


def _rounded(number: float) -> float:
    """To six digits."""
    return float(f"{number:.6g}")


def _kind(axis: Axis) -> NumberKind:
    kind = BANDWIDTH if axis.wire is not None else AXES[axis.name].number
    assert kind is not None, axis.name
    return kind


def gridded(study: Study, asked: Mapping[str, Sequence[str]]) -> Study:
    """The study with a list of values in place of every continuous axis."""
    usual = {one.name: one.values for one in ranges(study)}
    for name in asked:
        if name not in usual:
            raise Refused(f"'{name}' is not a continuous axis of the study")
    return replace(study, axes=tuple(
        _listed(axis, asked.get(axis.name, usual[axis.name])) if axis.continuous else axis
        for axis in study.axes
    ))  # fmt: skip


def _listed(axis: Axis, texts: Sequence[str]) -> Axis:
    """A continuous axis as the list of its values, rising."""
    assert axis.low is not None, axis.name
    assert axis.high is not None, axis.name
    if not 0 < len(texts) <= MOST_VALUES:
        raise Refused(f"{axis.name}: list 1 to {MOST_VALUES} values, separated by commas")
    kind, numbers = _kind(axis), set[float]()
    for text in texts:
        try:
            number = parse(text, kind.dimension, shown(axis.low, kind))
        except UnitError as cause:
            raise Refused(f"{axis.name}: {cause}") from None
        if not axis.low * (1 - 1e-9) <= number <= axis.high * (1 + 1e-9):
            raise Refused(f"{axis.name}: {text} is not in the study's range, {axis.written}")
        numbers.add(min(max(number, axis.low), axis.high))
    values = tuple(axis.continuous_value(number) for number in sorted(numbers))
    labels = tuple(shown(number, kind) for number in sorted(numbers))
    return Axis(axis.name, values, labels, ordered=True)


def axes(study: Study) -> dict[str, tuple[str, ...]]:
    """The axes that leave a choice, with their labels; conditional ones included."""
    found = {axis.name: axis.labels for axis in study.axes if not axis.continuous}
    for condition in study.conditions:
        labels = (*found.get(condition.axis, ()), *condition.labels)
        found[condition.axis] = tuple(dict.fromkeys(labels))
    return {name: labels for name, labels in found.items() if len(labels) > 1}


def narrowed(study: Study, kept: Mapping[str, Sequence[str]]) -> Study:
    """The study with those values alone that are kept."""
    known = axes(study)
    for name, labels in kept.items():
        if name not in known:
            raise Refused(f"the study has no choice of '{name}'; it has {', '.join(known)}")
        if strange := [label for label in labels if label not in known[name]]:
            raise Refused(f"{name} has no value '{strange[0]}'; it has {', '.join(known[name])}")
        if not labels:
            raise Refused(f"{name}: leave at least one value")

    def left(name: str, values: Sequence[Value], labels: Sequence[str]) -> Any:
        pairs = [(value, label) for value, label in zip(values, labels, strict=True)
                 if name not in kept or label in kept[name]]  # fmt: skip
        return {
            "values": tuple(value for value, _ in pairs),
            "labels": tuple(label for _, label in pairs),
        }

    shorter = tuple(
        replace(axis, **left(axis.name, axis.values, axis.labels)) for axis in study.axes
    )
    conditions = tuple(
        replace(one, **left(one.axis, one.values, one.labels)) for one in study.conditions
    )
    left_of = [(axis.name, axis.values) for axis in shorter]
    for name, values in [*left_of, *((one.axis, one.values) for one in conditions)]:
        if not values:
            raise Refused(f"{name}: leave a value for every case that the study has")
    return replace(study, axes=shorter, conditions=conditions)
