"""The front as columns: every axis, every quantity with its interval, every term of a step.

What front.csv, Parquet files and spreadsheets hold follows from these.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from dse.model.terms import TERMS
from dse.report.design_point import Point
from dse.report.document import RunDocument
from dse.report.words import capital, laid_out
from dse.study.axes import BATCH, MICRO_BATCH, spoken
from dse.study.quantities import QUANTITIES, Quantity
from dse.text_table import cell_text
from dse.units import DIMENSIONS

Value: TypeAlias = str | int | float | bool | None
_ENDS = {"low": "low end of 90 %", "high": "high end of 90 %"}
_SECONDS = "s"


@dataclass(frozen=True)
class Column:
    """A column of a table. name: as in front.csv. title, unit: as a person reads them; the unit is
    empty for text and counts. values: of every row, None where there is none. kind: what else they
    are."""

    name: str
    title: str
    unit: str
    values: Sequence[Value]
    kind: type[str | int | float | bool] = float


def axis_column(name: str, labels: Sequence[str], of_axis: Iterable[str]) -> Column:
    """The column of an axis: whole numbers where all labels of the axis are such. of_axis: all
    values that it may have, as text; "" where it does not apply."""
    if all(label.isdecimal() for label in of_axis if label):
        numbers = [int(label) if label else None for label in labels]
        return Column(name, capital(spoken(name)), "", numbers, int)
    return Column(name, capital(spoken(name)), "", [label or None for label in labels], str)


def quantity_title(row: Quantity) -> str:
    """A quantity as the heading of a column."""
    return capital(row.phrase.title if row.phrase else row.doc)


def quantity_unit(row: Quantity) -> str:
    """The unit of a quantity's column; empty for a count."""
    unit = DIMENSIONS[row.dimension][0]
    return "x" if row.name == "speedup" else unit


def quantity_column(row: Quantity, values: Sequence[Value]) -> Column:
    """The column of a quantity, of whole numbers where it counts something."""
    if row.whole:
        values = [None if value is None else int(value) for value in values]
    kind = int if row.whole else float
    return Column(row.column, quantity_title(row), quantity_unit(row), values, kind)


def front_columns(document: RunDocument) -> list[Column]:
    """The columns of the front, those of front.csv's first versions first."""
    found = {column.name: column for column in _columns(document)}  # of one name the last
    return list(found.values())


def _columns(document: RunDocument) -> Iterator[Column]:
    front = document.front
    costs = document.objectives.costs
    yield from _axes(document)
    for name in ("speedup", *costs, "step", "throughput"):
        yield quantity_column(QUANTITIES[name], [point.quantity(name) for point in front])
    yield Column("extrapolated", "Extrapolated", "", [point.extrapolated for point in front], bool)
    yield Column("evidence", "Evidence", "", [point.evidence for point in front], str)
    known = (name for name in costs if any(point.bounds(name) for point in front))
    for name in ("speedup", "step", *known, "throughput"):
        yield from _ends(QUANTITIES[name], front)
    yield from _others(document)
    for at, one in enumerate(front[0].mix or ()):
        mixes = [point.mix[at] for point in front if point.mix]
        speedups, title = [other.speedup for other in mixes], f"Speedup of {one.workload}"
        yield Column(f"{one.workload}_speedup", title, "x", speedups)
        software, title = [other.settings for other in mixes], f"Software of {one.workload}"
        yield Column(f"{one.workload}_software", title, "", software, str)
    yield Column("equals", "Points exactly as good", "", [point.ties for point in front], int)
    if document.target is not None:
        beyond = [bool(point.run and point.run.extrapolated) for point in front]
        yield Column("batch_extrapolated", "Batch beyond those observed", "", beyond, bool)
    if document.confidence is not None:
        name, title = "limits_probability", "Probability that every limit holds"
        yield Column(name, title, "", list(document.confidence.front))
    yield Column("row", "Row of the front", "", list(range(1, len(front) + 1)), int)


def _axes(document: RunDocument) -> Iterator[Column]:
    values = {axis.name: axis.values for axis in document.axes}
    own = (name for point in document.front[:1] for name in point.config)
    labels = {
        name: [point.config.get(name, "") for point in document.front] for name in (*values, *own)
    }
    yield from axis_columns(labels, values)


def axis_columns(
    labels: Mapping[str, Sequence[str]], of_axis: Mapping[str, Iterable[str]]
) -> Iterator[Column]:
    """The columns of axes, those of a study first; a layout has its micro-batch by both names."""
    for name in dict.fromkeys([*of_axis, *(labels if laid_out(labels) else ())]):
        column = axis_column(name, labels[name], {*of_axis.get(name, ()), *labels[name]})
        yield column
        if name == BATCH and laid_out(labels):
            yield replace(column, name=MICRO_BATCH, title=capital(spoken(MICRO_BATCH)))


def _others(document: RunDocument) -> Iterator[Column]:
    """Every other quantity that the document knows of its points, and every term of a step."""
    front, axes = document.front, {axis.name for axis in document.axes}
    for row in QUANTITIES.values():
        if row.name in (*axes, "speedup", "step", "throughput"):  # above
            continue
        values = [point.quantity(row.name) for point in front]
        if all(value is None for value in values):
            continue
        yield quantity_column(row, values)
        if any(point.bounds(row.name) for point in front):
            yield from _ends(row, front)
    for name in dict.fromkeys(name for point in front for name in point.terms):
        seconds = [point.terms.get(name) for point in front]
        if any(value is not None for value in seconds):
            yield Column(name, TERMS[name].heading, _SECONDS, seconds)


def _ends(row: Quantity, front: Sequence[Point]) -> Iterator[Column]:
    """Two columns: the ends of the intervals of a quantity."""
    title, unit, found = (
        quantity_title(row),
        quantity_unit(row),
        [p.bounds(row.name) for p in front],
    )
    for at, (end, called) in enumerate(_ENDS.items()):
        values = [None if bounds is None else bounds[at] for bounds in found]
        yield Column(f"{row.column}_{end}", f"{title}, {called}", unit, values)


def csv_text(columns: Sequence[Column]) -> str:
    """A table as CSV, the names of the columns first."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([column.name for column in columns])
    writer.writerows(zip(*(map(cell_text, column.values) for column in columns), strict=True))
    return out.getvalue()
