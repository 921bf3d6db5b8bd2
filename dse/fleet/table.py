"""A table of text cells, each with its place: CSV, or what schedulers write."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dse.delimiter import cell_columns, delimiter_of
from dse.errors import StudyError
from dse.text_source import text_of

_REMARK = "#"
_SAVE = "save it as UTF-8 text with commas, semicolons or tabs between the columns"


@dataclass(frozen=True)
class Table:
    """The rows of a file below its header, as many cells as columns in each.

    lines: where each row stands, from 1; empty where the file has no lines. text: the lines
    themselves. title: the first remark above the header, or empty.
    """

    path: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    lines: Sequence[int] = ()
    text: Sequence[str] = ()
    mark: str = ""
    title: str = ""

    def cells(self, column: str) -> list[str]:
        """The cells of a column of the header."""
        at = self.header.index(column)
        return [row[at] for row in self.rows]

    def wrong(self, row: int, column: str, problem: str, remedy: str) -> StudyError:
        """The error to raise about a cell of a row, from 0; about the row where its column is not
        in the header. problem: with {} in place of the cell."""
        at = self.header.index(column) if column in self.header else None
        told = problem.replace("{}", "it" if at is None else f"'{self.rows[row][at][:60]}'")
        if not self.lines:
            return StudyError(self.path, 0, 0, f"row {row + 1}: {told}", remedy)
        line = self.lines[row]
        places = cell_columns(self.text[line - 1], self.mark, len(self.header))
        return StudyError(self.path, line, 1 if at is None else places[at], told, remedy)


def read_text(path: Path) -> str:
    """The text of a file. Raises :class:`~dse.errors.StudyError` where it is none, or empty."""
    try:
        text = text_of(str(path), path.read_bytes())
    except OSError as cause:
        problem = f"cannot be read: {cause.strerror}"
        raise StudyError(str(path), 0, 0, problem, "name a readable file") from None
    if not text.strip():
        raise StudyError(str(path), 0, 0, "the file is empty", "write a header and one row a job")
    return text


def text_table(path: str, text: str, header: Sequence[str] = ()) -> Table:
    """The table in a text. header: of one that begins with its first row.

    Blank lines are passed over, and lines that begin with # are remarks. Raises
    :class:`~dse.errors.StudyError` for a row with more or fewer cells than the header.
    """
    lines = text.splitlines()
    own = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    told = [(number, line) for number, line in own if not line.startswith(_REMARK)]
    if not told:
        raise StudyError(path, 0, 0, "only remarks", "write a header and one row a job")
    mark = delimiter_of(told[0][1], "|,;\t")
    if not header:
        header, told = _cells(path, *told[0], mark), told[1:]
    rows = []
    for number, line in told:
        cells = _cells(path, number, line, mark)
        if len(cells) == len(header) + 1 and not cells[-1]:  # sacct --parsable
            cells = cells[:-1]
        if len(cells) != len(header):
            problem = f"{len(cells)} values where the header has {len(header)} columns"
            raise StudyError(path, number, 1, problem, "write one value a column")
        rows.append(cells)
    above = own[0][1].startswith(_REMARK)
    return Table(
        path=path,
        header=header,
        rows=rows,
        lines=[number for number, _ in told],
        text=lines,
        mark=mark,
        title=" ".join(own[0][1][1:].split()) if above else "",
    )


def _cells(path: str, number: int, line: str, mark: str) -> list[str]:
    if mark == "|":  # sacct quotes nothing
        return [cell.strip() for cell in line.split(mark)]
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=mark), [])]
    except csv.Error as cause:
        raise StudyError(path, number, 1, f"not CSV: {cause}", _SAVE) from None
