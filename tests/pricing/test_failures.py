"""Failures of a study: its own terms, else the catalogue's, in time, cost and energy of a run."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dse import catalog
from dse.errors import StudyError
from dse.model.goodput import IDEAL, SECONDS_PER_DAY, SECONDS_PER_MONTH
from dse.pricing.evaluation import Evaluation
from dse.pricing.load import load
from dse.pricing.problem import Problem
from tests.pricing import studies
from tests.pricing.priced import point

TARGET = "target: {samples: 1e9}\n"


def problem(folder: Path, more: str = "", text: str = studies.SMALL) -> Problem:
    return load(studies.written(folder, text + TARGET + more))


def test_the_catalogue_s_terms_hold_unless_a_study_says_otherwise(tmp_path: Path) -> None:
    known = catalog.failure_terms()
    assert all(term.value > 0 and term.draws > 0 for term in known.terms.values())
    usual = problem(tmp_path).failures
    assert usual.per_accelerator_s * SECONDS_PER_MONTH == known.terms["per_accelerator_month"].value
    assert usual.recover_s == known.terms["recover"].value
    own = problem(tmp_path, "failures: {recover: 10 min, per_job_day: 0, interval: 1 h}\n").failures
    assert (own.recover_s, own.per_job_s, own.interval_s) == (600.0, 0.0, 3600.0)
    assert own.checkpoint_s == usual.checkpoint_s
    assert problem(tmp_path, "failures: ideal\n").failures == IDEAL


def test_1000_gpus_for_30_days_is_not_30_days(tmp_path: Path) -> None:
    """By hand: 0.01 stops a month of each and 0.9 a day of the job are 10 / 30.4167 + 0.9 =
    1.2288 a day, 19.532 h or 1171.9 min apart. Saving takes 1 min, so that a checkpoint is due
    every sqrt(2 * 1 * 1171.9) (1 + 0.020656 / 3 + 0.00042667 / 9) - 1 = 47.748 min. Of the time,
    47.748 / (1171.9 * exp(10 / 1171.9) * (exp(48.748 / 1171.9) - 1)) = 95.110 % trains. Thirty days
    become 31.54."""
    more = "failures: {per_accelerator_month: 0.01, per_job_day: 0.921600, recover: 10 min, "
    text = studies.SMALL.replace("[1, 2, 3, 4, 8, 16]", "[1, 2, 3, 4, 8, 16, 1000]")
    found = problem(tmp_path, f"{more}checkpoint: 1 min}}\n", text)
    # On 1,000 of 1,024 accelerators a job has 1000 / 1024 of 0.9216 stops a day: 0.9.
    priced = found.point(point(found, gpus=1000))
    assert float(priced.running.between_stops_s[0]) / 3600 == pytest.approx(19.532, abs=1e-3)
    assert float(priced.running.interval_s[0]) / 60 == pytest.approx(47.748, abs=1e-3)
    assert float(priced["goodput"][0]) == pytest.approx(0.95110, abs=1e-5)
    days = 30 * float(priced["throughput"][0]) * SECONDS_PER_DAY  # samples of 30 days
    aimed = replace(found, study=replace(found.study, target=replace(found.study.target,
                    samples=days)))  # fmt: skip
    longer = aimed.point(point(aimed, gpus=1000))
    took = float(longer["time_to_target"][0])
    assert took / SECONDS_PER_DAY == pytest.approx(31.54, abs=5e-3)
    assert float(longer["energy"][0]) == pytest.approx(float(longer["power"][0]) * took)
    started = took + 600  # until the machines run
    assert float(longer["per_run"][0]) == pytest.approx(
        float(longer["hourly"][0]) * started / 3600, rel=1e-6
    )


def test_speed_is_the_same_with_and_without_failures(tmp_path: Path) -> None:
    usual, ideal = problem(tmp_path), problem(tmp_path, "failures: ideal\n")
    one, other = (of.point(point(of, gpus=16)) for of in (usual, ideal))
    for name in ("step", "throughput", "hourly"):
        assert one[name].tolist() == other[name].tolist()
    times = [float(of.baseline["time_to_target"][0]) for of in (usual, ideal)]
    for found, time in zip((one, other), times, strict=True):  # speedup is of whole runs
        assert float(found["speedup"][0]) == pytest.approx(time / float(found["time_to_target"][0]))
    assert float(other["goodput"][0]) == 1.0
    for name in ("time_to_target", "energy"):
        assert float(one[name][0]) == pytest.approx(
            float(other[name][0]) / float(one["goodput"][0])
        )


def test_the_interval_of_a_run_s_time_holds_that_of_its_failures(tmp_path: Path) -> None:
    sure = problem(tmp_path, "failures: ideal\n")
    unsure = problem(tmp_path)
    given = problem(tmp_path, "failures: {per_accelerator_month: 900, per_job_day: 0, "
                              "recover: 1 min, checkpoint: 1 s}\n")  # fmt: skip
    drawn = unsure.sampled.failures
    assert np.shape(drawn.per_accelerator_s) == (unsure.sampled.draws,)
    spread = catalog.failure_terms().terms["per_accelerator_month"].draws
    assert np.std(np.log(drawn.per_accelerator_s)) == pytest.approx(spread, rel=0.15)
    assert np.ndim(given.sampled.failures.per_accelerator_s) == 0
    at = point(unsure, gpus=16)
    shares = next(iter(unsure.sampled.rows([at], speedup=False)))[1]["goodput"]
    assert shares.shape == (unsure.sampled.draws, 1)
    assert 0 < np.ptp(shares) < 0.1
    assert next(iter(sure.sampled.rows([at], speedup=False)))[1]["goodput"].tolist() == [1.0]


def test_a_point_that_hardly_trains_still_has_numbers(tmp_path: Path) -> None:
    """16 stop every 3 minutes and need 6 hours to recover: about exp(-118) of the time."""
    more = "failures: {per_accelerator_month: 900, recover: 1 d, checkpoint: 1 s}\n"
    text = studies.SMALL.replace("gpus: 4, gpus_per_node: 4", "gpus: 1, gpus_per_node: 1")
    with pytest.raises(StudyError, match="trains hardly at all"):
        problem(tmp_path, more)
    more = more.replace("1 d", "6 h")
    found = problem(tmp_path, more, text)
    assert float(found.baseline["goodput"][0]) > 0
    priced = found.point(point(found, gpus=16))
    assert 0 < float(priced["goodput"][0]) < 1e-50
    for name in ("time_to_target", "per_run", "energy"):
        assert math.isfinite(float(priced[name][0]))
    assert np.isfinite(priced["throughput"]).all()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("{per_accelerator_month: -1}", "per_accelerator_month: -1 is negative"),
        ("{per_job_day: -0.5}", "per_job_day: -0.5 is negative"),
        ("{recover: 10 GB}", "recover: "),
        ("{checkpoint: -1 s}", "checkpoint: '-1 s' is negative"),
        ("{interval: 0 s}", "interval: '0 s' is zero"),
        ("{per_month: 1}", "unknown key 'per_month'"),
        ("often", "failures: 'often' is neither ideal nor a mapping"),
        ("{per_accelerator_month: 1e4, recover: 10 d}", "the baseline trains hardly at all"),
    ],
)
def test_bad_terms_are_one_clear_line(tmp_path: Path, given: str, words: str) -> None:
    with pytest.raises(StudyError) as caught:
        problem(tmp_path, f"failures: {given}\n")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    last = (studies.SMALL + TARGET).count("\n") + 1
    assert caught.value.line == last


LAYOUTS = """\
study: stalls
workload: llama3.2-1b
space:
  node: dgx-h100
  gpus: [16, 256]
  stack: [nanotron, megatron]
  pipeline_parallel: [1, 8]
  zero: [0]
  recompute: [full]
  global_batch: [512]
