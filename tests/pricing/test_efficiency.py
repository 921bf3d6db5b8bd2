"""dse.pricing.efficiency: how much of its peak an accelerator reaches, where that was measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dse import catalog
from dse.calibration import Profile
from dse.calibration.compute_part import ComputeFit
from dse.model.products import ProductLaw, product_s
from dse.pricing.efficiency import measured
from dse.pricing.problem import Problem
from dse.report.assumptions import assumptions
from dse.report.design_point import Point
from tests.calibration import server_profiles
from tests.pricing import priced, studies
from tests.pricing.priced import at

STUDY = studies.MEASURED_SERVERS


def problem_of(folder: Path, *profiles: Profile, study: str = STUDY) -> Problem:
    return priced.problem_of(folder, study, *profiles)


@pytest.fixture
def problem(tmp_path: Path) -> Problem:
    return problem_of(tmp_path, server_profiles.profile())


def width(point: Point) -> float:
    assert point.interval is not None
    low, high = point.interval.step_s
    return float(np.log(high / low))


@pytest.fixture
def timed(tmp_path: Path) -> Problem:
    compute = (server_profiles.compute_part(),)
    return problem_of(tmp_path, server_profiles.profile(compute=compute))


def test_a_timed_accelerator_reaches_what_it_did(timed: Problem, problem: Problem) -> None:
    v100 = catalog.accelerator("v100-sxm2-16gb")
    share = 12.56e12 / v100.peak_flops_per_s["fp32"]
    assert 0.5 < share < 1
    laws = catalog.computing().laws
    for values, expected in (
        ({"accelerator": "v100-sxm2-16gb"}, share),
        ({"accelerator": "v100-sxm2-16gb", "precision": "fp16"}, laws["volta", "16"].efficiency),
        ({"accelerator": "p100-sxm2-16gb"}, laws["pascal", "fp32"].efficiency),
    ):
        point = {**timed.study.baseline.values, **values}
        reached = timed.points_at(point).device.law.efficiency
        assert float(np.ravel(reached)[0]) == pytest.approx(expected)
    on_v100 = {"accelerator": "v100-sxm2-16gb", "batch_per_gpu": 64}
    assert _compute_s(timed, **on_v100) > _compute_s(problem, **on_v100), "its law reaches 93 %"
    assert _compute_s(timed) == _compute_s(problem)


def _compute_s(problem: Problem, **values: object) -> float:
    terms = at(problem, **values).terms
    return terms["forward_s"] + terms["backward_s"]  # type: ignore[operator]


def test_the_study_comes_before_the_measured_share(tmp_path: Path) -> None:
    compute = (server_profiles.compute_part(),)
    own = f"{STUDY}efficiency: {{compute: 0.5}}\n"
    problem = problem_of(tmp_path, server_profiles.profile(compute=compute), study=own)
    point = {**problem.study.baseline.values, "accelerator": "v100-sxm2-16gb"}
    assert float(np.ravel(problem.points_at(point).device.law.efficiency)[0]) == 0.5
    assert not [line for line in assumptions(problem) if "v100" in line]


def test_its_interval_comes_along(tmp_path: Path) -> None:
    def spread(low: float, high: float) -> float:
        compute = (server_profiles.compute_part(low=low, high=high),)
        problem = problem_of(tmp_path, server_profiles.profile(compute=compute))
        return width(at(problem, accelerator="v100-sxm2-16gb", gpus=1, batch_per_gpu=256))

    assert spread(12.5e12, 12.6e12) < spread(3e12, 15e12)


def test_a_share_is_of_its_own_device_and_at_most_the_peak() -> None:
    v100 = catalog.accelerator("v100-sxm2-16gb")
    beyond = server_profiles.profile(
        compute=(server_profiles.compute_part(flop_per_s=1e15, low=1e13, high=1e15),)
    )
    found = measured([beyond], v100, "fp32")
    assert found is not None
    assert (found.share, found.high) == (1.0, 1.0)
    assert measured([beyond], catalog.accelerator("h100-sxm"), "fp32") is None
    assert measured([beyond], v100, "fp16") is None


def test_a_profile_of_compute_alone_serves(tmp_path: Path) -> None:
    alone = server_profiles.profile(
        transport="none", ps={}, compute=(server_profiles.compute_part(),)
    )
    problem = problem_of(tmp_path, alone)
    assert list(problem.profiles)
    assert at(problem).interval is not None
    assert [line for line in assumptions(problem) if "v100-sxm2-16gb" in line]


TRAINING = """\
study: small
workload: {workload}
space:
  accelerator: [{accelerator}]
  gpus: [1]
  batch_per_gpu: [{batch}]
  precision: [bf16]
  aggregation: [ring-nccl]
  inter_node: [100gbe]
