"""The time of a run: that of rented machines begins with their start-up, which no rate holds."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dse import catalog
from dse.pricing import constraints, draws
from dse.pricing.coordinates import columns_of
from dse.pricing.draws import DRAWS
from dse.pricing.load import load
from dse.pricing.problem import Problem
from dse.report.points import describe
from dse.search import bounds, exhaustive
from tests.pricing import studies
from tests.pricing.priced import feasible, point

DAY = 86_400.0
FAST = {"accelerator": "v100-sxm2-16gb", "gpus": 16, "gpus_per_node": 4, "batch_per_gpu": 64,
        "precision": "fp16", "aggregation": "ring-mpi"}  # fmt: skip
TARGET = "target: {samples: 1e7}\n"
NAMES = ("speedup", "time_to_target", "per_run", "energy", "hourly", "power", "global_batch",
         "step", "goodput")  # fmt: skip


def rented(folder: Path, more: str = TARGET, least: str = "per_run") -> Problem:
    """The small study on machines that are rented."""
    text = studies.SMALL.replace("minimize: capital", f"minimize: {least}")
    return load(studies.written(folder, text.replace('"capital <= 350 kUSD", ', "") + more))


def number(problem: Problem, name: str, **values: object) -> float:
    return float(np.ravel(problem.point(point(problem, **values))[name])[0])


@pytest.mark.parametrize("least", ["per_run", "hourly"])
@pytest.mark.parametrize(
    ("more", "start_s", "held"),
    [
        ("", 600.0, 1.0),
        ("rental: {start_up: 0 s}\n", 0.0, 1.0),
        ("rental: {start_up: 90 min}\nfailures: ideal\n", 5400.0, 1.0),
        ("rental: {start_up: 20 d}\n", 20 * DAY, 1.0),  # longer than any run
        ("rental: {term: spot, spell: 3 h, wait: 1 h, start_up: 20 min}\n", 1200.0, 0.75),
    ],
)
def test_every_run_by_plain_arithmetic(
    tmp_path: Path, least: str, more: str, start_s: float, held: float
) -> None:
    """Interruptions count in the goodput; the start before the first step counts once."""
    problem = rented(tmp_path, f"{TARGET}{more}", least)
    base = problem.baseline

    def one(name: str) -> float:
        return float(np.ravel(base[name])[0])

    baseline_s = start_s + 1e7 / one("global_batch") * one("step") / one("goodput")
    seen = 0
    for box in problem.space.boxes(1 << 12):
        found = problem.box(box)
        rows = np.broadcast_arrays(*(found[name] for name in NAMES))
        for speedup, run_s, usd, joules, hourly, watts, batch, step, goodput in zip(
            *(row.ravel() for row in rows), strict=True
        ):
            if not np.isfinite(step):
                continue
            seen += 1
            working_s = 1e7 / batch * step / goodput
            assert run_s == pytest.approx(start_s + working_s, rel=1e-12)
            assert speedup == pytest.approx(baseline_s / run_s, rel=1e-12)
            assert joules == pytest.approx(watts * working_s * held, rel=1e-12, nan_ok=True)
            billed_s = math.ceil((working_s * held + start_s) * (1 - 1e-12))
            due = hourly * max(billed_s, 60) / 3600
            assert usd == pytest.approx(due, rel=1e-12, nan_ok=True)
    assert seen > 500
    assert number(problem, "speedup") == 1.0
    assert number(problem, "speedup", gpus=1, gpus_per_node=1) < 1.0


def test_what_is_bought_has_no_start_and_without_a_target_speedup_is_of_rates(
    tmp_path: Path,
) -> None:
    values = FAST
    bought = load(studies.written(tmp_path, studies.SMALL + TARGET))
    took = number(bought, "time_to_target", **values)
    found = rented(tmp_path)
    assert number(found, "time_to_target", **values) == pytest.approx(took + 600, rel=1e-12)
    assert number(found, "speedup", **values) < number(bought, "speedup", **values)
    rates = rented(tmp_path, "", "hourly")
    times = number(rates, "throughput", **values) / number(rates, "throughput")
    assert number(rates, "speedup", **values) == pytest.approx(times, rel=1e-12)
    assert np.isnan(number(rates, "energy"))
    assert rates.rental().awaited_s == bought.rental().awaited_s == 0.0


def test_a_run_that_hardly_ever_trains_has_a_speedup_that_is_a_number(tmp_path: Path) -> None:
    """A month to recover, and a stop every few hours: its time is all but without bound."""
    alone = (
        studies.SMALL.replace("gpus: 4, gpus_per_node: 4", "gpus: 1, gpus_per_node: 1")
        .replace(", ps_servers: 1}", "}")
        .replace("minimize: capital", "minimize: per_run")
    )
    failing = "failures: {per_accelerator_month: 5, per_job_day: 0, recover: 30 d}\n"
    problem = load(studies.written(tmp_path, alone + TARGET + failing))
    slow = {"gpus": 16, "gpus_per_node": 4, "aggregation": "ring-mpi"}
    assert number(problem, "goodput", **slow) < 1e-30
    assert 0 < number(problem, "speedup", **slow) < 1e-20
    assert np.isfinite(number(problem, "time_to_target", **slow))


def test_a_deadline_counts_the_start(tmp_path: Path) -> None:
    run_s = number(rented(tmp_path), "time_to_target") - 600
    for minutes, met in ((9, False), (11, True)):
        limit = f"time_to_target <= {run_s + 60 * minutes} s"
        text = studies.SMALL.replace("minimize: capital", "minimize: per_run")
        text = text.replace("capital <= 350 kUSD", limit)
        problem = load(studies.written(tmp_path, text + TARGET))
        masks = dict(constraints.demands(problem.baseline, problem.study))
        assert masks[limit].all() == met


def test_draws_of_a_run_start_together(tmp_path: Path) -> None:
    problem = rented(tmp_path)
    values = problem.study.baseline.values
    columns = columns_of([values, {**values, "gpus": 16}])
    for _, drawn in problem.sampled.scattered(columns):
        assert (drawn["speedup"][:, 0] == 1.0).all()
        waited = drawn["time_to_target"] - drawn.running_s
        np.testing.assert_allclose(waited[:, 0], waited[:, 1], rtol=1e-6)
        spread = catalog.rental_facts().start_up_s
        assert np.median(waited[:, 0]) == pytest.approx(spread.value, rel=0.05)
        assert np.log(waited[:, 0]).std() == pytest.approx(spread.draws, rel=0.1)
    run = describe(problem, values).run
    assert run is not None
    assert run.start_up_s == 600.0
    timed = rented(tmp_path, f"{TARGET}rental: {{start_up: 7 min}}\n")
    assert timed.sampled.rental().awaited_s == 420.0  # what a study gives is certain
    bought = load(studies.written(tmp_path, studies.SMALL + TARGET))
    asked = set[str]()
    with draws.varied(draws.Variation(asked=asked)):
        [found["per_run"] for _, found in replace(bought, draws=DRAWS).scattered(columns)]
    assert "rental start_up" not in asked
    run = describe(bought, bought.study.baseline.values).run
    assert run is not None
    assert run.start_up_s is None


@pytest.mark.parametrize("start", ["0 s", "10 min", "3 d"])
def test_the_front_of_rented_machines_is_that_of_a_plain_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: str
) -> None:
    """Also where bounds leave points unpriced."""
    problem = rented(tmp_path, f"{TARGET}rental: {{start_up: {start}}}\n")
    points = dict(feasible(problem))
    front = {
        mine
        for mine in points.values()
        if not any(
            its != mine and its[0] >= mine[0] and its[1] <= mine[1] for its in points.values()
        )
    }
    monkeypatch.setattr(bounds, "SCREENED_FROM", 1)
    found = exhaustive.search(problem, problem.space.boxes(700))
    assert found.priced < found.points
    assert set(zip(found.front.gain.tolist(), found.front.cost.tolist(), strict=True)) == front
