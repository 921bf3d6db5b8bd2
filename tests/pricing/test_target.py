"""dse.pricing.target: how long a run is, and what it does to speedup, time, cost and energy."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dse import catalog
from dse.errors import StudyError
from dse.pricing import constraints
from dse.pricing.coordinates import columns_of
from dse.pricing.draws import DRAWS
from dse.pricing.load import load
from dse.pricing.problem import Problem
from tests.catalog.test_convergence import OWN
from tests.pricing import studies

LANGUAGE = studies.SMALL.replace("workload: resnet50", "workload: bert-large-s512").replace(
    "batch_per_gpu: [32, 64, 256]", "batch_per_gpu: [1, 2, 4]"
).replace("batch_per_gpu: 32", "batch_per_gpu: 1")  # fmt: skip


def aimed(folder: Path, target: str, text: str = studies.SMALL) -> Problem:
    return load(studies.written(folder, f"{text}target: {target}\n"))


@pytest.fixture
def problem(tmp_path: Path) -> Problem:
    return aimed(tmp_path, "{quality: mlperf-resnet50}")


def test_a_run_to_a_quality_takes_more_samples_in_larger_steps(problem: Problem) -> None:
    """Every quantity of every point by plain arithmetic."""
    fit = catalog.quality_target("mlperf-resnet50")
    base = problem.baseline
    step_s = float(np.ravel(base.step.step_s)[0])

    def samples(batch: float) -> float:
        return fit.least_samples * (1 + batch / fit.critical_batch)

    baseline_s = samples(4 * 32) / (4 * 32) * step_s / float(np.ravel(base["goodput"])[0])
    seen = set()
    for box in problem.space.boxes(1 << 12):
        found = problem.box(box)
        names = ("speedup", "time_to_target", "per_run", "energy", "samples_to_target", "hourly",
                 "power", "global_batch", "step", "goodput")  # fmt: skip
        rows = np.broadcast_arrays(*(found[name] for name in names))
        for speedup, run_s, usd, joules, needed, hourly, watts, batch, step, goodput in zip(
            *(row.ravel() for row in rows), strict=True
        ):
            if not np.isfinite(step):
                continue
            seen.add(batch)
            assert needed == pytest.approx(samples(batch), rel=1e-12)
            assert run_s == pytest.approx(samples(batch) / batch * step / goodput, rel=1e-12)
            assert speedup == pytest.approx(baseline_s / run_s, rel=1e-12)
            billed_s = math.ceil(run_s + 600 - 1e-6)  # with ten minutes of start, in whole seconds
            assert usd == pytest.approx(hourly * billed_s / 3600, rel=1e-12, nan_ok=True)
            assert joules == pytest.approx(watts * run_s, rel=1e-12, nan_ok=True)
    assert len(seen) > 10


@pytest.mark.parametrize(
    ("target", "samples"),
    [("{samples: 3e6}", 3e6), ("{epochs: 2, epoch_samples: 1.5e6}", 3e6),
     ("{tokens: 1.536e9}", 3e6)],
)  # fmt: skip
def test_a_run_of_given_length_leaves_speedup_per_sample(
    tmp_path: Path, target: str, samples: float
) -> None:
    """What it is without a target, but for what fails: to the last bit where nothing does."""
    plain, told = load(studies.written(tmp_path, LANGUAGE)), aimed(tmp_path, target, LANGUAGE)
    sure = aimed(tmp_path, target, f"{LANGUAGE}failures: ideal\n")
    of_baseline = sure.baseline["time_to_target"], told.baseline["time_to_target"]
    for box in plain.space.boxes(1 << 12):
        before, now, ideal = plain.box(box), told.box(box), sure.box(box)
        np.testing.assert_array_equal(before["speedup"], ideal["speedup"])
        np.testing.assert_array_equal(ideal["time_to_target"], samples / ideal["throughput"])
        for found, base in zip((ideal, now), of_baseline, strict=True):
            np.testing.assert_allclose(found["speedup"], base / found["time_to_target"], rtol=1e-12)
        assert np.isnan(before["time_to_target"]).all()
        assert (now["goodput"] < 1).all()


@pytest.mark.parametrize("samples", [1, 1000])
@pytest.mark.parametrize("rest", ["", "failures: ideal\n", "rental: {start_up: 10 min}\n"])
def test_a_run_takes_at_least_one_step(tmp_path: Path, samples: int, rest: str) -> None:
    """In time, cost, energy and speedup, where the baseline's batch is larger, too."""
    text = studies.SMALL.replace(
        "batch_per_gpu: 32, precision: fp32", "batch_per_gpu: 256, precision: fp16"
    )
    problem = aimed(tmp_path, f"{{samples: {samples}}}", text + rest)
    start_s = 600.0 if "start_up" in rest else 0.0
    base = problem.baseline["time_to_target"]
    for evaluations in (problem, replace(problem, draws=DRAWS)):
        for box in problem.space.boxes(1 << 12):
            found = evaluations.box(box)
            needed = np.maximum(samples, found["global_batch"])
            run_s = needed / found["global_batch"] * found["step"] / found["goodput"]
            lasts = found["time_to_target"]
            np.testing.assert_allclose(lasts - found.start_up_s, run_s, rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(found["energy"], found["power"] * run_s, rtol=1e-12)
            assert np.all(run_s >= found["step"])
            if evaluations is problem:
                np.testing.assert_allclose(found["speedup"], base / lasts, rtol=1e-12)
                bill = found["hourly"] * np.ceil(start_s + run_s - 1e-6) / 3600
                assert start_s == 0 or np.allclose(found["per_run"], bill, rtol=1e-9)
    assert len(np.unique(found["samples_to_target"])) > 1


def test_all_points_share_the_draws_of_the_curve(problem: Problem) -> None:
    """What makes the whole curve higher cancels in speedup, and does not in the time of a run."""
    values = problem.study.baseline.values
    columns = columns_of([values, {**values, "batch_per_gpu": 256, "gpus": 16}])
    best = {
        name: np.concatenate([np.ravel(e[name]) for _, e in problem.scattered(columns)])
        for name in ("speedup", "time_to_target", "step")
    }
    ends = problem.intervals(columns, best)
    assert ends["speedup"].low[0] == ends["speedup"].high[0] == 1.0
    wide, steps = (np.log(ends[n].high / ends[n].low)[0] for n in ("time_to_target", "step"))
    assert wide > steps
    alike = columns_of([values, {**values, "batch_per_gpu": 64, "gpus": 2}])
    for _, points in problem.sampled.scattered(alike, speedup=False):
        draws = points["samples_to_target"]
        assert draws.shape == (problem.sampled.draws, 2)
        np.testing.assert_array_equal(draws[:, 0], draws[:, 1])
    drawn = problem.sampled.convergence
    assert drawn is not None
    fit = catalog.quality_target("mlperf-resnet50")
    logs = np.log([drawn.least_samples, drawn.critical_batch])
    np.testing.assert_allclose(
        logs.std(axis=1), [fit.least_samples_spread, fit.critical_batch_spread], rtol=0.2
    )
    assert np.corrcoef(logs)[0, 1] == pytest.approx(fit.correlation, abs=0.1)


def test_a_quality_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "ours.yaml").write_text(OWN, encoding="utf-8")
    found = aimed(tmp_path, "{quality: ours.yaml}").baseline
    assert float(np.ravel(found["samples_to_target"])[0]) == pytest.approx(1e6 * (1 + 128 / 512))


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("{quality: mlperf-bert}", "mlperf-bert is a quality of bert-large-s512, not of resnet50; "
         "write mlperf-resnet50"),
        ("{quality: mlperf-resnet}", "no quality target 'mlperf-resnet'; did you mean "
         "mlperf-resnet50"),
        ("{tokens: 1e9}", "how many tokens a sample of resnet50 has is not known"),
        ("{samples: 0.5}", "a run of less than one sample; give all samples of a run"),
        ("{epochs: 0.1, epoch_samples: 4}", "less than one sample; give all epochs of a run"),
    ],
)  # fmt: skip
def test_a_target_that_says_nothing_of_the_workload_is_refused(
    tmp_path: Path, target: str, said: str
) -> None:
    with pytest.raises(StudyError) as found:
        aimed(tmp_path, target)
    assert said in str(found.value)
    assert found.value.line == len(studies.SMALL.splitlines()) + 1


def test_equal_batch_leaves_points_with_the_batch_of_the_baseline(tmp_path: Path) -> None:
    text = studies.SMALL.replace("constraints: [", "constraints: [equal_batch, ")
    problem = load(studies.written(tmp_path, text))
    kept = 0
    for box in problem.space.boxes(1 << 12):
        found = problem.box(box)
        masks = dict(constraints.demands(found, problem.study))
        np.testing.assert_array_equal(masks["equal_batch"], found["global_batch"] == 128)
        kept += int(np.sum(masks["equal_batch"]))
    assert kept
    assert constraints.unmet("equal_batch") == "its global batch is not the baseline's"
