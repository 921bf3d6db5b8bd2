"""What the tables of speed say of numbers."""

from __future__ import annotations

from typing import Any

from benchmarks.speed import evaluations
from benchmarks.speed.table import at_least, at_most


def test_targets_say_whether_they_are_met() -> None:
    assert at_most(7.9, 8, "8 s") == "< 8 s, met"
    assert at_most(8, 8, "8 s") == "< 8 s, missed"
    assert at_least(1000, 1000, "1,000") == ">= 1,000, met"
    assert at_least(999, 1000, "1,000") == ">= 1,000, missed"


def rates(cpu: float) -> dict[str, float]:
    return {"per_cpu_s": cpu, "per_s": cpu / 2}


FOUND: dict[str, Any] = {
    "points": 1_000,
    "dse": {
        evaluations.BLOCKS: rates(5e6),
        "a point a call": rates(500.0),
        evaluations.TOGETHER: rates(1.25e6),
    },
    "others": {
        "a, as it comes": rates(4000.0),
        "a, its text left out": rates(10_000.0),
        "b": rates(100.0),
        "c": {"missing": "could not be installed: no such version"},
    },
}
