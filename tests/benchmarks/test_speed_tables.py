"""What the tables of speed say of numbers."""

from __future__ import annotations

from typing import Any

from benchmarks.speed import evaluations
from benchmarks.speed.table import Table, at_least, at_most


def cells(table: Table, first: str) -> list[str]:
    """The row that begins so."""
    (row,) = [row for row in table.rows if row[0] == first]
    return list(row)


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


def test_the_fastest_peer_has_the_target_as_it_comes_and_without_its_text() -> None:
    table = evaluations.table(FOUND)
    assert cells(table, "a, as it comes")[3:] == ["1,250 x", ">= 1,000, met"]
    assert cells(table, "a, its text left out")[3:] == ["500 x", ">= 1,000, missed"]
