from __future__ import annotations

import datetime
from dataclasses import replace
from math import hypot, sqrt

import pytest

from dse.catalog import Fact, default_prices, price_spread
from dse.catalog.facts import day_of
from dse.catalog.price_spread import age_years

TODAY = datetime.date(2026, 7, 1)
PRICE = Fact("price", 100.0, "USD", "100 USD", "epoch-prices", "2026-01-01", date="2024-07-01")


def test_a_price_of_the_day_differs_by_seller_alone() -> None:
    of_today = replace(PRICE, date="2026-07-01")
    assert price_spread().log_spread(of_today, TODAY) == price_spread().purchase.sellers


def test_the_older_a_price_the_wider() -> None:
    known = price_spread()
    two_years = hypot(known.purchase.sellers, known.purchase.root_year * sqrt(730 / 365.25))
    assert known.log_spread(PRICE, TODAY) == pytest.approx(two_years)
    assert known.log_spread(replace(PRICE, date="2018"), TODAY) > two_years


def test_rentals_have_a_spread_of_their_own() -> None:
    known, rented = price_spread(), replace(PRICE, unit="USD/hour", date="2026-07-01")
    assert known.log_spread(rented, TODAY) == known.hourly.sellers != known.purchase.sellers


@pytest.mark.parametrize("doubt", [{"status": "unverified"}, {"date": ""}])
def test_what_nobody_checked_or_dated_is_wider(doubt: dict[str, str]) -> None:
    known = price_spread()
    doubtful = replace(PRICE, **{"date": "2026-07-01", **doubt})
    wide = hypot(known.purchase.sellers, known.unchecked)
    assert known.log_spread(doubtful, TODAY) == pytest.approx(wide)


def test_a_buyers_own_price_is_certain() -> None:
    assert price_spread().log_spread(replace(PRICE, source="offer.yaml"), TODAY) == 0.0


@pytest.mark.parametrize(
    ("date", "day"),
    [
        ("2018", datetime.date(2018, 7, 1)),
        ("2024-08", datetime.date(2024, 8, 1)),
        ("2024-08-15", datetime.date(2024, 8, 15)),
        ("", None),
    ],
)
def test_days_of_dates(date: str, day: datetime.date | None) -> None:
    assert day_of(date) == day


def test_a_price_of_tomorrow_is_not_of_negative_age() -> None:
    assert age_years(replace(PRICE, date="2027-01-01"), TODAY) == 0.0


def test_the_default_list_is_for_the_day_of_its_newest_price() -> None:
    prices = default_prices()
    dates = [day_of(fact.date) for fact in prices.facts if fact.date]
    assert prices.as_of == max(day for day in dates if day)
