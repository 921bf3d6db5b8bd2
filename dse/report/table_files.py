"""Tables as files that other programs read: CSV, Parquet, and spreadsheets (.xlsx).

A file is complete or not there: it is written beside its place and renamed.
"""

from __future__ import annotations

import csv
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

from dse.errors import DseError, OutputError
from dse.report.front_columns import Column, as_text

Block: TypeAlias = Sequence[Column]
SHEET_ROWS = 1_048_576  # of a sheet, header included: the limit of the format
_WIDEST = 60  # characters of a column of a sheet
_NARROWEST = 10
CELL_CHARACTERS = 32_767  # of text: the limit of the format
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")  # which XML has no place for


@dataclass(frozen=True)
class Sheet:
    """A sheet of a workbook beside its table: text and numbers, the heading first."""

    title: str
    rows: Sequence[Sequence[object]]


def write_csv(blocks: Iterable[Block], path: Path, sheets: Sequence[Sheet] = ()) -> int:
    """Write a table as CSV; returns its rows. Sheets have no place in it."""
    del sheets
    count = 0
    with _beside(path) as place, place.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        for number, block in enumerate(blocks):
            if not number:
                writer.writerow([column.name for column in block])
            columns = [map(as_text, column.values) for column in block]
            writer.writerows(zip(*columns, strict=True))
            count += len(block[0].values)
    return count


def write_parquet(blocks: Iterable[Block], path: Path, sheets: Sequence[Sheet] = ()) -> int:
    """Write a table as Parquet, a row group for each block; units stand in the fields' metadata."""
    del sheets
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise DseError(
            f"{path}: writing Parquet needs pyarrow; pip install 'cluster-dse[parquet]', or write "
            "a .csv file"
        ) from None
    kinds = {str: pyarrow.string(), int: pyarrow.int64(), float: pyarrow.float64(),
             bool: pyarrow.bool_()}  # fmt: skip
    count = 0
    with _beside(path) as place:
        writer: Any = None
        try:
            for block in blocks:
                schema = pyarrow.schema([
                    pyarrow.field(column.name, kinds[column.kind],
                                  metadata={"title": column.title, "unit": column.unit})
                    for column in block
                ])  # fmt: skip
                writer = writer or parquet.ParquetWriter(place, schema)
                arrays = [pyarrow.array(column.values, type=kinds[column.kind]) for column in block]
                writer.write_table(pyarrow.table(arrays, schema=schema))
                count += len(block[0].values)
        finally:
            if writer is not None:
                writer.close()
    return count


def write_workbook(blocks: Iterable[Block], path: Path, sheets: Sequence[Sheet] = ()) -> int:
    """Write a table as the first sheet of a workbook, then others; numbers are numbers.

    Rows go to a file as they come, so that memory stays flat. Raises :class:`DseError` for more
    rows than a sheet holds.
    """
    try:
        import xlsxwriter
    except ImportError:
        raise DseError(
            f"{path}: writing a spreadsheet needs xlsxwriter; pip install 'cluster-dse[xlsx]', or "
            "write a .csv file"
        ) from None
    with _beside(path) as place:
        try:
            with xlsxwriter.Workbook(place, {"constant_memory": True}) as book:
                count = _fill(book, blocks, path)
                for sheet in sheets:
                    heads, *rows = sheet.rows
                    target = _sheet(book, sheet.title, heads, _widths(sheet.rows))
                    for number, row in enumerate(rows, 1):
                        _write_row(target, number, row)
        except xlsxwriter.exceptions.FileCreateError as cause:
            raise cause.args[0] from None  # the OSError that it is made of
    return count


def _fill(book: Any, blocks: Iterable[Block], path: Path) -> int:
    """Append the sheet of a table; returns its rows."""
    count, target = 0, None
    for block in blocks:
        if target is None:
            headings = [column.heading for column in block]
            widths = [max(len(text), _NARROWEST) for text in headings]
            target = _sheet(book, "Points", headings, widths)
        check_rows(count + len(block[0].values), path)
        for values in zip(*(column.values for column in block), strict=True):
            count += 1
            _write_row(target, count, values)
    return count


def check_rows(count: int, path: Path) -> None:
    """Raise :class:`DseError` for more rows than a spreadsheet has."""
    if count >= SHEET_ROWS:
        raise DseError(
            f"{path}: {count:,} points are more than the {SHEET_ROWS - 1:,} rows of a spreadsheet; "
            "write a .csv or a .parquet file"
        )


def write_text(text: str, path: Path) -> None:
    """Write a text file."""
    with _beside(path) as place:
        place.write_text(text, encoding="utf-8")


WRITERS: Mapping[str, Callable[[Iterable[Block], Path, Sequence[Sheet]], int]] = {
    ".csv": write_csv,
    ".parquet": write_parquet,
    ".xlsx": write_workbook,
}


def first_of(blocks: Iterable[Block]) -> Iterator[Block]:
    """The same blocks; raises :class:`DseError` before anything is written where there is none."""
    found = iter(blocks)
    block = next(found, None)
    if block is None:
        raise DseError("there is no feasible point to write")
    return chain([block], found)


def _widths(rows: Sequence[Sequence[object]]) -> list[int]:
    columns = max(map(len, rows), default=0)
    return [
        min(_WIDEST, max(_NARROWEST, *(len(str(row[at])) for row in rows if at < len(row))))
        for at in range(columns)
    ]


def _sheet(book: Any, title: str, heads: Sequence[object], widths: Sequence[int]) -> Any:
    """A new sheet with its first row, which stays in sight."""
    sheet = book.add_worksheet(title)
    sheet.freeze_panes(1, 0)
    for at, width in enumerate(widths):
        sheet.set_column(at, at, min(width, _WIDEST) + 2)
    bold = book.add_format({"bold": True})
    for at, head in enumerate(heads):
        sheet.write_string(0, at, _text(str(head)), bold)
    return sheet


def _write_row(sheet: Any, number: int, row: Sequence[object]) -> None:
    """A row in which text is text: what begins with = is no formula. None is an empty cell."""
    for at, value in enumerate(row):
        if isinstance(value, str):
            sheet.write_string(number, at, _text(value))
        elif isinstance(value, bool):
            sheet.write_boolean(number, at, value)
        elif value is not None:
            sheet.write_number(number, at, value)


@lru_cache(10_000)  # the values of axes come again and again
def _text(value: str) -> str:
    """Text as a cell can hold it."""
    return _CONTROL.sub("?", value)[:CELL_CHARACTERS]


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """A name to write under, which becomes ``path`` when all is written."""
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
        os.close(handle)
        place = Path(name)
        try:
            yield place
            place.chmod(0o644)
            os.replace(place, path)
        finally:
            place.unlink(missing_ok=True)
    except OSError as cause:
        raise OutputError(f"{path}: cannot be written: {cause.strerror}") from cause