target: {tokens: 1e11}
objectives: {maximize: speedup, minimize: capital}
"""


def test_pipelines_are_expected_to_stall_as_often_as_published_ones(tmp_path: Path) -> None:
    """A fifth of nanotron's on 32 nodes, for 1.15 s in each of 16 micro-batches."""
    found, calm = (load(studies.written(tmp_path, LAYOUTS + more))
                   for more in ("", "failures: ideal\n"))  # fmt: skip

    def at(of: Problem, **values: object) -> Evaluation:
        given = {"gpus": 256, "stack": "nanotron", "pipeline_parallel": 8, **values}
        return of.point({**of.study.baseline.values, **given})  # type: ignore[dict-item]

    piped, usual = at(found), at(found, stack="megatron")
    micro_batches = 512 / (256 / 8)
    expected = 1 + 0.2 * 1.15 * micro_batches / piped["step"][0]
    assert piped["goodput"][0] == pytest.approx(usual["goodput"][0] / expected)
    assert at(found, pipeline_parallel=1)["goodput"][0] == usual["goodput"][0]
    assert at(calm)["goodput"][0] == 1.0
    for name in ("step", "throughput", "tokens_per_s", "mfu"):
        assert piped[name].tolist() == at(calm)[name].tolist()
    days = piped["time_to_target"][0] / at(calm)["time_to_target"][0]
    assert days == pytest.approx(1 / piped["goodput"][0])
