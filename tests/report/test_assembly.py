"""The document of a run, its points, and what `dse explain` says of one."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dse import catalog
from dse.calibration import Profile, fit_measurements
from dse.calibration.experiment import write_experiment
from dse.model.terms import TERMS
from dse.pricing.load import load
from dse.pricing.problem import Problem
from dse.report import assembly
from dse.report.design_point import Explained
from dse.report.document import RunDocument
from dse.report.explain import lines
from dse.report.json_form import parsed, plain, text
from dse.search.run import run
from tests.calibration import synthetic
from tests.evidence import beyond
from tests.pricing import priced, studies
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
    found = assembly.build(outcome, "dse run small", 0, 1.0, {"mpi": Path("planted.yaml")})
    again = plain(found)
    assert json.loads(text(found)) == again
    assert text(parsed(RunDocument, again)) == text(found)
    assert again["counts"]["points"] == problem.space.size
    assert again["counts"]["front"] == len(again["front"])
    assert again["counts"]["ties"] == sum(point["ties"] for point in again["front"])
    assert again["baseline"]["speedup"] == pytest.approx(1.0)
    assert {row["status"] for row in again["sources"]} <= {
        "sourced", "derived", "unverified", "unknown"
    }  # fmt: skip
    assert {row["name"]: (row["calibrated"], row["partly"]) for row in again["transports"]} == {
        "mpi": (False, True), "gloo": (False, False)
    }  # fmt: skip
    assert 0 < len(again["sample"]["gain"]) <= assembly.SAMPLED
    ((row, fit),) = ((one, problem.profiles["mpi"].fits["ring"]) for one in again["calibration"])
    assert row["machine"] == dict(problem.profiles["mpi"].machine)
    assert row["gamma_s_per_byte"] == problem.profiles["mpi"].gamma_s_per_byte
    assert row["link_bytes_per_s"] == problem.profiles["mpi"].link_bytes_per_s
    assert row["algorithms"]["ring"]["error_p90"] == fit.error_p90
    assert row["algorithms"]["ring"]["textbook_error_median"] == fit.textbook_error
    assert {"device", "source", "split"} <= set(row)
    assert again["extrapolated"]["why"]
    assert any(one.startswith("Profiles were measured on one link") for one in found.assumptions)
    assert any("fat tree" in one for one in found.assumptions)
    bought = {item["item"]: item["unit_usd"] for item in again["prices"]}
    billed = {item.item: item.unit_usd for item in found.bills["recommended"]}
    known = {catalog.accelerator(str(one)).title for one in problem.study.values("accelerator")}
    assert known < set(bought)
    assert known & set(billed)
    assert all(billed[name] == bought[name] for name in set(billed) & set(bought))
    for point in again["front"]:
        assert sum(point["terms"].values()) == pytest.approx(point["step_s"], rel=1e-6)
        if point["interval"]:
            low, high = point["interval"]["step_s"]
            assert low <= point["step_s"] * (1 + 1e-9)
            assert high >= point["step_s"] * (1 - 1e-9)


@pytest.mark.parametrize(
    "error", beyond([0.4, 3300.0], [0.3, 0.4, 50.0, 3300.0])
)  # the known one: 0.2
def test_a_poor_calibration_has_wide_intervals_that_end_somewhere(
    problem: Problem, profile: Profile, error: float
) -> None:
    poor = {name: replace(fit, error=error, error_p90=error) for name, fit in profile.fits.items()}
    found = replace(problem, profiles={"mpi": replace(profile, fits=poor)})
    low, high = at(found, gpus=4, aggregation="ring-mpi", overlap="none").interval.step_s
    assert 0 < low < high < np.inf
    known = replace(problem, profiles={"mpi": profile})
    narrow, wide = (
        width(p, gpus=4, gpus_per_node=4, aggregation="ring-mpi") for p in (known, found)
    )
    assert wide > narrow
    outcome = run(found, "exhaustive", None, None, lambda *_: None, 0, 0)
    told = assembly.build(outcome, "dse run small", 0, 1.0, {"mpi": Path("poor.yaml")})
    assert text(told)


def test_extrapolated_tells_what_was_measured(problem: Problem) -> None:
    measured = {"aggregation": "ring-mpi", "bucket": 4 * 2.0**20}
    assert at(problem, gpus=4, gpus_per_node=4, **measured).extrapolated is False
    assert at(problem, gpus=8, gpus_per_node=4, **measured).extrapolated is True  # two nodes
    assert at(problem, gpus=16, gpus_per_node=16, **measured).extrapolated is True  # more ranks
    large = {**measured, "bucket": 64 * 2.0**20}
    assert at(problem, gpus=4, gpus_per_node=4, **large).extrapolated is True
    other = {**measured, "aggregation": "halving-doubling-gloo"}
    assert at(problem, gpus=4, gpus_per_node=4, **other).extrapolated is True
    assert at(problem, gpus=1, gpus_per_node=4, **other).extrapolated is False


def test_intervals_are_wider_outside_the_measured_range(
    problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    priced.compute_exactly(monkeypatch)  # of communication alone
    values = {"aggregation": "ring-mpi", "gpus_per_node": 4, "bucket": 4 * 2.0**20}
    assert 0 < width(problem, **values, gpus=4) < width(problem, **values, gpus=8)


def test_what_was_not_measured_has_a_wider_interval(problem: Problem) -> None:
    unmeasured = load(problem.study.path)  # neither the point nor the baseline
    near, far = (
        at(known, aggregation="ring-mpi", gpus=4).interval.step_s for known in (problem, unmeasured)
    )
    assert far[1] / far[0] > near[1] / near[0]
    assert at(problem, aggregation="halving-doubling-gloo", gpus=4).interval is not None


def test_the_error_of_computing_cancels_only_on_the_same_accelerator(problem: Problem) -> None:
    def spread(**values: object) -> float:
        low, high = at(problem, aggregation="ring-mpi", gpus=1, **values).interval.speedup
        return float(high / low)

    same = spread(accelerator="p100-sxm2-16gb", batch_per_gpu=256)
    other = spread(accelerator="v100-sxm2-16gb", batch_per_gpu=256)
    assert np.log(other) > 2 * np.log(same) > 0


def test_the_interval_holds_the_point(problem: Problem) -> None:
    for gpus in (1, 2, 3, 4, 8, 16):
        point = at(problem, aggregation="ring-mpi", gpus=gpus)
        assert point.interval is not None
        low, high = point.interval.speedup
        assert low <= (point.speedup or 0.0) <= high


def told(problem: Problem, **values: object) -> Explained:
    return Explained(**vars(at(problem, **values)))


def test_explain_shows_every_term(problem: Problem) -> None:
    point = told(problem, gpus=8, aggregation="ring-mpi")
    known = replace(point, constraints={"fits_memory": True, "x <= 1": False})
    text = "\n".join(lines(known))
    for name, seconds in point.terms.items():
        assert (f"  {TERMS[name].title} " in text) == (seconds != 0)
    assert "constraints      x <= 1 is not met\n" in text + "\n"
    assert "ps_servers" not in text
    total = sum(point.terms.values())
    assert np.isclose(total, point.step_s or 0.0)
