"""Both engines, against pricing every point on its own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dse.errors import DseError
from dse.pricing.load import load
from dse.pricing.problem import Problem
from dse.search import bounds, engine_choice, exhaustive
from dse.search.engine_choice import choose_engine
from dse.search.run import Outcome, run
from tests.pricing import studies


def search(problem: Problem, engine: str = "exhaustive") -> Outcome:
    return run(problem, engine, None, None, lambda *_: None, problem.study.search.budget, 0)


def objectives(outcome: Outcome) -> set[tuple[float, float]]:
    return {(point.gain, point.cost) for point in outcome.front}


@pytest.fixture
def small(tmp_path: Path) -> Problem:
    return load(studies.written(tmp_path))


def test_engines_agree_on_points_and_ties(small: Problem) -> None:
    whole, guided = search(small), search(small, "guided")
    assert guided.tally.points == whole.tally.points == small.space.size
    assert guided.tally.feasible == whole.tally.feasible
    assert guided.tally.rejected == whole.tally.rejected
    for key in ("labels", "ties", "tied"):
        assert [getattr(p, key) for p in guided.front] == [getattr(p, key) for p in whole.front]


@pytest.mark.evidence
def test_box_size_does_not_matter(small: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = search(small)
    for size in (1, 7, 100, 10**9):
        monkeypatch.setattr(exhaustive, "BOX_POINTS", size)
        monkeypatch.setattr(exhaustive, "CHUNK_POINTS", 3 * size)
        found = search(small)
        assert objectives(found) == objectives(expected)
        assert [p.ties for p in found.front] == [p.ties for p in expected.front]
        assert found.tally.feasible == expected.tally.feasible
        assert dict(found.tally.rejected) == dict(expected.tally.rejected)


def test_speedup_of_the_baseline_is_one(small: Problem) -> None:
    evaluation = small.point(small.study.baseline.values)
    assert float(np.ravel(evaluation["speedup"])[0]) == pytest.approx(1.0)


def test_conditional_axis_does_not_multiply_other_points(small: Problem) -> None:
    plain = 2 * 2 * 2 * (2 * 6 * 2 * 2 * 3)  # precision, two aggregations, bucket x grid
    assert small.space.size == plain + 2 * 2 * (2 * 6 * 2 * 2 * 3) * 2
    points = [small.space.point(i) for i in range(0, small.space.size, 5)]
    assert all((row["ps_servers"] is None) == (row["aggregation"] != "ps-grpc") for row in points)


@pytest.mark.evidence
def test_continuous_axis_needs_the_guided_engine(tmp_path: Path) -> None:
    problem = load(studies.written(tmp_path, studies.CONTINUOUS))
    assert choose_engine(problem, "auto") == ("guided", "an axis is continuous")
    with pytest.raises(DseError, match="finite"):
        choose_engine(problem, "exhaustive")
    found = run(problem, "auto", None, None, lambda *_: None, 1500, 0)
    assert found.tally.points <= 1500
    # Money does not depend on the link's speed here, so every front point has the fastest link.
    several = [p for p in found.front if int(p.labels["gpus"]) > int(p.labels["gpus_per_node"])]
    assert several
    assert all(p.values["inter_node"].bytes_per_s == 12.5e9 for p in several)  # type: ignore[union-attr]


def test_the_estimate_counts_points_and_slabs(small: Problem) -> None:
    expected = engine_choice.estimate(small)
    fixed = expected.seconds - small.space.size * engine_choice.SECONDS_PER_POINT
    slabs = 2 * 3 * 2  # precision, aggregation, bucket
    assert fixed == pytest.approx(slabs * engine_choice.SECONDS_PER_SLAB)
    assert expected.boxes == 0
    assert str(expected) == f"{small.space.size:,} points take about 0.1 s on one core"


@pytest.mark.parametrize("screened_from", [1, 10**9])
def test_the_estimate_of_a_large_space_is_measured(
    small: Problem, monkeypatch: pytest.MonkeyPatch, screened_from: int
) -> None:
    monkeypatch.setattr(bounds, "SCREENED_FROM", screened_from)
    monkeypatch.setattr(engine_choice, "MEASURED_FROM_POINTS", 1)
    monkeypatch.setattr(exhaustive, "BOX_POINTS", 100)
    expected = engine_choice.estimate(small)
    assert expected.points == small.space.size
    assert 1 <= expected.boxes <= engine_choice.SAMPLES
    assert expected.seconds > 0
    assert f"(by {expected.boxes} boxes timed here)" in choose_engine(small, "auto")[1]


def test_a_search_that_takes_too_long_is_guided_and_says_why(
    small: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dse.search.engine_choice.EXHAUSTIVE_SECONDS", 1e-9)
    engine, reason = choose_engine(small, "auto")
    assert engine == "guided"
    assert reason.startswith(f"{small.space.size:,} points take about")
    assert "more than" in reason
    assert choose_engine(small, "exhaustive")[0] == "exhaustive"
