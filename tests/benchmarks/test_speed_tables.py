"""What the tables of speed say of numbers."""

from __future__ import annotations

from benchmarks.speed.table import at_least, at_most


def test_targets_say_whether_they_are_met() -> None:
    assert at_most(7.9, 8, "8 s") == "< 8 s, met"
    assert at_most(8, 8, "8 s") == "< 8 s, missed"
    assert at_least(1000, 1000, "1,000") == ">= 1,000, met"
    assert at_least(999, 1000, "1,000") == ">= 1,000, missed"
