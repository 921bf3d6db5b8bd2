"""Fits how many samples a quality takes by the global batch, to published convergence points.

``python -m benchmarks.convergence`` writes models/convergence anew from
benchmarks/data/batch_convergence.csv.

E(B) = E_min (1 + B / B_crit) by least squares of logarithms, see :mod:`dse.model.convergence`. What
the points miss the curve by is less chance, as each is a mean of 5 to 28 runs, than the curve's
shape: two batches that are alike miss alike. So the covariance of both parameters is as wide as
batches that are left out need it: their misses of the curve through the others, each over what the
covariance there says, have a mean square of 1.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares

from dse import catalog
from dse.model.arrays import Array, ArrayLike
from dse.model.convergence import Convergence

OBSERVED = Path(__file__).parent / "data" / "batch_convergence.csv"
OUT = catalog.models_dir() / "convergence"
FEWEST = 4  # batches: two parameters leave nothing to judge fewer by


@dataclass(frozen=True)
class Benchmark:
    """A benchmark whose network the catalogue has. per_unit: samples of what its points count;
    why: where that is from, empty where they count samples."""

    key: str
    name: str
    title: str
    workload: str
    quality: str
    started: str
    source: str
    per_unit: float = 1.0
    why: str = ""
    note: str = ""


BENCHMARKS = (
    Benchmark("resnet", "mlperf-resnet50", "MLPerf ResNet-50", "resnet50",
              "top-1 accuracy 0.759 on ImageNet", "random weights",
              "mlperf-rules", 1281167, "an epoch of ImageNet has 1,281,167 images"),
    Benchmark("bert", "mlperf-bert", "MLPerf BERT", "bert-large-s512",
              "masked-word accuracy 0.72 on Wikipedia",
              "the benchmark's checkpoint", "mlperf-bert"),
    Benchmark("gpt3", "mlperf-gpt3", "MLPerf GPT-3 175B", "gpt3-175b",
              "log perplexity 2.69 on C4",
              "the benchmark's checkpoint after 4,000 steps of 1,536 samples",
              "mlperf-gpt3", 1 / 2048, "a sample has 2,048 tokens"),
    Benchmark("llama31_405b", "mlperf-llama3.1-405b", "MLPerf Llama 3.1 405B", "llama3.1-405b",
              "log perplexity 5.6 on C4", "the published weights",
              "mlperf-llama-405b", note="The benchmark has 32,000 words in place of 128,256."),
    Benchmark("llama31_8b", "mlperf-llama3.1-8b", "MLPerf Llama 3.1 8B", "llama3-8b",
              "log perplexity 3.3 on C4", "random weights", "mlperf-llama-8b",
              note="Layers of Llama 3 8B and Llama 3.1 8B are the same."),
)  # fmt: skip


@dataclass(frozen=True)
class Fit:
    """A curve and how sure it is. spread: standard deviations of the logarithms of both parameters,
    with their correlation; errors: relative, of every point."""

    curve: Convergence
    least_spread: float
    critical_spread: float
    correlation: float
    errors: Array


def observed(key: str) -> tuple[Array, Array, str]:
    """Batches of a benchmark, what each takes to the target, and its round."""
    with OBSERVED.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["benchmark"] == key]
    batches, counts = (
        np.array([float(row[column]) for row in rows]) for column in ("global_batch", "to_target")
    )
    return batches, counts, rows[0]["round"]


def fitted(batches: Array, samples: Array) -> Fit:
    """The curve through points, shape (points,)."""
    if len(batches) < FEWEST:
        raise ValueError(f"{len(batches)} batches; give {FEWEST} or more")

    squares = []
    for left in range(len(batches)):
        others = np.arange(len(batches)) != left
        curve, shape = _through(batches[others], samples[others])
        slope = _slopes(curve, batches[left])
        miss = np.log(samples[left] / curve.learned_from(batches[left]))
        squares.append(float(miss**2 / (slope @ shape @ slope)))
    curve, shape = _through(batches, samples)
    covariance = shape * np.mean(squares)
    spreads = np.sqrt(np.diag(covariance))
    return Fit(
        curve,
        float(spreads[0]),
        float(spreads[1]),
        float(covariance[0, 1] / spreads.prod()),
        np.expm1(np.abs(np.log(samples / curve.learned_from(batches)))),
    )


def _through(batches: Array, samples: Array) -> tuple[Convergence, Array]:
    """The curve nearest to points, and the covariance of the logarithms of its parameters but for
    its size, shape (2, 2)."""

    def misses(logs: Array) -> Array:
        least, critical = np.exp(logs)
        return np.asarray(np.log(samples / Convergence(least, critical).learned_from(batches)))

    found = least_squares(misses, np.log([samples.min(), 4 * np.median(batches)]))
    least, critical = (float(number) for number in np.exp(found.x))
    ends = float(batches.min()), float(batches.max())
    return Convergence(least, critical, ends), np.linalg.inv(found.jac.T @ found.jac)


def log_spread(fit: Fit, batch: ArrayLike) -> Array:
    """Standard deviation of log E at batches, of their shape."""
    share = np.asarray(batch / (np.asarray(fit.curve.critical_batch) + batch))
    least, critical = fit.least_spread, fit.critical_spread * share
    return np.asarray(np.sqrt(least**2 + critical**2 - 2 * fit.correlation * least * critical))


def _slopes(curve: Convergence, batch: float) -> Array:
    """By what log E rises with the logarithms of both parameters, shape (2,)."""
    return np.array([1.0, -batch / (curve.critical_batch + batch)])


def text(benchmark: Benchmark) -> str:
    """The file of a benchmark."""
    batches, counts, edition = observed(benchmark.key)
    fit = fitted(batches, counts * benchmark.per_unit)
    low, high = fit.curve.fitted
    misses = (
        f"it misses them by {np.mean(fit.errors):.1%} on average, {np.max(fit.errors):.1%} at most"
    )
    said = f"fitted to {len(batches)} batches of round {edition}, hyper-parameters tuned for each"
    least = f"{said}; {misses}{f'; {benchmark.why}' if benchmark.why else ''}"
    derived = "source: mlperf-rcp, status: derived"
    return "\n".join([
        "# Written by python -m benchmarks.convergence from benchmarks/data/batch_convergence.csv.",
        f"name: {benchmark.name}",
        f"title: {benchmark.title}",
        f"workload: {{value: {benchmark.workload}, source: {benchmark.source}}}",
        f"quality: {benchmark.quality}",
        f"started_from: {benchmark.started}",
        f"least_samples: {{value: {fit.curve.least_samples:.5g}, {derived}, detail: '{least}'}}",
        f"critical_batch: {{value: {fit.curve.critical_batch:.4g}, {derived}, detail: 'as above'}}",
        f"batches: {{value: {len(batches)}, source: mlperf-rcp}}",
        f"least_batch: {{value: {low:g}, source: mlperf-rcp}}",
        f"largest_batch: {{value: {high:g}, source: mlperf-rcp}}",
        "# Standard deviations of logarithms, and how both go together.",
        f"least_samples_spread: {{value: {fit.least_spread:.3g}, {derived}}}",
        f"critical_batch_spread: {{value: {fit.critical_spread:.3g}, {derived}}}",
        f"correlation: {{value: {fit.correlation:.3g}, {derived}}}",
        *([f"notes: {benchmark.note}"] if benchmark.note else []),
        "",
    ])  # fmt: skip


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    for each in BENCHMARKS:
        (OUT / f"{each.name}.yaml").write_text(text(each), encoding="utf-8")
        print(text(each))
