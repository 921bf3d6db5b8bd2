"""Samples to a quality, by the global batch: batches left out of the curves E(B)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.accuracy.board import Line
from benchmarks.convergence import BENCHMARKS, FEWEST, Benchmark, fitted, log_spread, observed
from dse.calibration.spread import NORMAL_90
from dse.model.arrays import Array, Mask


def predicted(benchmark: Benchmark, left_out: Mask) -> tuple[Array, Mask]:
    """Predicted over observed of the batches left out, and whether these lie in the interval, both
    (left out,). left_out: (batches,)."""
    batches, samples, _ = observed(benchmark.key)
    fit = fitted(batches[~left_out], samples[~left_out])
    ratio = fit.curve.learned_from(batches[left_out]) / samples[left_out]
    width = NORMAL_90 * log_spread(fit, batches[left_out])
    return ratio, np.asarray(np.abs(np.log(ratio)) < width)


def each_batch() -> Iterator[tuple[Benchmark, Mask]]:
    """Every batch of every benchmark alone."""
    for benchmark in BENCHMARKS:
        count = len(observed(benchmark.key)[0])
        for at in range(count):
            yield benchmark, np.arange(count) == at


def largest_batches() -> Iterator[tuple[Benchmark, Mask]]:
    """The upper quarter of the batches of every benchmark, one at least, that leaves enough."""
    for benchmark in BENCHMARKS:
        batches = observed(benchmark.key)[0]
        count = min(max(1, len(batches) // 4), len(batches) - FEWEST)
        if count > 0:
            yield benchmark, batches >= np.sort(batches)[-count]


def lines() -> list[Line]:
    """Between the batches that the fit has seen, and beyond them."""
    found = []
    for name, held_out in (
        ("each batch left out", each_batch()),
        ("the largest quarter of the batches left out", largest_batches()),
    ):
        judged = [predicted(*one) for one in held_out]
        ratio, inside = (np.concatenate(parts) for parts in zip(*judged, strict=True))
        found.append(Line(f"samples to a quality, MLPerf: {name}", "dse", ratio, inside))
    return found
