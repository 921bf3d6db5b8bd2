"""Tables on a terminal, by rich, which is imported where one is made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

Cell: TypeAlias = "str | Text"


@dataclass(frozen=True)
class Column:
    """A column; one that is too wide for the terminal goes on in the next line, between words.

    number: flush right. whole: stays in one line, and is cut if it must be. folded: goes on in the
    next line within words too, never cut. style: of rich. least_width: in characters.
    """

    heading: str
    number: bool = False
    whole: bool = False
    folded: bool = False
    style: str = ""
    least_width: int | None = None


Columns: TypeAlias = Iterable[str | Column]  # one given as text is its heading


def numbers(*headings: str, whole: bool = False) -> list[Column]:
    """Columns of numbers."""
    return [Column(heading, number=True, whole=whole) for heading in headings]


def console_table(
    columns: Columns,
    rows: Iterable[Sequence[Cell]],
    title: str | None = None,
    caption: str | None = None,
    framed: bool = True,
) -> Table:
    """A table to print on a console; framed: with lines around the headings and at the sides."""
    from rich.box import HEAVY_HEAD
    from rich.table import Table

    table = Table(title=title, caption=caption, box=HEAVY_HEAD if framed else None, pad_edge=framed)
    for column in columns:
        one = Column(column) if isinstance(column, str) else column
        table.add_column(
            one.heading,
            justify="right" if one.number else "left",
            no_wrap=one.whole,
            overflow="fold" if one.folded else "ellipsis",
            style=one.style,
            min_width=one.least_width,
        )
    for row in rows:
        table.add_row(*row)
    return table
