"""Two points beside each other: a row for each fact in which they differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf, log

from dse.pricing.bill_of_materials import Item
from dse.report import words
from dse.report.bills import total
from dse.report.design_point import Bounds, Explained, Point
from dse.report.front_columns import quantity_title
from dse.report.terms import seconds
from dse.study.axes import spoken
from dse.study.quantities import QUANTITIES

SAMPLES = 1000  # per so many, where steps take different numbers of them
SHARE = "share"  # the unit of probabilities
_POINT = 0.005  # probabilities that differ by less are shown as the same
_SAME = 0.0005  # other numbers that differ by a smaller share are


@dataclass(frozen=True, kw_only=True)
class Line:
    """A fact of two points, or of two runs. name: for programs, title: for people; unit: of a
    number, empty for a count. value, against: of the first and the second, None where not known or
    not there. interval, against_interval: of each, 90 %. comparable: whether both numbers mean the
    same."""

    name: str
    title: str
    unit: str = ""
    value: int | float | str | None
    against: int | float | str | None
    interval: Bounds | None = None
    against_interval: Bounds | None = None
    comparable: bool = True

    @property
    def numbers(self) -> tuple[float, float] | None:
        """Both values; None where one of them is no number."""
        if isinstance(self.value, int | float) and isinstance(self.against, int | float):
            return self.value, self.against
        return None

    @property
    def differs(self) -> bool:
        """Whether the two are shown as different."""
        if self.numbers:
            least = _POINT if self.unit == SHARE else _SAME * max(map(abs, self.numbers))
            return abs(self.numbers[1] - self.numbers[0]) > least
        return self.value != self.against

    @property
    def size(self) -> float:
        """The logarithm of the ratio of two numbers; 0 where they are none, or not comparable."""
        if not self.numbers or not self.comparable or not self.differs:
            return 0.0
        return abs(log(self.numbers[1] / self.numbers[0])) if min(self.numbers) > 0 else inf

    @property
    def change(self) -> str:
        """By how much the second number differs from the first: ``+2.8 %``, ``3.1 times``."""
        if not self.numbers or not self.comparable:
            return "not comparable" if self.numbers else ""
        first, second = self.numbers
        if self.unit == SHARE:
            return f"{100 * (second - first):+.0f} points"
        if not first or not second:
            return "down to 0" if first else "up from 0"
        share = second / first - 1
        if share >= 1:
            return f"{words.significant(1 + share)} times"
        return f"{'+' if share > 0 else '-'}{words.percent(abs(share))}"

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """Title, both values with their intervals, and the change."""
        first = _shown(self.value, self.unit, self.interval)
        second = _shown(self.against, self.unit, self.against_interval)
        return self.title, first, second, self.change


def _shown(value: float | str | None, unit: str, interval: Bounds | None) -> str:
    if value is None or isinstance(value, str):
        return value or "-"
    if unit == SHARE:
        return words.percent(value)
    if not unit:
        return words.count(value)
    known, between = words.with_interval(value, interval, unit)
    return f"{known} ({between})" if between not in ("", known) else known


def choices(one: Point, other: Point) -> list[Line]:
    """The axes on which two points differ."""
    axes = dict.fromkeys((*one.config, *other.config))
    found = [
        Line(name=axis, title=words.capital(spoken(axis)), value=words.label(one, axis),
             against=words.label(other, axis))
        for axis in axes
    ]  # fmt: skip
    return [line for line in found if line.differs]


def quantities(one: Point, other: Point) -> Iterator[Line]:
    """What two points come to: each quantity that one may aim at, free memory and batch."""
    for row in QUANTITIES.values():
        if row.phrase is None:
            continue
        values = one.quantity(row.name), other.quantity(row.name)
        if values != (None, None):
            yield Line(
                name=row.name, title=quantity_title(row), unit=row.phrase.unit,
                value=values[0], against=values[1],
                interval=one.bounds(row.name), against_interval=other.bounds(row.name),
            )  # fmt: skip
    yield Line(name="memory_slack", title=words.capital(words.FREE_MEMORY), unit="B",
               value=one.memory_slack_bytes, against=other.memory_slack_bytes)  # fmt: skip
    yield Line(name="global_batch", title="Global batch", value=one.global_batch,
               against=other.global_batch)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class SideBySide:
    """Two points of one front, by their rows. per_samples: of how many samples the times are, where
    steps take different numbers of them. lines: axes, terms of the time and parts by the size of
    the difference, and quantities."""

    study: str
    row: int
    against_row: int
    note: str
    per_samples: int | None
    lines: tuple[Line, ...]


def side_by_side(
    study: str, rows: tuple[int, int], points: tuple[Explained, Explained], note: str = ""
) -> SideBySide:
    """What tells two points apart. rows: where they stand on the front."""
    one, other = points
    per = None if one.global_batch == other.global_batch else SAMPLES
    terms = sorted(_terms(one, other, per), key=_apart, reverse=True)
    parts = sorted(_parts(one.bill, other.bill), key=_apart, reverse=True)
    lines = (*choices(one, other), *terms, *parts, *quantities(one, other))
    return SideBySide(
        study=study,
        row=rows[0],
        against_row=rows[1],
        note=note,
        per_samples=per,
        lines=tuple(line for line in lines if line.differs),
    )


def _apart(line: Line) -> float:
    """By how much two numbers differ; an unknown one is 0."""
    return abs(float(line.against or 0.0) - float(line.value or 0.0))


def _terms(one: Point, other: Point, per: int | None) -> Iterator[Line]:
    mine, theirs = map(seconds, (one, other))
    scales = [per / point.global_batch if per else 1.0 for point in (one, other)]
    for term in mine:
        yield Line(
            name=term.name, title=term.heading, unit="s",
            value=mine[term] * scales[0], against=theirs[term] * scales[1],
        )  # fmt: skip


def _parts(mine: Sequence[Item], theirs: Sequence[Item]) -> Iterator[Line]:
    for item in dict.fromkeys(line.item for line in (*mine, *theirs)):
        one, other = ([line for line in bill if line.item == item] for bill in (mine, theirs))
        yield Line(name=item, title=item, unit="USD", value=total(one) if one else None,
                   against=total(other) if other else None)  # fmt: skip
