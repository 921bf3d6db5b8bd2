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


def test_the_least_and_most_covered_group_are_named_beside_the_whole() -> None:
    without = Line("no interval", "textbook", np.ones(9))
    said = overall([line(1, 4), without, line(20, 20), line(12, 16)])
    assert said.startswith("90 % intervals hold 82% of 40 held-out values")
    assert said.endswith("of one line 25% to 100%.")
    whole = replace(line(13, 24), again=True)  # of what is there already
    assert overall([line(1, 4), without, line(20, 20), line(12, 16), whole]) == said


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


def test_order_and_regret_stand_beside_their_targets() -> None:
    ratio, one = np.ones(3), np.array([1.0, 1.2])
    good, bad = (
        goals_table(Judged(ratio, 0.97, strict, 1.0, 1.0, np.array([1.0, chosen])), one)
        .splitlines()[2:]
        for strict, chosen in ((0.95, 1.05), (0.94, 1.08))
    )  # fmt: skip
    assert "| 95% of the cells, 97% with ties |" in good[0]
    assert [row.endswith("missed |") for row in good] == [False, False, False]
    assert [row.endswith("missed |") for row in bad] == [True, True, False]
    assert "| 2 | 4.00% longer |" in bad[1]
    assert "| 2 | 10.00% longer |" in bad[2]
