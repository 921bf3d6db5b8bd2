"""The matrix that is fitted prices exactly what the model prices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.calibration.fitting.step_cost import (
    designed,
    over_runs,
    rows_of,
    step_bytes,
)
from dse.calibration.node_cost import step_cost
from dse.model.aggregation.algorithms import ALGORITHMS
from dse.model.links import StepCost, single_tier
from tests.calibration.synthetic import sample

EDGES = st.lists(st.sampled_from([4.0**k for k in range(5, 12)]), max_size=3, unique=True)
COEFFICIENT = st.floats(0.0, 1.0)


@given(
    algorithm=st.sampled_from(
        ["ring", "recursive-doubling", "halving-doubling", "reduce-broadcast"]
    ),
    ranks=st.integers(2, 40),
    size=st.integers(4, 2**26),
    edges=EDGES,
    values=st.lists(COEFFICIENT, min_size=9, max_size=9),
    cores=st.integers(1, 64),
)
def test_matrix_times_coefficients_is_the_direct_prediction(
    algorithm: str, ranks: int, size: int, edges: list[float], values: list[float], cores: int
) -> None:
    edges = sorted(edges)
    columns = 2 + 2 * len(edges)
    scale = np.array([1e-5, *[1e-9] * (len(edges) + 1), *[1e-5] * len(edges), 1e-6])
    coefficients = np.array(values[: columns + 1]) * scale
    rows = rows_of([sample(algorithm, ranks, size, 1.0)], cores)
    gamma = 1e-10
    matrix, known = designed(rows, gamma).design(tuple(edges))
    by_matrix = (matrix @ coefficients + known)[0]

    def exchange(message_bytes: object) -> np.ndarray:
        return step_cost(coefficients[:-1], edges)(message_bytes)

    k = max(1.0, ranks / cores)
    price = ALGORITHMS[algorithm]
    direct = k * price(ranks, ranks, size, single_tier(exchange, gamma))
    switch = StepCost(coefficients[-1], (0.0,))
    direct = direct + k * (k - 1) * price(ranks, ranks, size, single_tier(switch))
    assert by_matrix == pytest.approx(float(direct), rel=1e-6, abs=1e-12)


def test_over_runs_takes_the_median_and_the_spread_of_runs() -> None:
    samples = [
        *(sample("ring", 2, 64, t, run) for run, t in enumerate((3.0, 1.0, 2.0), start=1)),
        sample("ring", 2, 128, 5.0),
        sample("ring", 3, 64, 7.0),
        *(sample("tree", 2, 64, t, run) for run, t in enumerate((1.0, 2.0), start=1)),
    ]
    rows = over_runs(rows_of(samples, 2))
    keys = list(zip(rows.algorithm, rows.ranks, rows.message_bytes, rows.seconds, strict=True))
    assert keys == [
        ("ring", 2, 64, 2),
        ("ring", 2, 128, 5),
        ("ring", 3, 64, 7),
        ("tree", 2, 64, 1.5),
    ]
    assert rows.noise[0] > 0.1
    assert rows.noise[1] == pytest.approx(0.01)


def test_unverified_samples_are_left_out() -> None:
    from dataclasses import replace

    good = sample("ring", 2, 64, 1.0)
    assert rows_of([good, replace(good, verified=False)], 2).ranks.size == 1


@pytest.mark.parametrize(
    ("algorithm", "ranks", "low", "high"),
    [
        ("ring", 4, 256, 256),
        ("recursive-doubling", 3, 1024, 1024),
        ("reduce-broadcast", 5, 1024, 1024),
        ("halving-doubling", 8, 128, 512),
        ("halving-doubling", 5, 256, 1024),
    ],
)
def test_step_sizes(algorithm: str, ranks: int, low: float, high: float) -> None:
    steps = step_bytes(rows_of([sample(algorithm, ranks, 1024, 1.0)], 2))
    assert steps.ravel().tolist() == [low, high]
