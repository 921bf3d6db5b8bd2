"""Numbers of an axis: a list, one value, or a range."""

from __future__ import annotations

import math
from typing import TypeAlias

from dse.mistakes import Mistakes, each
from dse.study.axes import NumberKind
from dse.study.cursor import Cursor

MAX_VALUES = 10_000

_RANGE = ("from", "to", "scale", "step", "continuous")


# Values in SI, as written, and their places; or none, and the ends of a continuous range.
Numbers: TypeAlias = tuple[list[tuple[int | float, str, Cursor]], tuple[float, float] | None]


def read_numbers(cursor: Cursor, kind: NumberKind, *, continuous: bool = False) -> Numbers:
    """The numbers at ``cursor``; ``continuous`` says whether a continuous range is allowed."""
    if isinstance(cursor.value, dict):
        return _range(cursor, kind, continuous)
    values = each(lambda place: read_number(place, kind), cursor.each())
    return [
        (value, _written(place, kind), place)
        for value, place in zip(values, cursor.each(), strict=True)
    ], None  # fmt: skip


def read_number(cursor: Cursor, kind: NumberKind) -> int | float:
    """One number within the limits of its kind."""
    if kind.whole:
        return cursor.whole(int(kind.low), int(kind.high))
    return cursor.quantity(
        kind.dimension, kind.high, low=kind.low, zero=kind.zero, example=kind.example
    )


def _written(cursor: Cursor, kind: NumberKind) -> str:
    return f"{cursor.value:.0f}" if kind.whole else " ".join(str(cursor.value).split())


def _range(cursor: Cursor, kind: NumberKind, continuous: bool) -> Numbers:
    label = cursor.label
    mistakes = Mistakes()
    cursor = cursor.keys(_RANGE, ("from", "to"), mistakes)
    ends = mistakes.parts(lambda end: read_number(cursor.at(end), kind), ("from", "to"))
    mistakes.told()
    keys = cursor.given()
    start, stop = (end() for end in ends)
    if start > stop:
        problem = f"{label}: the range runs from {_text(cursor, 'from')} down to"
        raise cursor.at("from").wrong(f"{problem} {_text(cursor, 'to')}", "swap from and to")
    if "continuous" in keys:
        if cursor.value["continuous"] is not True:
            wrong = cursor.at("continuous")
            raise wrong.wrong(f"{label}: continuous: {wrong.shown}", "write true, or leave it out")
        if not continuous:
            remedy = "use scale: doubling, or step: 1"
            raise cursor.at("continuous").wrong(f"{label} cannot be continuous", remedy, key=True)
        for extra in ("scale", "step"):
            if extra in keys:
                problem = f"{label}: {extra} has no meaning in a continuous range"
                raise cursor.at(extra).wrong(problem, "leave it out", key=True)
        if start == stop:
            raise cursor.at("to").wrong(f"{label}: the range is empty", "make 'to' the larger")
        return [], (float(start), float(stop))
    least, *others = _steps(cursor, kind, start, stop)
    first = cursor.at("from")
    found = [(least, _written(first, kind), first)]
    return found + [(value, shown(value, kind), first) for value in others], None


def _steps(
    cursor: Cursor, kind: NumberKind, start: int | float, stop: int | float
) -> list[int | float]:
    scale = cursor.at("scale").text("doubling or linear") if cursor.has("scale") else None
    if scale not in (None, "doubling", "linear"):
        wrong = cursor.at("scale")
        wrong.named("scale", ("doubling", "linear"))
    if scale == "doubling":
        if cursor.has("step"):
            problem = "step has no meaning with scale: doubling"
            raise cursor.at("step").wrong(problem, "leave one of them out", key=True)
        values = [start]
        while values[-1] * 2 <= stop:
            values.append(values[-1] * 2)
        return values
    if not cursor.has("step"):
        problem = f"{cursor.label}: the range needs a scale or a step"
        raise cursor.wrong(problem, "add scale: doubling, or step: ..")
    step = read_number(cursor.at("step"), kind)
    many = int((stop - start) / step * (1 + 1e-12)) + 1
    if many > MAX_VALUES:
        problem = f"{cursor.label}: {many} values, more than {MAX_VALUES}"
        raise cursor.at("step").wrong(problem, "use a larger step")
    return [start + index * step for index in range(many)]


def _text(cursor: Cursor, key: str) -> str:
    return str(cursor.value[key])


def divisors_of(number: int) -> list[int]:
    """All divisors of a whole number, ascending."""
    low = [d for d in range(1, math.isqrt(number) + 1) if number % d == 0]
    return sorted({*low, *(number // d for d in low)})


_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def shown(value: float, kind: NumberKind) -> str:
    """A number of a range, in the unit in which its kind is commonly written."""
    if kind.whole:
        return str(value)
    if kind.dimension == "count":
        return f"{value:g}"
    if kind.dimension == "seconds":
        return f"{value * 1e3:.6g} ms"
    if kind.dimension == "bytes_per_s":
        return _decimal(value * 8, "bps")
    decimal = _decimal(value, "B")
    for exponent, unit in ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")):
        if value >= 2**exponent and (value * 1024 / 2**exponent).is_integer():
            return min(f"{value / 2**exponent:.6g} {unit}", decimal, key=len)  # 25 MB, 24414.1 KiB
    return decimal


def _decimal(number: float, unit: str) -> str:
    for size, prefix in _PREFIXES:
        if number >= size:
            return f"{number / size:.6g} {prefix}{unit}"
    return f"{number:.6g} {unit}"
