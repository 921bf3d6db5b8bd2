"""Two points, or two finished runs, beside each other: a row for each fact in which they differ.

Runs are read from their documents; nothing is priced again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import zip_longest
from math import inf, log

from dse.catalog import Citation
from dse.pricing.bill_of_materials import Item
from dse.report import words
from dse.report.bills import total
from dse.report.design_point import Bounds, Explained, Point
from dse.report.document import RunDocument
from dse.report.front_columns import quantity_title
from dse.report.provenance import OWN
from dse.report.terms import seconds
from dse.study.axes import spoken
from dse.study.quantities import QUANTITIES

SAMPLES = 1000  # per so many, where steps take different numbers of them
SHARE = "share"  # the unit of probabilities
_POINT = 0.005  # probabilities that differ by less are shown as the same
_SAME = 0.0005  # other numbers that differ by a smaller share are
_ACCELERATOR = "accelerators."  # begins the name of an accelerator's price


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
    if unit == "B":
        return words.size(value)
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


@dataclass(frozen=True, kw_only=True)
class RunComparison:
    """Two runs, ``a`` and ``b``: their folders. most: what changed most. inputs: what differs of
    all that the numbers follow from; answer: of what is recommended and what it comes to."""

    a: str
    b: str
    studies: tuple[str, str]
    created: tuple[str, str]
    most: str
    inputs: tuple[Line, ...]
    answer: tuple[Line, ...]


def compared(a: RunDocument, b: RunDocument, names: tuple[str, str]) -> RunComparison:
    """Compare two runs; names: of their folders, as the user gave them."""
    inputs = tuple(line for line in _inputs(a, b) if line.differs)
    answer = tuple(line for line in _answer(a, b) if line.differs)
    return RunComparison(
        a=names[0],
        b=names[1],
        studies=(a.study.name, b.study.name),
        created=(a.created, b.created),
        most=_most(inputs, answer),
        inputs=inputs,
        answer=answer,
    )


def _most(inputs: tuple[Line, ...], answer: tuple[Line, ...]) -> str:
    aims = [line for line in answer if line.name in QUANTITIES and QUANTITIES[line.name].phrase]
    largest = max(aims, key=lambda line: line.size, default=None)
    if largest is not None and largest.size:
        title, was, now, change = largest.cells
        return f"{title} changed most, {change}: {was} in A, {now} in B."
    return "No number of the answer changed." if inputs or answer else "Nothing differs."


def _answer(a: RunDocument, b: RunDocument) -> Iterator[Line]:
    """What is recommended, and what it comes to."""
    one, other = a.recommended, b.recommended
    yield from choices(one, other)
    for line in quantities(one, other):
        yield replace(line, comparable=_comparable(line.name, a, b))
    for name, title, of in (
        ("best", "Best choice in so many outcomes", _odds),
        ("limits", "Every limit is met in", _met),
    ):
        yield Line(name=name, title=title, unit=SHARE, value=of(a), against=of(b))
    shown = [words.says_who(point) for point in (one, other)]
    yield Line(name="evidence", title="Communication", value=shown[0], against=shown[1])


def _comparable(name: str, a: RunDocument, b: RunDocument) -> bool:
    """Whether a quantity means the same in both: the speeds of one workload, over one baseline, and
    the price of what is added to the same hardware."""
    if name == "speedup":
        rates = [run.baseline.throughput_samples_per_s for run in (a, b)]
        pace = Line(name="baseline", title="", value=rates[0], against=rates[1])
        same = a.baseline.config == b.baseline.config and not pace.differs
        return same and a.study.workload == b.study.workload
    if name == "capital":
        return a.owned == b.owned
    return a.study.workload == b.study.workload or not QUANTITIES[name].communication


def _met(document: RunDocument) -> float | None:
    """The probability that every limit is met, where it was asked for."""
    return document.confidence.recommended if document.confidence else None


def _odds(document: RunDocument) -> float | None:
    """The probability that what is recommended is the best choice."""
    known = document.certainty and document.certainty.choice(document.recommended.config)
    return known.best if known else None


def _inputs(a: RunDocument, b: RunDocument) -> Iterator[Line]:
    """All that the numbers follow from."""
    yield from _study(a.study_text.splitlines(), b.study_text.splitlines())
    asked = (a.questions or {}, b.questions or {})
    yield from _texts("--{}", *asked)
    facts = [*_texts("{}", _facts(a.sources, b.sources), _facts(b.sources, a.sources))]
    yield from facts
    if not any(line.differs for line in facts):
        hashes = ((found.hashes.catalogue[:8], found.inputs_hash[:8]) for found in (a, b))
        for name, was, now in zip(("Catalogue", "Workload or prices"), *hashes, strict=True):
            yield Line(name=name.lower(), title=name, value=was, against=now)
    yield from _texts("Profile {}", *(
        {row.name: f"measured {row.date} ({row.hash[:8]})" for row in found.calibration}
        for found in (a, b)
    ))  # fmt: skip
    yield from _texts("{}", a.versions, b.versions)
    yield Line(name="engine", title="Engine", value=a.engine, against=b.engine)
    if "guided" in (a.engine, b.engine):
        yield Line(name="seed", title="Seed", value=str(a.seed), against=str(b.seed))


def _study(a: list[str], b: list[str]) -> Iterator[Line]:
    """Lines of the studies that differ."""
    for _, start, end, other, other_end in SequenceMatcher(None, a, b, False).get_opcodes():
        pairs = zip_longest(a[start:end], b[other:other_end])
        for number, (was, now) in enumerate(pairs, start + 1):
            yield Line(name="study", title=f"Study, line {number}", value=was, against=now)


def _texts(title: str, a: Mapping[str, str], b: Mapping[str, str]) -> Iterator[Line]:
    """A line for each key of two mappings."""
    for name in dict.fromkeys((*a, *b)):
        yield Line(name=name, title=title.format(name), value=a.get(name), against=b.get(name))


def _facts(mine: tuple[Citation, ...], theirs: tuple[Citation, ...]) -> dict[str, str]:
    """Facts of the items that both runs have, and the buyer's prices, as they are written. A price
    of the buyer and the catalogue's for the same accelerator have one name."""
    both = {row.item for row in theirs} | {OWN}
    return {
        _fact(row): f"{row.value} ({row.date})" if row.date else row.value
        for row in mine
        if row.item in both or row.fact.startswith(_ACCELERATOR)
    }


def _fact(row: Citation) -> str:
    if row.item != OWN and not row.fact.startswith(_ACCELERATOR):
        return f"{row.item}, {row.fact}"
    return f"Price, {row.fact.removeprefix(_ACCELERATOR).removesuffix('.purchase')}"
