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

DEMANDING = SMALL.replace('"capital <= 350 kUSD"', '"speedup >= 2", "power <= 9 kW"')


def problem_of(folder: Path, text: str) -> Problem:
    return load(written(folder, text))


@pytest.mark.parametrize("text", [SMALL, DEMANDING, CONDITIONAL_BUCKET, IMPOSSIBLE],
                         ids=("small", "speed demanded", "conditional", "none"))  # fmt: skip
def test_a_small_space_is_counted_as_a_search_counts_it(text: str, tmp_path: Path) -> None:
    problem = problem_of(tmp_path, text)
    found = feasible(problem)
    tally = exhaustive.search(problem, problem.space.boxes(exhaustive.BOX_POINTS))
    assert found == Feasible(tally.points, tally.feasible, tally.rejected, True)
    assert found.share_between == (found.share, found.share)


@pytest.mark.parametrize("text", [SMALL, DEMANDING, IMPOSSIBLE])
def test_a_sample_tells_about_how_many(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = problem_of(tmp_path, text)
    exact = feasible(problem)
    monkeypatch.setattr(counting, "WHOLE", 0)
    monkeypatch.setattr(counting, "WHOLE_PRICED", 0)
    sampled = feasible(problem)
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


# Of one aggregation there are eight times as many points as of another.
SERVED = CONTINUOUS.replace("values: [1, 2]", "values: [1, 2, 3, 4, 5, 6, 7, 8]").replace(
    "constraints: [", 'constraints: ["ps_servers <= nodes", '
)


@pytest.mark.parametrize("text", [CONTINUOUS, SERVED])
def test_of_a_continuous_space_a_sample_tells(text: str, tmp_path: Path) -> None:
    many = "{from: 1 Gbps, to: 100 Gbps, continuous: true}"
    assert many in text
    rates = ", ".join(f"{100 ** (at / 8):g} Gbps" for at in range(9))
    listed = feasible(problem_of(tmp_path, text.replace(many, f"[{rates}]")))
    sampled = feasible(problem_of(tmp_path, text))
    assert (sampled.points, sampled.whole, listed.whole) == (counting.SAMPLE, False, True)
    assert sampled.share == pytest.approx(listed.share, abs=0.05)
    assert {*sampled.rejected} == {*listed.rejected}
    for demand, count in listed.rejected.items():
        share = sampled.rejected[demand] / sampled.points
        assert share == pytest.approx(count / listed.points, abs=0.05), demand


@pytest.mark.evidence
def test_a_space_of_more_points_than_can_be_numbered_is_sampled(tmp_path: Path) -> None:
    text = SMALL
    for axis, values in {"gpus": "[1, 2, 3, 4, 8, 16]", "batch_per_gpu": "[32, 64, 256]"}.items():
        text = text.replace(f"{axis}: {values}", f"{axis}: {{from: 1, to: 10000, step: 1}}")
    text = text.replace("bucket: [4 MiB, 25 MiB]",
                        "bucket: {from: 1 MiB, to: 10000 MiB, step: 1 MiB}"
                        "\n  accumulation: {from: 1, to: 10000, step: 1}"
                        "\n  oversubscription: [1, 2, 3, 4, 5, 6, 7, 8]"
                        "\n  nics_per_node: [1, 2, 3, 4, 5, 6, 7, 8]")  # fmt: skip
    problem = problem_of(tmp_path, text)
    assert problem.points is not None
    assert problem.points > 2**63
    found = feasible(problem)
    assert (found.points, found.whole) == (counting.SAMPLE, False)
    assert 0 < found.rejected[constraints.WHOLE_NODES] < found.points
