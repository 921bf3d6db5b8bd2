"""Timed matrix products become what a device reaches, in a file and in a profile."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dse.calibration import fit_measurements, read_profile, write_profile
from dse.calibration.compute_part import compute_parts, compute_text
from dse.calibration.experiment import ComputeSpeed, Experiment, read_experiment, write_experiment
from dse.calibration.fitting.profile import fit_experiments
from dse.calibration.profile import NO_TRANSPORT
from dse.errors import MeasurementError, StudyError
from tests.calibration import server_profiles, synthetic


def product(size: int, flop_per_s: float, precision: str = "fp32") -> ComputeSpeed:
    flops = 2 * size**3
    seconds = flops / flop_per_s
    return ComputeSpeed(
        kind="matmul", name="matmul", library="torch", version="2.6.0", device="NVIDIA A100",
        threads=1, precision=precision, shape=(size, size, size), batch=size, flops=flops,
        repetitions=9, min_s=seconds, median_s=seconds, p95_s=seconds, median_error_s=0, error=0,
    )  # fmt: skip


def experiment(*speeds: ComputeSpeed) -> Experiment:
    return Experiment("gpu", "2026-01-01", "0.1.0", None, (), compute=speeds)


STEP = replace(product(1024, 4e12), kind="training-step", name="small-cnn", batch=64)


def test_the_largest_products_tell_the_speed_and_its_range() -> None:
    speeds = [product(64, 1e9), product(2048, 10e12), product(3000, 14e12), product(4096, 12e12)]
    (part,) = compute_parts([experiment(*speeds, STEP)])
    assert part.flop_per_s == pytest.approx(12e12)
    assert (part.low, part.high) == (pytest.approx(10e12), pytest.approx(14e12))
    assert part.products == 3


def test_a_product_that_ran_for_long_counts_alone() -> None:
    lasting = replace(product(4096, 9e12), kind="sustained", min_s=2 * 4096**3 / 10e12,
                      p95_s=2 * 4096**3 / 8e12)  # fmt: skip
    (part,) = compute_parts([experiment(product(4096, 12e12), product(64, 1e9), lasting, STEP)])
    assert (part.sustained, part.shape, part.products) == (True, (4096, 4096, 4096), 1)
    assert (part.low, part.flop_per_s, part.high) == pytest.approx((8e12, 9e12, 10e12))
    assert "9,000 GFLOP/s (8,000 to 10,000 for as long as there was time" in compute_text(part)


def test_every_precision_has_its_own_and_steps_alone_have_none() -> None:
    parts = compute_parts([experiment(product(4096, 12e12), product(4096, 150e12, "bf16"))])
    assert {part.precision: part.flop_per_s for part in parts} == pytest.approx(
        {"fp32": 12e12, "bf16": 150e12}
    )
    assert compute_parts([experiment(STEP)]) == ()
    with pytest.raises(
        MeasurementError,
        match="no measurement that a profile can be fitted on; give measurements of allreduce",
    ):
        fit_experiments([experiment(STEP)], "x")


def test_a_profile_of_compute_alone_survives_its_files(tmp_path: Path) -> None:
    measured, path = tmp_path / "m.json", tmp_path / "p.yaml"
    write_experiment(experiment(product(4096, 12e12)), measured)
    assert read_experiment(measured).compute == (product(4096, 12e12),)
    made = fit_measurements([measured], "gpu")
    assert (made.transport, made.measured_algorithms, made.fits) == (NO_TRANSPORT, (), {})
    write_profile(made, path)
    assert read_profile(path) == made
    assert "NVIDIA A100: large fp32 matrix" in compute_text(made.compute[0])


def test_it_joins_a_profile_of_allreduce() -> None:
    both = fit_experiments(
        [synthetic.experiment(noise=0.02), experiment(product(4096, 12e12))], "x"
    )
    assert both.measured_algorithms
    assert [part.device for part in both.compute] == ["NVIDIA A100"]


def test_a_file_without_any_measurement_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    write_experiment(experiment(), path)
    with pytest.raises(StudyError, match="samples: empty, nothing was measured"):
        read_experiment(path)


def test_a_value_outside_of_its_interval_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    wrong = server_profiles.compute_part(high=12e12)
    write_profile(server_profiles.profile(compute=(wrong,)), path)
    with pytest.raises(StudyError, match=r"compute\.0: 1\.256e\+13 FLOP/s is outside"):
        read_profile(path)
