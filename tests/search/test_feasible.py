"""How many points are feasible, said before a search, is what the search then finds."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.pricing import constraints
from dse.pricing.load import load
from dse.pricing.problem import Problem
from dse.search import exhaustive
from dse.search import feasible as counting
from dse.search.feasible import Feasible, feasible
from tests.pricing.studies import CONDITIONAL_BUCKET, CONTINUOUS, IMPOSSIBLE, SMALL, written

DEMANDING = SMALL.replace('"capital <= 200 kUSD"', '"speedup >= 2", "power <= 9 kW"')


def problem_of(folder: Path, text: str) -> Problem:
    return load(written(folder, text))


@pytest.mark.parametrize("text", [SMALL, DEMANDING, CONDITIONAL_BUCKET, IMPOSSIBLE],
                         ids=("small", "speed demanded", "conditional", "none"))  # fmt: skip
def test_a_small_space_is_counted_as_a_search_counts_it(text: str, tmp_path: Path) -> None:
    problem = problem_of(tmp_path, text)
    found = feasible(problem)
    tally = exhaustive.search(problem, problem.space.boxes(exhaustive.BOX_POINTS))
    assert found == Feasible(
        tally.points, tally.feasible, constraints.counted_once(tally.rejected), True
    )
    assert found.share_between == (found.share, found.share)


def test_points_are_counted_by_hand_too(tmp_path: Path) -> None:
    problem = problem_of(tmp_path, DEMANDING)
    found = feasible(problem)
    points = [problem.space.point(at) for at in range(0, problem.space.size, 7)]
    passed = 0
    for point in points:
        evaluation = problem.point(point)
        passed += all(mask.all() for _, mask in constraints.demands(evaluation, problem.study))
    assert found is not None
    assert passed / len(points) == pytest.approx(found.share, abs=0.03)


@pytest.mark.parametrize("text", [SMALL, DEMANDING, IMPOSSIBLE])
def test_a_sample_tells_about_how_many(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = problem_of(tmp_path, text)
    exact = feasible(problem)
    monkeypatch.setattr(counting, "WHOLE", 0)
    monkeypatch.setattr(counting, "WHOLE_PRICED", 0)
    sampled = feasible(problem)
    assert exact is not None
    assert sampled is not None
    assert (sampled.points, sampled.whole) == (counting.SAMPLE, False)
    low, high = sampled.share_between
    assert 0 <= low <= exact.share <= high <= 1
    assert high - low < 0.07
    for reason, count in exact.rejected.items():
        share = sampled.rejected.get(reason, 0) / sampled.points
        assert share == pytest.approx(count / exact.points, abs=0.06), reason
    assert feasible(problem) == sampled  # the same sample every time


@pytest.mark.parametrize(("passed", "low", "high"), [(0, 0.0, 0.004), (1000, 0.996, 1.0)])
def test_a_sample_of_one_kind_is_not_certain(passed: int, low: float, high: float) -> None:
    found = Feasible(1_000, passed, {}, whole=False)
    assert found.share_between == (pytest.approx(low, abs=5e-4), pytest.approx(high, abs=5e-4))


def test_a_continuous_space_is_not_counted(tmp_path: Path) -> None:
    assert feasible(problem_of(tmp_path, CONTINUOUS)) is None
