"""Tables on a terminal."""

from __future__ import annotations

import io

from rich.console import Console

from dse.console_table import Column, Columns, console_table, numbers

COLUMNS: Columns = ("name", *numbers("time", "low", whole=True), Column("why", style="yellow"))
ROWS = [("ring", "1 ms", "900 us", ""), ("tree", "12 ms", "9 ms", "2 nodes; measured 1")]


def printed(framed: bool, width: int = 80) -> list[str]:
    out = io.StringIO()
    table = console_table(COLUMNS, ROWS, "times", "by nobody", framed)
    Console(file=out, width=width).print(table)
    return [line.rstrip() for line in out.getvalue().splitlines()]


def test_numbers_are_flush_right_and_text_is_flush_left() -> None:
    lines = printed(framed=False)
    assert lines[1:-1] == [
        "name   time     low  why",
        "ring   1 ms  900 us",
        "tree  12 ms    9 ms  2 nodes; measured 1",
    ]
    assert lines[0].strip() == "times"
    assert lines[-1].strip() == "by nobody"


def test_a_frame_stands_around_the_headings() -> None:
    lines = printed(framed=True)
    assert "┃ name ┃  time ┃    low ┃ why" in lines[2]
    assert "│ ring │  1 ms │ 900 us │" in lines[4]


def test_what_is_whole_stays_in_one_line_where_text_is_broken() -> None:
    lines = printed(framed=False, width=32)
    assert "tree  12 ms    9 ms  2 nodes;" in lines
    assert sum("12 ms" in line for line in lines) == 1
    assert any(line.strip() == "measured 1" for line in lines)
