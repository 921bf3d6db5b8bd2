from __future__ import annotations

from dataclasses import replace

import numpy as np

from dse.catalog import default_prices
from dse.pricing.unit_price import FREE, UnitPrice, unit_price


def test_all_prices_of_a_part_are_off_by_one_factor() -> None:
    dear, cheap = UnitPrice("h100", 2e4, 0.3), UnitPrice("h100", 1e4, 0.3)
    np.testing.assert_allclose(dear.drawn(200), 2 * cheap.drawn(200))


def test_those_of_two_parts_are_off_independently() -> None:
    one, other = (np.log(UnitPrice(part, 1.0, 0.3).drawn(2000)) for part in ("h100", "a100"))
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.06


def test_draws_are_as_wide_as_they_should() -> None:
    drawn = np.log(UnitPrice("h100", 1.0, 0.3).drawn(4000))
    assert abs(np.std(drawn) - 0.3) < 0.015
    assert abs(np.mean(drawn)) < 0.02


def test_what_is_free_or_unknown_stays_so() -> None:
    prices = default_prices()
    assert (FREE.drawn(5) == 0).all()
    for fact in (None, replace(prices.pue, value=None)):
        assert np.isnan(unit_price("b300", fact, prices).drawn(5)).all()
