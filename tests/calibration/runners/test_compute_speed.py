"""Matrix products: verified, bounded, and honest about what they count."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest

from dse.calibration.runners import compute_speed, compute_worker, timing
from dse.calibration.runners.compute_work import (
    SHAPES,
    TOLERANCE,
    Ready,
    Work,
    matmul_about,
    matmul_error,
)
from dse.calibration.runners.registry import Request
from dse.errors import MeasurementError


def test_a_product_is_counted_and_checked() -> None:
    random = np.random.default_rng(1)
    left, right = (random.standard_normal(s, dtype=np.float32) for s in ((64, 32), (32, 16)))
    out = left @ right
    assert matmul_about((64, 32, 16), "fp32")["flops"] == 2 * 64 * 32 * 16
    assert 0 < matmul_error(left, right, out, "fp32") < TOLERANCE["fp32"]
    with pytest.raises(timing.WrongSum, match="matmul 64x32x16 in fp32 is off by"):
        matmul_error(left, right, out * np.float32(1.001), "fp32")
    with pytest.raises(timing.WrongSum):
        matmul_error(left, right, out * np.float32(np.nan), "fp32")


def test_numpy_stands_in_where_torch_is_missing() -> None:
    about, works = compute_worker.numpy_works()
    assert about["library"] == "numpy"
    assert {tuple(work.about["shape"]) for work in works} == set(SHAPES)
    small = works[0].prepare()
    small.run()
    assert 0 < small.error <= TOLERANCE["fp32"]


def work(flops: int, seconds: float, check: Callable[[], None]) -> Work:
    """Keeps this process busy for ``seconds``."""

    def run() -> None:
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            pass

    about = {"name": "w", "precision": "fp32", "flops": flops}
    return Work(about, lambda: Ready(run, 0.0, check))


def test_what_does_not_fit_the_time_is_left_out_the_largest_first() -> None:
    both = [work(10**9, 100.0, lambda: None), work(1000, 1e-4, lambda: None)]
    records = compute_worker.time_all(both, 0.1, 5)
    assert [record["flops"] for record in records] == [1000]
    assert records[0]["repetitions"] >= 5


def test_a_result_that_goes_wrong_later_is_found() -> None:
    def wrong() -> None:
        raise timing.WrongSum("wrong result: late")

    with pytest.raises(timing.WrongSum, match="late"):
        compute_worker.time_all([work(1, 0.0, wrong)], 0.01, 5)


def product(size: int, seconds: float, precision: str = "fp32") -> Work:
    """A product that takes ``seconds``, and as long again once it has run for 0.1 s."""
    began: list[float] = []

    def run() -> None:
        began.append(time.perf_counter())
        slow = began[-1] - began[0] > 0.1
        while time.perf_counter() < began[-1] + seconds * (1 + slow):
            pass

    return Work(matmul_about((size, size, size), precision), lambda: Ready(run, 0.0))


def burst(work: Work, seconds: float) -> dict[str, object]:
    return {**work.about, **timing.summary([seconds])}


def test_the_largest_product_of_each_precision_runs_on_and_only_the_warm_device_counts() -> None:
    works = [product(64, 1e-3), product(128, 2e-3), product(256, 2e-3, "bf16"), product(512, 9.0)]
    timed = [burst(w, s) for w, s in zip(works, (1e-3, 2e-3, 2e-3, 9.0), strict=True)]
    found = compute_worker.time_sustained(works, timed, 0.5)
    assert [(row["kind"], row["precision"], row["shape"][0]) for row in found] == [
        ("sustained", "fp32", 128), ("sustained", "bf16", 256),
    ]  # fmt: skip
    assert all(row["min_s"] >= 4e-3 for row in found)


def test_long_products_take_half_of_the_time_and_no_more_than_they_need() -> None:
    two = [product(64, 0.0), product(64, 0.0, "bf16")]
    assert compute_worker.sustained_seconds(two, 20.0) == 5.0
    assert compute_worker.sustained_seconds(two[:1], 600.0) == 30.0


@pytest.mark.evidence
@pytest.mark.slow
def test_this_machine_is_measured() -> None:
    pytest.importorskip("torch")
    found = compute_speed.run(Request(3.0)).compute
    assert {(speed.library, speed.device) for speed in found} == {("torch", "cpu")}
    assert {speed.name for speed in found} == {"matmul"}
    assert [speed.precision for speed in found if speed.kind == "sustained"] == ["fp32"]
    assert all(speed.min_s <= speed.median_s for speed in found)
    assert all(speed.repetitions >= 5 for speed in found if speed.kind != "sustained")
    assert all(speed.error <= TOLERANCE[speed.precision] for speed in found)


@pytest.mark.slow
def test_a_gpu_that_is_not_there_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")  # hides those that there are
    with pytest.raises(MeasurementError, match="there is no GPU that torch can use"):
        compute_speed.run(Request(5.0, device="cuda"))
