"""dse.model.ownership"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.model.ownership import (
    HOURS_PER_YEAR,
    break_even_utilisation,
    most_utilisation,
    owned_usd_per_hour,
    payback_months,
    saved_usd_per_hour,
)

usd = st.floats(1.0, 1e9)


def test_by_hand() -> None:
    # 350,400 USD over 4 years are 10 USD an hour; a quarter is left, and half of the hours used.
    assert owned_usd_per_hour(350_400.0, 1.0, 4.0) == pytest.approx(11.0)
    assert owned_usd_per_hour(350_400.0, 1.0, 4.0, 0.25 * 350_400.0, 0.5) == pytest.approx(16.0)
    # 10 USD an hour of all hours against 21 - 1 in use.
    assert break_even_utilisation(350_400.0, 1.0, 21.0, 4.0) == pytest.approx(0.5)
    assert break_even_utilisation(350_400.0, 1.0, 6.0, 4.0) == pytest.approx(2.0)


def test_a_rent_below_the_electricity_is_never_beaten() -> None:
    found = break_even_utilisation(1000.0, [2.0, 2.0, 2.0], [1.0, 2.0, np.nan], 4.0)
    assert np.isinf(found[:2]).all()
    assert np.isnan(found[2])


@given(usd, st.floats(0, 1e5), st.floats(1e-2, 1e5), st.floats(0.5, 10), st.floats(0, 0.9))
def test_at_the_break_even_both_cost_the_same(
    capital: float, electricity: float, more: float, years: float, residual: float
) -> None:
    rent = electricity + more
    resold = residual * capital
    share = float(break_even_utilisation(capital, electricity, rent, years, resold))
    owned = owned_usd_per_hour(capital, electricity, years, resold, share)
    assert float(owned) == pytest.approx(rent, rel=1e-6)
    total = capital - resold + electricity * HOURS_PER_YEAR * years * share
    assert total == pytest.approx(rent * HOURS_PER_YEAR * years * share, rel=1e-6)


def test_what_is_saved_by_hand() -> None:
    # Twice as fast: half of the work is rented at 40 an hour; 3 of electricity in place of 1.
    saved = saved_usd_per_hour(2.0, 40.0, 3.0, 1.0)
    assert saved == pytest.approx(40 / 2 + 1 - 3)
    assert payback_months(18 * 730 * 5.0, saved) == pytest.approx(5.0)
    assert payback_months(18 * 730 * 5.0, saved, 0.5) == pytest.approx(10.0)


def test_what_is_no_faster_saves_electricity_alone() -> None:
    assert saved_usd_per_hour(1.0, 40.0, 1.0, 3.0) == pytest.approx(2.0)
    assert saved_usd_per_hour(0.5, 40.0, 1.0, 3.0) == pytest.approx(0.5)
    never = payback_months([10.0, 10.0, 0.0, 10.0], [0.0, -1.0, -1.0, np.nan])
    assert np.isinf(never[:2]).all()
    assert never[2] == 0.0
    assert np.isnan(never[3])


@given(st.floats(0.01, 1e4), st.floats(0, 1e4), st.floats(0, 1e3), st.floats(0, 1e3))
def test_the_same_work_costs_as_much_less(
    times: float, rent: float, electricity: float, owned: float
) -> None:
    """A scalar reference: hours of either to do the work of an hour."""
    hours_owned = min(1.0, times)
    hours_rented = 1.0 - hours_owned / times if times > 1 else 0.0
    expected = hours_owned * owned + hours_rented * rent - electricity
    found = float(saved_usd_per_hour(times, rent, electricity, owned))
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_a_rent_of_all_hours_is_beaten_up_to_a_use() -> None:
    """350,400 over 4 years is 10 an hour; at a rent of 11 and electricity of 2, half of the time in
    use costs as much."""
    assert most_utilisation(350_400.0, 2.0, 11.0, 4.0) == pytest.approx(0.5)
    assert most_utilisation(350_400.0, 2.0, 9.0, 4.0) == 0
    assert most_utilisation(350_400.0, 2.0, 13.0, 4.0) == 1
    assert most_utilisation(350_400.0, 0.0, [9.0, 10.0, 11.0], 4.0).tolist() == [0, 0, 1]
    assert np.isnan(most_utilisation(350_400.0, 2.0, np.nan, 4.0))
