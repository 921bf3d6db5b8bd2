"""dse.model.rental"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.model.rental import Billing, billed_s

HOUR = 3600.0
times = st.one_of(st.just(0.0), st.floats(1e-3, 1e10))
spans = st.one_of(st.just(0.0), st.floats(1.0, 1e6))


@given(st.lists(times, min_size=1, max_size=5), spans, spans, spans)
def test_a_run_is_billed_whole_units_and_at_least_the_minimum(
    held: list[float], minimum: float, unit: float, start: float
) -> None:
    found = billed_s(np.array(held), Billing(1.0, minimum, unit, start))
    for at, seconds in enumerate(held):
        due = max(seconds + start, minimum)
        if unit:
            due = math.ceil(due / unit * (1 - 1e-12)) * unit
        assert found[at] == pytest.approx(due, rel=1e-12)
    assert (np.diff(billed_s(np.sort(held), Billing(1.0, minimum, unit, start))) >= 0).all()


def test_by_hand() -> None:
    billing = Billing(1.0, HOUR, HOUR, 600.0)
    # 5 min and 10 min of start are billed an hour; 50 min and 10 min one, 51 min and 10 min two.
    held = np.array([300.0, 3000.0, 3060.0, np.inf])
    assert billed_s(held, billing).tolist() == [HOUR, HOUR, 2 * HOUR, np.inf]
    assert billed_s(100.0, Billing()).tolist() == 100.0
