"""What the scoreboard says of all intervals together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.accuracy.__main__ import overall
from benchmarks.accuracy.board import Line, table


def line(held: int, of: int) -> Line:
    inside = np.arange(of) < held
    return Line(f"{held} of {of}", "dse", np.ones(of), inside)


def test_values_count_once_and_every_line_that_is_large_enough() -> None:
    without = Line("no interval", "textbook", np.ones(29))
    said = overall([line(1, 4), without, line(36, 40), line(20, 20)])
    assert said.startswith("90 % intervals hold 89% of 64 held-out values")
    assert "1 of 2 lines of 20 values or more" in said
    assert said.endswith("(missed): 90% to 100%.")
    whole = replace(line(15, 30), again=True)  # of what is there already
    said = overall([line(1, 4), without, line(36, 40), line(20, 20), whole])
    assert "hold 89% of 64 " in said
    assert "2 of 3 lines" in said
    assert said.endswith("50% to 100%.")


def test_intervals_that_hold_too_few_or_too_many_are_marked_where_a_share_says_something() -> None:
    rows = table([line(10, 20), line(18, 20), line(20, 20), line(1, 19)]).splitlines()[2:]
    marks = [row.split(" | ")[6] for row in rows]
    assert marks == ["50% missed", "90%", "100% missed", "5%"]


def test_a_target_of_the_median_alone_does_not_ask_for_the_tail() -> None:
    ratio = np.array([1.0, 1.0, 1.05, 9.0])
    rows = table([
        Line("a", "dse", ratio, target=(0.1, None)),
        Line("b", "dse", ratio, target=(0.1, 0.3)),
        Line("c", "dse", ratio, target=(0.01, None)),
    ]).splitlines()[2:]  # fmt: skip
    assert [row.split(" | ")[-1] for row in rows] == ["10% |", "10% / 30% missed |", "1% missed |"]
