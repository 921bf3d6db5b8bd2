"""A table of text cells, each with its place: CSV, or another text with a mark between cells."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass

from dse.errors import StudyError
from dse.units import significant

_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # begins with one: a spreadsheet computes it
_REMARK = "#"
_SAVE = "save it as UTF-8 text with commas, semicolons or tabs between the columns"
_LEAST = "write a header, and a row for each entry"


@dataclass(frozen=True)
class Table:
    """The rows of a file below its header, as many cells as columns in each.

    lines: where the header and each row stand, from 1; empty where the file has no lines. text: the
    lines themselves. title: the first remark above the header, or empty.
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

    def wrong(self, row: int, column: str | int, problem: str, remedy: str) -> StudyError:
        """The error to raise about a cell of a row, from 0, or of the header, -1; about the row
        where its column is not in the header. problem: with {} in place of the cell."""
        at = column if isinstance(column, int) else -1
        if column in self.header:
            at = self.header.index(str(column))
        cells = self.header if row < 0 else self.rows[row]
        told = problem.replace("{}", "it" if at < 0 else f"'{cells[at][:60]}'")
        if not self.lines:
            return StudyError(self.path, 0, 0, f"row {row + 1}: {told}", remedy)
        line = self.lines[row + 1]
        places = cell_columns(self.text[line - 1], self.mark, len(cells)) if line else [1]
        return StudyError(self.path, line, 1 if at < 0 else places[at], told, remedy)


def cell_text(value: object) -> object:
    """A value as CSV has it: nothing for None, true and false in lower case, twelve digits of
    a number, and an apostrophe before a text that a spreadsheet would take for a formula."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return significant(value)
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return "" if value is None else value


def text_table(
    path: str,
    text: str,
    header: Sequence[str] = (),
    marks: str = ",;\t|",
    short: bool = False,
) -> Table:
    """The table in a text. header: of one that begins with its first row. marks: one of these
    stands between cells, the commonest of the first line. short: whether a row may lack cells at
    its end, which are empty then.

    Empty lines are passed over, and lines that begin with # are remarks. Raises
    :class:`~dse.errors.StudyError` for a row with more or fewer cells than the header.
    """
    lines = text.splitlines()
    own = [(number, line) for number, line in enumerate(lines, 1) if line.strip(f" {marks}")]
    told = [(number, line) for number, line in own if not line.startswith(_REMARK)]
    if not told:
        raise StudyError(path, 0, 0, "only remarks" if own else "is empty", _LEAST)
    top, mark = 0, max(marks, key=told[0][1].count)
    if not header:
        top, header, told = told[0][0], _ended(_cells(path, *told[0], mark), 0), told[1:]
    rows = []
    for number, line in told:
        cells = _ended(_cells(path, number, line, mark), len(header))
        cells += [""] * (len(header) - len(cells)) if short else []
        if len(cells) != len(header):
            problem = f"{len(cells)} values where the header has {len(header)} columns"
            raise StudyError(path, number, 1, problem, "write one value a column")
        rows.append(cells)
    return Table(
        path=path,
        header=header,
        rows=rows,
        lines=[top, *(number for number, _ in told)],
        text=lines,
        mark=mark,
        title=" ".join(own[0][1][1:].split()) if own[0][1].startswith(_REMARK) else "",
    )


def _cells(path: str, number: int, line: str, mark: str) -> list[str]:
    if mark == "|":  # sacct quotes nothing
        return [cell.strip() for cell in line.split(mark)]
    try:
        cells = next(csv.reader([line], delimiter=mark, skipinitialspace=True, strict=True), [])
        return [cell.strip() for cell in cells]
    except csv.Error as cause:
        raise StudyError(path, number, 1, f"not CSV: {cause}", _SAVE) from None


def _ended(cells: list[str], least: int) -> list[str]:
    """The cells without empty ones at their end, of which ``least`` stay."""
    while len(cells) > least and not cells[-1]:
        cells.pop()
    return cells


def cell_columns(line: str, mark: str, cells: int) -> list[int]:
    """The column, from 1, at which each cell of a line starts, for as many cells as it has; 1 for
    those that cannot be found. As in CSV, quotes count only in a cell that begins with one."""
    columns, quoted = [1], False
    for position, character in enumerate(line, 1):
        if character == '"' and line[columns[-1] - 1 :].lstrip(" ").startswith('"'):
            quoted = not quoted
        elif character == mark and not quoted:
            columns.append(position + 1)
    return [*columns, *[1] * cells][:cells]
