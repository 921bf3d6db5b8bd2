"""A run that outlasts the hardware that is bought for it is never recommended."""

from __future__ import annotations

from pathlib import Path

import pytest

import dse
from dse.errors import NoFeasiblePoint
from dse.report import answer
from tests.pricing import studies

YEARS = 4 * 8760 * 3600.0


def searched(folder: Path, samples: float, aim: str = "capital") -> dse.Result:
    text = studies.SMALL.replace("minimize: capital", f"minimize: {aim}")
    return dse.load_study(
        studies.written(folder, f"{text}target: {{samples: {samples:g}}}\n")
    ).search()


def test_points_that_take_longer_than_their_years_are_no_part_of_the_front(tmp_path: Path) -> None:
    every = searched(tmp_path, 1e8).front["time_to_target_s"]
    longer = 1e8 * YEARS / sorted(every)[len(every) // 2]
    front = searched(tmp_path, longer).front["time_to_target_s"]
    assert 0 < len(front) < len(every)
    assert max(front) <= YEARS


def test_where_every_run_takes_longer_the_shortest_is_told(tmp_path: Path) -> None:
    with pytest.raises(NoFeasiblePoint, match="4 years of ownership: the shortest takes"):
        searched(tmp_path, 1e13)


def test_what_is_rented_has_no_such_years(tmp_path: Path) -> None:
    assert max(searched(tmp_path, 1e13, "hourly").front["time_to_target_s"]) > YEARS


def test_without_a_deadline_a_day_a_week_and_a_month_are_offered(tmp_path: Path) -> None:
    """Times are those of the cheapest point of the front that ends by then."""
    document = searched(tmp_path, 1e10).document
    spans = {one["span"]: one["said"] for one in answer.facts(document)["within"]}
    assert list(spans) == ["a day", "a week", "a month"]
    assert document.recommended.quantity("time_to_target") > 86400
    month = next(
        point for point in document.front if point.quantity("time_to_target") <= 30 * 86400
    )
    assert spans["a month"] == "as recommended" or f"{month.gpus} x" in spans["a month"]
    assert answer.facts(searched(tmp_path, 1e6).document)["within"] == []


def test_no_rival_outlasts_its_hardware(tmp_path: Path) -> None:
    """What is dropped from the front is no rival of what stays."""
    every = searched(tmp_path, 1e8).front["time_to_target_s"]
    longer = 1e8 * YEARS / sorted(every)[len(every) // 2]
    document = searched(tmp_path, longer).document
    assert document.certainty is not None
    least = min(point.speedup or 0.0 for point in document.front)
    assert all((one.gain or 0.0) >= least for one in document.certainty.choices)
    assert max(one.best for one in document.certainty.choices) > 0.3
