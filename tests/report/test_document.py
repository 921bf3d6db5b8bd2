"""dse.report.document, points and explain: what run.json says of a run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dse.calibration import Profile, fit_measurements
from dse.calibration.experiment import write_experiment
from dse.pricing import uncertainty
from dse.pricing.load import load
from dse.pricing.problem import Problem
from dse.report import document, recommend
from dse.report.explain import lines
from dse.search.run import FrontPoint, run
from dse.study import Objective
from tests.calibration import synthetic
from tests.pricing import studies
from tests.pricing.priced import at, width


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    measured = tmp_path_factory.mktemp("measured") / "measured.json"
    write_experiment(synthetic.experiment(noise=0.1), measured)
    return fit_measurements([measured], "planted")


@pytest.fixture
def problem(tmp_path: Path, profile: Profile) -> Problem:
    found = load(studies.written(tmp_path, studies.SMALL.replace("ps-grpc", "ps-mpi")))
    return replace(found, profiles={"mpi": profile})


def test_the_document_is_json_and_says_everything(problem: Problem) -> None:
    outcome = run(problem, "exhaustive", None, None, lambda *_: None, 0, 0)
    found = document.build(outcome, "dse run small", 0, 1.0, {"mpi": Path("planted.yaml")})
    again = json.loads(json.dumps(found, allow_nan=False))
    assert again["counts"]["points"] == problem.space.size
    assert again["counts"]["front"] == len(again["front"])
    assert again["counts"]["ties"] == sum(point["ties"] for point in again["front"])
    assert again["baseline"]["speedup"] == pytest.approx(1.0)
    assert {row["status"] for row in again["sources"]} <= {
        "sourced", "derived", "unverified", "unknown"
    }  # fmt: skip
    assert {row["name"]: row["calibrated"] for row in again["transports"]} == {
        "mpi": True, "gloo": False
    }  # fmt: skip
    assert 0 < len(again["sample"]["gain"]) <= document.SAMPLED
    for point in again["front"]:
        assert sum(point["terms"].values()) == pytest.approx(point["step_s"], rel=1e-6)
        if point["interval"]:
            low, high = point["interval"]["step_s"]
            assert low <= point["step_s"] * (1 + 1e-9)
            assert high >= point["step_s"] * (1 - 1e-9)


@pytest.mark.parametrize("error", [0.05, 0.4, 50.0, 3300.0])
def test_a_poor_calibration_has_wide_intervals_that_end_somewhere(
    problem: Problem, profile: Profile, error: float
) -> None:
    poor = {name: replace(fit, error=error, error_p90=error) for name, fit in profile.fits.items()}
    found = replace(problem, profiles={"mpi": replace(profile, fits=poor)})
    low, high = at(found, gpus=4, aggregation="ring-mpi", overlap="none")["interval"]["step_s"]
    assert 0 < low < high < np.inf
    known = replace(problem, profiles={"mpi": profile})
    narrow, wide = (width(p, gpus=4, aggregation="ring-mpi") for p in (known, found))
    assert (wide > narrow) is (error > 0.1)
    outcome = run(found, "exhaustive", None, None, lambda *_: None, 0, 0)
    told = document.build(outcome, "dse run small", 0, 1.0, {"mpi": Path("poor.yaml")})
    assert json.dumps(told, allow_nan=False)


def test_extrapolated_tells_what_was_measured(problem: Problem) -> None:
    measured = {"aggregation": "ring-mpi", "bucket": 4 * 2.0**20}
    assert at(problem, gpus=4, gpus_per_node=4, **measured)["extrapolated"] is False
    assert at(problem, gpus=8, gpus_per_node=4, **measured)["extrapolated"] is True  # two nodes
    assert at(problem, gpus=16, gpus_per_node=16, **measured)["extrapolated"] is True  # more ranks
    large = {**measured, "bucket": 64 * 2.0**20}
    assert at(problem, gpus=4, gpus_per_node=4, **large)["extrapolated"] is True
    other = {**measured, "aggregation": "halving-doubling-gloo"}
    assert at(problem, gpus=4, gpus_per_node=4, **other)["extrapolated"] is True
    assert at(problem, gpus=1, gpus_per_node=4, **other)["extrapolated"] is False


def test_intervals_are_wider_outside_the_measured_range(
    problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uncertainty, "COMPUTE_ERROR_MEDIAN", 0.0)  # of communication alone

    values = {"aggregation": "ring-mpi", "gpus_per_node": 4, "bucket": 4 * 2.0**20}
    assert 0 < width(problem, **values, gpus=4) < width(problem, **values, gpus=8)


def test_no_interval_where_nothing_was_measured(problem: Problem) -> None:
    assert at(problem, aggregation="halving-doubling-gloo", gpus=4)["interval"] is None
    unmeasured = load(problem.study.path)  # neither the point nor the baseline
    assert at(unmeasured, aggregation="ring-mpi", gpus=4)["interval"] is None


def test_the_error_of_computing_cancels_only_on_the_same_accelerator(problem: Problem) -> None:
    def spread(**values: object) -> float:
        low, high = at(problem, aggregation="ring-mpi", gpus=1, **values)["interval"]["speedup"]
        return float(high / low)

    same = spread(accelerator="p100-sxm2-16gb", batch_per_gpu=256)
    other = spread(accelerator="v100-sxm2-16gb", batch_per_gpu=256)
    assert other > 2 > same


def test_the_interval_holds_the_point(problem: Problem) -> None:
    for gpus in (1, 2, 3, 4, 8, 16):
        point = at(problem, aggregation="ring-mpi", gpus=gpus)
        low, high = point["interval"]["speedup"]
        assert low <= point["speedup"] <= high


def test_a_baseline_that_could_not_run_is_named(tmp_path: Path) -> None:
    big = studies.SMALL.replace("batch_per_gpu: 32, precision", "batch_per_gpu: 4096, precision")
    missed = document.baseline_misses(load(studies.written(tmp_path, big)))
    assert len(missed) == 1
    assert "more memory than an accelerator has" in missed[0]


def front(*rows: tuple[float, float]) -> list[FrontPoint]:
    return [FrontPoint({}, {}, gain, cost, 0.0, 0, ()) for gain, cost in rows]


def test_the_knee_stands_highest_above_the_chord() -> None:
    points = front((1, 1), (8, 2), (9, 4), (16, 16))
    assert recommend.recommended(points, "knee") == 1
    assert recommend.recommended(points, "fastest") == 3


def test_cheapest_within_five_per_cent() -> None:
    points = front((1, 1), (94, 2), (95, 3), (99, 4), (100, 5))
    assert recommend.recommended(points, "cheapest-within-5%") == 2
    assert recommend.recommended(front((3, 7)), "cheapest-within-5%") == 0


def three(*rows: tuple[float, float, float]) -> list[FrontPoint]:
    return [FrontPoint({}, {}, gain, cost, other, 0, ()) for gain, cost, other in rows]


def test_with_two_costs_the_fastest_need_not_be_the_dearest() -> None:
    points = three((1, 1, 9), (97, 3, 4), (98, 3, 5), (100, 4, 8), (100, 5, 7), (50, 6, 1))
    assert recommend.recommended(points, "fastest") == 3
    assert recommend.recommended(points, "cheapest-within-5%") == 1


def test_the_knee_of_three_is_that_of_two_where_one_cost_says_nothing_new() -> None:
    two = ((1, 1), (8, 2), (9, 4), (16, 16))
    same = three(*((gain, cost, 5 * cost) for gain, cost in two))
    flat = three(*((gain, cost, 7.0) for gain, cost in two))
    assert recommend.recommended(same, "knee") == recommend.recommended(flat, "knee") == 1


def test_the_knee_of_three_minds_both_costs() -> None:
    points = three((1, 1, 1), (8, 2, 16), (8, 4, 2), (16, 16, 16))
    assert recommend.recommended(points, "knee") == 2
    assert recommend.recommended(three((8, 2, 16), (8, 4, 2)), "knee") == 0


@pytest.mark.parametrize("rule", recommend.RULES)
def test_every_rule_says_what_it_does_with_two_costs(rule: str) -> None:
    two = (Objective("speedup", "maximize"), Objective("capital", "minimize"))
    one = recommend.why(rule, two)
    both = recommend.why(rule, (*two, Objective("time_to_target", "minimize")))
    assert one == recommend.RULES[rule]
    assert "capital" in both
    assert ("time to target" in both) is (rule != "fastest")
    assert "{" not in both


def test_explain_shows_every_term(problem: Problem) -> None:
    point = at(problem, gpus=8, aggregation="ring-mpi")
    text = "\n".join(lines({**point, "constraints": {"fits_memory": True, "x <= 1": False}}))
    assert "forward pass" in text
    assert "not met: x <= 1" in text
    assert "ps_servers" not in text
    total = sum(point["terms"].values())
    assert np.isclose(total, point["step_s"])


def test_explain_says_how_many_servers_were_supposed(problem: Problem) -> None:
    point = {**at(problem, gpus=8, gpus_per_node=4, aggregation="ps-mpi"), "constraints": {}}
    assert point["nodes"] == 2
    point["config"] = {k: v for k, v in point["config"].items() if k != "ps_servers"}
    assert "ps_servers       1  (the study has no such axis)" in lines(point)
    point["config"]["ps_servers"] = "4"
    assert "ps_servers       4" in lines(point)
    one = {**at(problem, gpus=8, aggregation="ring-mpi"), "constraints": {}}
    assert not any(line.startswith("ps_servers") for line in lines(one))


def test_explain_tells_a_long_step_in_seconds(problem: Problem) -> None:
    point = {**at(problem, gpus=8, aggregation="ring-mpi"), "constraints": {}}
    short = f"step             {1e3 * point['step_s']:.3f} ms"
    assert short in lines(point)
    longer = {**point, "step_s": 12.3456, "comm_s": 1.5}
    longer["terms"] = dict.fromkeys(point["terms"], 2.0)
    text = lines(longer)
    assert "step             12.346 s" in text
    assert any(line.startswith("  forward pass") and "  2.000 s  16.2%" in line for line in text)
    assert "  (aggregation, hidden or not: 1.500 s)" in text
