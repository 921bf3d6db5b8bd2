"""Two points side by side: terms, parts and quantities, the largest differences first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dse.pricing.bill_of_materials import Item
from dse.report import words
from dse.report.design_point import Bounds, Explained
from dse.report.front_columns import axis_title, quantity_title
from dse.report.terms import TERMS
from dse.study.quantities import QUANTITIES

SAMPLES = 1000  # per so many, where steps take different numbers of them
_MS = 1e3
_PAI_TITLES = {"data_s": "Input (T_d)", "flops_s": "Computing (T_c)", "memory_s": "Memory (T_c)",
               "update_s": "Weight update (T_c)", "pcie_s": "PCIe (T_w)",
               "ethernet_s": "Ethernet (T_w)", "nvlink_s": "NVLink (T_w)"}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Line:
    """A number of two points. name: for programs, title: for people; None: not known, or not there.
    interval, against_interval: of each, 90 %."""

    name: str
    title: str
    unit: str
    value: float | None
    against: float | None
    interval: Bounds | None = None
    against_interval: Bounds | None = None

    @property
    def difference(self) -> float | None:
        """By how much the second is larger."""
        if self.value is None or self.against is None:
            return None
        return self.against - self.value


@dataclass(frozen=True, kw_only=True)
class Part:
    """An item of two bills; a quantity of 0: not in it."""

    item: str
    quantity: int
    against_quantity: int
    usd: float | None
    against_usd: float | None

    @property
    def difference(self) -> float:
        """By how much the second costs more; 0 where a price is not known."""
        return (self.against_usd or 0.0) - (self.usd or 0.0)


@dataclass(frozen=True, kw_only=True)
class SideBySide:
    """Two points of one front.

    choices: axis -> what both have. terms: seconds of a step, or of a thousand samples where steps
    take different numbers of them (per_samples); these and parts, by the size of the difference.
    """

    study: str
    row: int
    against_row: int
    choices: Mapping[str, tuple[str, str]]
    per_samples: int | None
    terms: tuple[Line, ...]
    parts: tuple[Part, ...]
    quantities: tuple[Line, ...]
    note: str = ""


def side_by_side(
    study: str, rows: tuple[int, int], points: tuple[Explained, Explained], note: str = ""
) -> SideBySide:
    """Two points side by side. rows: where they stand on the front."""
    one, other = points
    axes = dict.fromkeys((*one.config, *other.config))
    labels = {axis: (words.label(one, axis), words.label(other, axis)) for axis in axes}
    apart = one.global_batch != other.global_batch
    return SideBySide(
        study=study,
        row=rows[0],
        against_row=rows[1],
        choices={axis: pair for axis, pair in labels.items() if pair[0] != pair[1]},
        per_samples=SAMPLES if apart else None,
        terms=tuple(sorted(_terms(one, other, apart), key=_size, reverse=True)),
        parts=tuple(sorted(_parts(one.bill, other.bill), key=lambda p: -abs(p.difference))),
        quantities=tuple(_quantities(one, other)),
        note=note,
    )


def _size(line: Line) -> float:
    return abs(line.difference or 0.0)


def _terms(one: Explained, other: Explained, apart: bool) -> Iterator[Line]:
    titles = {term.key: term.title for term in TERMS}
    mine, theirs = (vars(p.pai.terms if p.pai else p.terms) for p in (one, other))
    scales = [SAMPLES / p.global_batch if apart else 1.0 for p in (one, other)]
    for name in mine:
        values = [_scaled(found.get(name), scale)
                  for found, scale in zip((mine, theirs), scales, strict=True)]  # fmt: skip
        title = titles.get(name) if one.pai is None else _PAI_TITLES.get(name)
        yield Line(name=name, title=title or name, unit="s", value=values[0], against=values[1])


def _scaled(value: float | None, scale: float) -> float | None:
    return None if value is None else value * scale


def _parts(mine: Sequence[Item], theirs: Sequence[Item]) -> Iterator[Part]:
    for item in dict.fromkeys(line.item for line in (*mine, *theirs)):
        one, other = ([line for line in bill if line.item == item] for bill in (mine, theirs))
        yield Part(
            item=item,
            quantity=sum(line.quantity for line in one),
            against_quantity=sum(line.quantity for line in other),
            usd=_sum(one),
            against_usd=_sum(other),
        )


def _sum(lines: Sequence[Item]) -> float | None:
    sums = [line.usd for line in lines]
    return None if None in sums else sum(usd for usd in sums if usd is not None)


def _quantities(one: Explained, other: Explained) -> Iterator[Line]:
    yield _line("speedup", "x", one.speedup, other.speedup, one, other, "speedup")
    yield _line("step", "s", one.step_s, other.step_s, one, other, "step_s")
    rates = (one.throughput_samples_per_s, other.throughput_samples_per_s)
    yield _line("throughput", "samples/s", *rates, one, other, "throughput_samples_per_s")
    for row in QUANTITIES.values():
        if row.phrase is None or row.name in ("speedup", "step", "throughput"):
            continue
        values = one.quantity(row.name), other.quantity(row.name)
        if values != (None, None):
            yield _line(row.name, row.phrase.unit, *values, one, other, row.name)
    yield Line(name="memory_slack", title=axis_title(words.FREE_MEMORY), unit="B",
               value=one.memory_slack_bytes, against=other.memory_slack_bytes)  # fmt: skip
    yield Line(name="global_batch", title="Global batch", unit="samples",
               value=one.global_batch, against=other.global_batch)  # fmt: skip


def _line(
    name: str,
    unit: str,
    value: float | None,
    against: float | None,
    one: Explained,
    other: Explained,
    interval: str,
) -> Line:
    return Line(
        name=name, title=quantity_title(QUANTITIES[name]), unit=unit, value=value, against=against,
        interval=one.intervals.get(interval), against_interval=other.intervals.get(interval),
    )  # fmt: skip


def lines(found: SideBySide) -> list[str]:
    """The two points as text, in columns."""
    heads = (f"row {found.row}", f"row {found.against_row}", "difference")
    out = [f"Front of {found.study}, row {found.row} and row {found.against_row}"]
    if found.note:
        out.append(found.note)
    out += ["", *_table("They differ in", heads[:2], [
        (axis_title(axis), one or "-", other or "-")
        for axis, (one, other) in found.choices.items()
    ])]  # fmt: skip
    per = f"{found.per_samples:,} samples" if found.per_samples else "a step"
    scale, unit = _unit_of([line.value for line in found.terms])
    terms = [
        (line.title, *(_number(value, scale) for value in (line.value, line.against)),
         _signed(line.difference, scale))
        for line in found.terms
    ]  # fmt: skip
    out += ["", *_table(f"Time of {per} ({unit})", heads, terms)]
    if found.parts:
        parts = [
            (part.item, _part(part.quantity, part.usd),
             _part(part.against_quantity, part.against_usd), _signed(part.difference, 1.0, 2))
            for part in found.parts
        ]  # fmt: skip
        out += ["", *_table("Bill of materials (USD)", heads, parts)]
    quantities = [
        (line.title, *(words.shown(v, line.unit) if line.unit != "B" else words.size(v)
                       for v in (line.value, line.against)), ratio(line))
        for line in found.quantities
    ]  # fmt: skip
    out += ["", *_table("In all", (*heads[:2], "ratio"), quantities)]
    intervals = [
        (line.title, words.interval(line.interval, line.unit, line.value) or "-",
         words.interval(line.against_interval, line.unit, line.against) or "-")
        for line in found.quantities
        if line.interval or line.against_interval
    ]  # fmt: skip
    if intervals:
        out += ["", *_table(f"{words.INTERVAL}s", heads[:2], intervals)]
    return out


def _unit_of(values: Sequence[float | None]) -> tuple[float, str]:
    """Milliseconds, or seconds where there are many of them."""
    long = sum(value or 0.0 for value in values) >= 10.0
    return (1.0, "s") if long else (_MS, "ms")


def _number(value: float | None, scale: float) -> str:
    return words.UNKNOWN if value is None else f"{value * scale:,.3f}"


def _signed(value: float | None, scale: float, digits: int = 3) -> str:
    if value is None:
        return "-"
    return f"{value * scale:+,.{digits}f}" if value else "0"


def _part(quantity: int, usd: float | None) -> str:
    if not quantity:
        return "-"
    return f"{quantity:,} for {words.UNKNOWN if usd is None else f'{usd:,.2f}'}"


def ratio(line: Line) -> str:
    """The second over the first: ``1.2x``."""
    if line.value is None or line.against is None:
        return "-"
    if not line.value:
        return words.compared(line.against, line.value)
    return words.shown(line.against / line.value, "x")


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns of text, the numbers flush right."""
    table = [(title, *heads), *rows]
    widths = [max(len(row[at]) for row in table) for at in range(len(heads) + 1)]
    return [
        "  ".join(
            cell.ljust(width) if not at else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]
