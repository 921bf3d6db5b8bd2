"""benchmarks.convergence: the fits of models/convergence."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import convergence
from benchmarks.convergence import BENCHMARKS, Benchmark, fitted, log_spread, observed
from dse.model.convergence import Convergence


@pytest.mark.parametrize("benchmark", BENCHMARKS, ids=lambda one: one.name)
def test_the_files_are_what_the_observations_give(benchmark: Benchmark) -> None:
    path = convergence.OUT / f"{benchmark.name}.yaml"
    assert path.read_text(encoding="utf-8") == convergence.text(benchmark)


def test_the_fit_finds_the_curve_that_points_lie_on() -> None:
    batches = np.geomspace(32, 8192, 9)
    found = fitted(batches, Convergence(3e6, 1500.0).samples(batches))
    assert found.curve.least_samples == pytest.approx(3e6, rel=1e-6)
    assert found.curve.critical_batch == pytest.approx(1500, rel=1e-6)
    assert found.curve.fitted == (32, 8192)
    assert found.least_spread < 1e-6


def test_a_batch_left_out_lies_in_the_band_of_the_others() -> None:
    """90 % bands of curves that have not seen a batch, over all batches of all benchmarks."""
    inside = []
    for benchmark in BENCHMARKS:
        batches, counts, _ = observed(benchmark.key)
        for at in range(len(batches)):
            kept = np.arange(len(batches)) != at
            fit = fitted(batches[kept], counts[kept])
            miss = np.log(counts[at] / fit.curve.learned_from(batches[at]))
            inside.append(abs(miss) < 1.645 * log_spread(fit, batches[at]))
    assert len(inside) == 40
    assert 0.8 <= np.mean(inside) <= 0.98


def test_three_batches_are_not_fitted() -> None:
    batches = np.array([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="3 batches; give 4 or more"):
        fitted(batches, batches)
