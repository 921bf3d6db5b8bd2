"""dse.model.scale"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.model.scale import largest_of, lengthened_s, slowed_s, waiting_factor


def test_the_largest_of_few_is_known_exactly() -> None:
    exact = [0.0, 1 / np.sqrt(np.pi), 1.5 / np.sqrt(np.pi)]
    assert largest_of(np.array([1.0, 2.0, 3.0])) == pytest.approx(exact, abs=1e-5)


def test_the_largest_of_many_is_what_draws_give() -> None:
    draws = np.random.default_rng(0).normal(size=(20_000, 64)).max(axis=1).mean()
    assert largest_of(64) == pytest.approx(draws, rel=0.01)
    assert largest_of(1e6) == pytest.approx(4.8636, abs=1e-3)


def test_one_worker_waits_for_nobody_and_more_wait_longer() -> None:
    factor = waiting_factor(np.array([1.0, 2.0, 8.0, 64.0]), 0.02, np.array([[0.0], [0.03]]))
    assert np.all(factor[:, 0] == 1)
    assert factor[0, 1:] == pytest.approx(1.02)
    assert np.all(np.diff(factor[1]) > 0)


@given(*[st.floats(0, 1e3)] * 3)
def test_a_lengthened_pass_is_the_pass_and_what_slows_it_to_the_last_digit(
    comm_s: float, backward_s: float, slowdown: float
) -> None:
    parts = backward_s + slowed_s(comm_s, backward_s, slowdown)
    assert lengthened_s(comm_s, backward_s, slowdown) == parts