objectives: {{maximize: throughput, minimize: power}}
"""


def _timed_for_training(
    folder: Path, accelerator: str, workload: str, *parts: ComputeFit
) -> Problem:
    text = TRAINING.format(workload=workload, accelerator=accelerator, batch=64)
    profiles = [server_profiles.profile(transport="none", ps={}, compute=parts)] if parts else []
    return problem_of(folder, *profiles, study=text)


MEASURED_PRODUCTS = [
    name for name in catalog.names("accelerators")
    if any(fact.name == "measured.max_matmul_bf16" for fact in catalog.accelerator(name).facts)
]  # fmt: skip


@pytest.mark.parametrize("workload", ["bert-large-s128", "resnet50", "gpt2-124m"])
@pytest.mark.parametrize("accelerator", MEASURED_PRODUCTS)
@pytest.mark.parametrize("sustained", [False, True])
def test_timed_products_keep_a_step_within_the_interval_that_published_training_gives_it(
    tmp_path: Path, accelerator: str, workload: str, sustained: bool
) -> None:
    chip = catalog.accelerator(accelerator)
    known = {fact.name: fact.value for fact in chip.facts}
    fastest = known["measured.max_matmul_bf16"]
    assert fastest is not None
    if sustained:  # a warm device is as much slower as others of its kind
        fastest /= catalog.computing().sustained_slowdown(chip, "bf16")
    part = server_profiles.compute_part(
        device=accelerator, precision="bf16", flop_per_s=fastest, low=0.98 * fastest,
        high=1.02 * fastest, sustained=sustained, shape=(8192,) * 3 if sustained else None,
    )  # fmt: skip
    before = at(_timed_for_training(tmp_path, accelerator, workload))
    after = at(_timed_for_training(tmp_path, accelerator, workload, part))
    assert before.interval is not None
    low, high = before.interval.step_s
    assert after.step_s is not None
    assert low < after.step_s < high


def test_a_rate_that_lasted_is_not_slowed_down_again_and_the_law_predicts_it(
    tmp_path: Path,
) -> None:
    shape, rate = (4096, 4096, 4096), 200e12
    part = server_profiles.compute_part(
        device="NVIDIA A100-SXM4-40GB", precision="bf16", flop_per_s=rate, low=rate, high=rate,
        sustained=True, shape=shape,
    )  # fmt: skip
    device = _law_of(_timed_for_training(tmp_path, "a100-sxm4-40gb", "resnet50", part))
    assert np.all(device.slowdown == 1.0)
    m, k, n = (np.asarray(float(size)) for size in shape)
    seconds = product_s(m, n, k, np.ones(()), 2 * (m * k + k * n + m * n), device, False)
    assert 2 * m * k * n / (seconds - device.start_s) == pytest.approx(rate)
    burst = replace(part, sustained=False, shape=None)
    assert np.all(
        _law_of(_timed_for_training(tmp_path, "a100-sxm4-40gb", "resnet50", burst)).slowdown > 1.0
    )


def _law_of(problem: Problem) -> ProductLaw:
    return problem.points_at(problem.study.baseline.values).device.law
