"""The character between the cells of a table in a text file."""

from __future__ import annotations

COMMA, SEMICOLON, TAB = ",", ";", "\t"


def delimiter_of(header: str, among: str = COMMA + SEMICOLON + TAB) -> str:
    """The delimiter of a table by its first line: the most frequent of some characters, the first
    of them where they are equally frequent."""
    return max(among, key=header.count)


def cell_columns(line: str, delimiter: str, cells: int) -> list[int]:
    """The column, from 1, at which each cell of a line starts, for as many cells as it has; 1 for
    those that cannot be found. As in CSV, quotes count only in a cell that begins with one."""
    columns, quoted = [1], False
    for position, character in enumerate(line, 1):
        if character == '"' and line[columns[-1] - 1 :].lstrip(" ").startswith('"'):
            quoted = not quoted
        elif character == delimiter and not quoted:
            columns.append(position + 1)
    return [*columns, *[1] * cells][:cells]
