"""A finished run as one table, of its front or of every feasible point.

It is a pyarrow table, written as CSV, Parquet or a spreadsheet. A file is complete or not there: it
is written beside its place and renamed.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing
from importlib import import_module
from itertools import chain
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.calibration.files import beside
from dse.errors import ArgumentError, DseError, StudyError
from dse.pricing import constraints
from dse.pricing.evaluation import Evaluation
from dse.pricing.layout_tables import LayoutTable
from dse.pricing.problem import Problem
from dse.report import origin
from dse.report.document import RunDocument
from dse.report.front_columns import Column, axis_columns, front_columns, quantity_column
from dse.search import cells, exhaustive
from dse.search.run import labels_of
from dse.study.axes import LAYOUT
from dse.study.space import Box

SPREADSHEET = ".xlsx"
LIBRARIES: Mapping[str, tuple[str, ...]] = {
    ".csv": ("pyarrow",),
    ".parquet": ("pyarrow",),
    SPREADSHEET: ("pyarrow", "xlsxwriter"),
}  # by the ending of a file
_EXTRAS = {"pyarrow": "parquet", "xlsxwriter": "xlsx"}
SHEET_ROWS = 1_048_576  # of a sheet, header included: the limit of the format
_NARROWEST = 10  # characters of a column of a sheet


def export_table(document: RunDocument, path: Path, every: bool = False) -> str:
    """Write the front, or every feasible point, as its name says; returns a line about it.

    Raises :class:`DseError` where a library is missing, all points are not known any more, or a
    spreadsheet has no room for them.
    """
    for name in LIBRARIES[path.suffix]:
        _library(name, path)
    tables = map(_table, _every(document, path) if every else iter([front_columns(document)]))
    first, count = next(tables), 0
    with beside(path) as place, closing(_writer(path.suffix, place, first.schema)) as writer:
        for table in chain([first], tables):
            writer.write_table(table)
            count += table.num_rows
    if every:
        return f"wrote {count:,} feasible points to {path}, by their best estimates (no intervals)"
    return f"wrote {count:,} points of the front to {path}"


def _library(name: str, path: Path) -> None:
    try:
        import_module(name)
    except ImportError:
        raise DseError(
            f"{path}: writing it needs {name}; pip install 'cluster-dse[{_EXTRAS[name]}]', or take "
            "front.csv beside the report"
        ) from None


def _every(document: RunDocument, path: Path) -> Iterator[list[Column]]:
    """Every feasible point, a block at a time. Raises :class:`DseError` where they are not known,
    not as they were, or too many for the file."""
    count = document.counts.feasible
    if path.suffix == SPREADSHEET and count >= SHEET_ROWS:
        raise DseError(
            f"{path}: {count:,} points are more than the {SHEET_ROWS - 1:,} rows of a spreadsheet; "
            "write a .csv or a .parquet file"
        )
    if document.engine != "exhaustive":
        raise ArgumentError(
            "--all",
            "needs a run that looked at every point, and this one was guided",
            "points.csv beside its report has all that it priced",
        )
    try:
        problem = origin.problem_of(document)
    except StudyError as cause:
        raise ArgumentError(
            "--all",
            f"prices every point again, and the run's study cannot be read here: {cause.problem}",
            "do it in the folder where the run was made, or run the study again",
        ) from cause
    if changed := origin.changed(document, problem):
        names = " and ".join(changed)
        problem_text = f"prices every point again, and since that run {names} changed"
        raise ArgumentError("--all", problem_text, "run the study again")
    return _blocks(problem)


def _blocks(problem: Problem) -> Iterator[list[Column]]:
    """Every feasible point in the order of the space: axes, then quantities by their best estimate.

    There are no intervals: drawing them takes hundreds of times as long.
    """
    for box in problem.space.boxes(exhaustive.BOX_POINTS):
        for piece in box.pieces(cells.PRICED_POINTS):
            evaluation = problem.box(piece)
            met = constraints.met(evaluation, problem.study, piece.shape)
            if len(at := np.flatnonzero(met)):
                axes = [*_axes(problem, piece, at)]
                yield [*axes, *_quantities(problem, evaluation, {axis.name for axis in axes},
                                           piece.shape, at)]  # fmt: skip


def _axes(problem: Problem, box: Box, at: NDArray[np.intp]) -> Iterator[Column]:
    """The values of the axes, as the study writes them."""
    slab, study = problem.space.slabs[box.slab], problem.study
    fixed = labels_of(problem, slab.fixed)
    labels = {name: [label] * len(at) for name, label in fixed.items()}
    places = np.unravel_index(at, box.shape) if box.shape else ()
    for axis, part, place in zip(slab.axes, box.slices, places, strict=True):
        if axis.name == LAYOUT:
            table: LayoutTable = axis.values  # type: ignore[assignment]
            for name, found in table.coordinates(part.start + place).items():
                texts = np.array([str(value) for value in found.values], dtype=object)
                labels[name] = texts[found.at].tolist()
            continue
        labels[axis.name] = np.array(axis.labels[part], dtype=object)[place].tolist()
    of_axis: dict[str, set[str]] = {}
    for axis in (*study.axes, *study.defaults):
        of_axis.setdefault(axis.name, set()).update(axis.labels)
    for condition in study.conditions:
        of_axis.setdefault(condition.axis, set()).update(condition.labels)
    yield from axis_columns(labels, of_axis)


def _quantities(
    problem: Problem,
    evaluation: Evaluation,
    axes: Collection[str],
    shape: tuple[int, ...],
    at: NDArray[np.intp],
) -> Iterator[Column]:
    """Every quantity that is no axis, of the points ``at`` of a box; None where it is unknown."""
    for row in (row for row in problem.quantities if row.name not in axes):
        numbers = np.broadcast_to(evaluation[row.name], shape).ravel()[at]
        values = [value if isfinite(value) else None for value in numbers.tolist()]
        yield quantity_column(row, values)


def _table(columns: list[Column]) -> Any:
    """A pyarrow table; titles and units stand in the metadata of its fields."""
    import pyarrow

    kinds = {str: pyarrow.string(), int: pyarrow.int64(), float: pyarrow.float64(),
             bool: pyarrow.bool_()}  # fmt: skip
    schema = pyarrow.schema([
        pyarrow.field(column.name, kinds[column.kind],
                      metadata={"title": column.title, "unit": column.unit})
        for column in columns
    ])  # fmt: skip
    return pyarrow.table([pyarrow.array(c.values, kinds[c.kind]) for c in columns], schema=schema)


def _writer(ending: str, place: Path, schema: Any) -> Any:
    """What writes tables of one schema, one after the other, into a file."""
    from pyarrow import csv, parquet

    if ending == SPREADSHEET:
        return _Sheet(place, schema)
    return (csv.CSVWriter if ending == ".csv" else parquet.ParquetWriter)(place, schema)


class _Sheet:
    """A workbook of one sheet. Rows go to the file as they come, so that memory stays flat. Text is
    text: what begins with = is no formula."""

    def __init__(self, place: Path, schema: Any) -> None:
        import xlsxwriter

        # A disk that is full must fail the writing, not the closing, which would fail again.
        self._place, self._written = place, io.BytesIO()
        self._book = xlsxwriter.Workbook(self._written, {
            "constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False,
        })  # fmt: skip
        self._sheet = self._book.add_worksheet("Points")
        self._sheet.freeze_panes(1, 0)
        self._rows = 0
        bold = self._book.add_format({"bold": True})
        for at, field in enumerate(schema):
            title, unit = (field.metadata[key].decode() for key in (b"title", b"unit"))
            heading = f"{title} ({unit})" if unit else title
            self._sheet.set_column(at, at, max(len(heading), _NARROWEST) + 2)
            self._sheet.write_string(0, at, heading, bold)

    def write_table(self, table: Any) -> None:
        """Append the rows of a table; a missing value is an empty cell."""
        for row in zip(*table.to_pydict().values(), strict=True):
            self._rows += 1
            self._sheet.write_row(self._rows, 0, row)

    def close(self) -> None:
        """Complete the file. Raises OSError where that fails."""
        self._book.close()
        self._place.write_bytes(self._written.getbuffer())
