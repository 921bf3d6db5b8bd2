"""What the scoreboard says of all intervals together."""

from __future__ import annotations

import numpy as np

from benchmarks.accuracy.__main__ import overall
from benchmarks.accuracy.board import Line


def line(held: int, of: int) -> Line:
    inside = np.arange(of) < held
    return Line(f"{held} of {of}", "dse", np.ones(of), inside)


def test_the_least_and_most_covered_group_are_named_beside_the_whole() -> None:
    without = Line("no interval", "textbook", np.ones(9))
    said = overall([line(1, 4), without, line(20, 20), line(12, 16)])
    assert said.startswith("90 % intervals hold 82% of 40 held-out values")
    assert said.endswith("of one line 25% to 100%.")
