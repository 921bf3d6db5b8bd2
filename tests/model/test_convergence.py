"""dse.model.convergence: samples to a quality by the global batch."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.model.convergence import Convergence

LEAST = st.floats(1.0, 1e15)
CRITICAL = st.one_of(st.floats(1e-3, 1e9), st.just(inf))
BATCH = st.integers(1, 10**9)


def samples_of(least: float, critical: float, batch: int) -> float:
    """The same by the trade of samples for steps: (S / S_min - 1) (E / E_min - 1) = 1, with
    E = B S and S_min = E_min / B_crit, and S at least 1."""
    if critical == inf:
        return max(least, batch)
    fewest_steps = least / critical
    # Of E = B S the root of (S / S_min - 1) (B S / E_min - 1) = 1 that is not 0:
    steps = fewest_steps + least / batch
    assert (steps / fewest_steps - 1) * (batch * steps / least - 1) == pytest.approx(1, rel=1e-3)
    return batch * max(steps, 1.0)


@given(LEAST, CRITICAL, BATCH)
def test_samples_are_those_of_the_trade_for_steps(
    least: float, critical: float, batch: int
) -> None:
    if critical != inf and not 1e-6 < batch / critical < 1e6:
        batch = max(1, int(critical))
    found = float(Convergence(least, critical).samples(batch))
    assert found == pytest.approx(samples_of(least, critical, batch), rel=1e-9)


@given(LEAST, BATCH)
def test_a_run_of_given_samples_takes_exactly_them_or_a_step(least: float, batch: int) -> None:
    curve = Convergence(least)
    assert float(curve.samples(batch)) == max(least, batch)


@given(LEAST, st.floats(1e-3, 1e9), BATCH, BATCH)
def test_larger_batches_take_more_samples_and_fewer_steps(
    least: float, critical: float, one: int, other: int
) -> None:
    small, large = sorted((one, other))
    curve = Convergence(least, critical)
    few, many = (float(curve.samples(batch)) for batch in (small, large))
    assert max(least, small) <= few <= many
    assert many / large <= few / small * (1 + 1e-12)


def test_the_critical_batch_takes_twice_the_least() -> None:
    assert float(Convergence(1e6, 4096.0).samples(4096)) == 2e6


def test_arrays_broadcast_and_draws_come_first() -> None:
    curve = Convergence(np.array([[10.0], [20.0]]), np.array([[10.0], [inf]]))
    batches = np.array([10.0, 30.0])
    assert curve.samples(batches).tolist() == [[20.0, 40.0], [20.0, 30.0]]


def test_only_batches_outside_of_the_observed_ones_are_beyond() -> None:
    curve = Convergence(1e6, 100.0, (32.0, 512.0))
    assert curve.beyond(np.array([31, 32, 512, 513])).tolist() == [True, False, False, True]
    assert not Convergence(1e6).beyond(np.array([1, 10**9])).any()
