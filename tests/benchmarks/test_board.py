"""What the scoreboard says of all intervals together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.accuracy.__main__ import overall
from benchmarks.accuracy.approaches import goals_table
from benchmarks.accuracy.board import Line, extremes, table
from benchmarks.approaches.judge import Judged


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


def test_the_short_table_has_the_best_and_the_worst_of_ones_own_lines() -> None:
    own = [Line(f"{error}", "dse", np.array([1 + error])) for error in (0.3, 0.1, 0.5, 0.2, 0.4)]
    again = Line("again", "dse", np.array([9.0]), again=True)
    other = Line("other", "textbook", np.array([9.0]))
    found = extremes([*own, again, other], each=2)
    assert [line.data for line in found] == ["0.1", "0.2", "0.4", "0.5"]
    assert [line.data for line in extremes(own[:3], each=2)] == ["0.1", "0.3", "0.5"]


def test_a_target_of_the_median_alone_does_not_ask_for_the_tail() -> None:
    ratio = np.array([1.0, 1.0, 1.05, 9.0])
    rows = table([
        Line("a", "dse", ratio, target=(0.1, None)),
        Line("b", "dse", ratio, target=(0.1, 0.3)),
        Line("c", "dse", ratio, target=(0.01, None)),
    ]).splitlines()[2:]  # fmt: skip
    assert [row.split(" | ")[-1] for row in rows] == ["10% |", "10% / 30% missed |", "1% missed |"]


def test_order_and_regret_stand_beside_their_targets_and_a_repeat() -> None:
    ratio, one = np.ones(3), np.array([1.0, 1.2])
    again = [Judged(ratio, order, 0.3, 1.0, 1.0, 1.0, np.array([1.0, 1.04]))
             for order in (0.6, 0.8)]  # fmt: skip
    good, bad = (
        goals_table(
            Judged(ratio, 0.97, strict, 1.0, 1.0, 0.98, np.array([1.0, chosen])), again[0], again,
            one, np.array([1.0, 1.4]),
        ).splitlines()[2:]
        for strict, chosen in ((0.95, 1.05), (0.94, 1.08))
    )  # fmt: skip
    assert "| 95% of the cells, 97% with ties, 98% where overlapping rounds are ties" in good[0]
    assert "| 2 | 30% of the cells, 70% with ties |" in good[2]
    later = [False, True, *[False] * 6]  # 30 % of its cells
    assert [row.endswith("missed |") for row in good] == later
    assert [row.endswith("missed |") for row in bad] == [True, True, False, True, *[False] * 4]
    assert "| 2 | 4.00% longer |" in bad[3]
    assert "| 2 | 2.00% longer | at most 3% |" in bad[4]
    assert "| 4 | 2.00% longer |  |" in bad[5]
    assert "| 2 | 10.00% longer |" in bad[6]
    assert "| 2 | 20.00% longer |" in bad[7]
