"""What the tables of speed say of numbers."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.speed import evaluations, scaling, sweeps
from benchmarks.speed.table import Table, at_least, at_most, number
from dse.search.executors.ray_lots import Lots


def cells(table: Table, first: str) -> list[str]:
    """The row that begins so."""
    (row,) = [row for row in table.rows if row[0] == first]
    return list(row)


def test_targets_say_whether_they_are_met() -> None:
    assert at_most(7.9, 8, "8 s") == "< 8 s, met"
    assert at_most(8, 8, "8 s") == "< 8 s, missed"
    assert at_least(1000, 1000, "1,000") == ">= 1,000, met"
    assert at_least(999, 1000, "1,000") == ">= 1,000, missed"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0, "0"),
        (0.01234, "0.0123"),
        (1.234, "1.23"),
        (99.96, "100"),
        (1234.5, "1,230"),
        (8.17e6, "8,170,000"),
    ],
)
def test_numbers_have_three_digits_that_count(value: float, written: str) -> None:
    assert number(value) == written


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


def test_every_rate_is_set_against_that_of_blocks() -> None:
    table = evaluations.table(FOUND)
    assert cells(table, "a point a call")[1:] == ["500", "250", "10,000 x", ""]
    assert cells(table, "b")[1:] == ["100", "50", "50,000 x", ""]


def test_the_fastest_peer_has_the_target_as_it_comes_and_without_its_text() -> None:
    table = evaluations.table(FOUND)
    assert cells(table, "a, as it comes")[3:] == ["1,250 x", ">= 1,000, met"]
    assert cells(table, "a, its text left out")[3:] == ["500 x", ">= 1,000, missed"]


def test_a_tasks_share_counts_the_time_of_all_workers() -> None:
    found = {
        "units": 10,
        "processes": {"2": {"points": 8_000_000, "wall_s": 2.0}},
        "ray": {"2": {"points": 8_000_000, "wall_s": 4.0, "task_s": 0.011}},
    }
    unit_s = 2.0 * 2 / 10
    assert unit_s > Lots.LOT_S
    row = cells(scaling.table(found), "2")
    assert row[1:] == ["4.0 M points/s", "2.0 M points/s", "0.50 x", "11.0 ms", "5.5% of 400 ms",
                       "< 5%, missed"]  # fmt: skip


def test_sweeps_stand_beside_their_targets() -> None:
    one = {
        "points": 1_000_000_000,
        "wall_s": 61.0,
        "peak_bytes": 9e8,
        "priced": 25_000_000,
        "start_s": 4.0,
    }
    fast = {"points": 900, "wall_s": 0.1, "points_per_s_per_core": 2e7}
    found = {"example": fast, "every_point_priced": fast, "help_s": 0.6, "check_s": 0.5,
             "large": {"on Ray": one}, "billion": {"in one process": one}}  # fmt: skip
    table = sweeps.table(found)
    assert cells(table, "example study, a core") == [
        "example study, a core", "20.0 M points/s", ">= 10 M points/s, met",
    ]  # fmt: skip
    assert cells(table, "1,000 M points, in one process")[2] == "< 60 s, missed"
    assert cells(table, "1,000 M points, on Ray")[2] == "< 8 s, missed"
    assert cells(table, "dse --help")[2] == "< 0.5 s, missed"
    kept = [row for row in table.rows if row[0] == "its memory at most"]
    assert [row[2] for row in kept] == ["< 500 MB, missed", "< 1,000 MB, met"]
