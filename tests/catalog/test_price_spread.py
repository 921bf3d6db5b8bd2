from __future__ import annotations

import datetime
from dataclasses import replace
from math import hypot, sqrt

import pytest

from dse.catalog import Fact, price_spread
from dse.catalog.facts import ESTIMATE, PriceTerms, day_of
from dse.catalog.price_spread import STALE_YEARS, lapsed
from dse.catalog.rents import newest

TODAY = datetime.date(2026, 7, 1)
PRICE = Fact("price", 100.0, "USD", "100 USD", "epoch-prices", "2026-01-01", date="2024-07-01")


def test_a_price_of_the_day_differs_by_seller_alone() -> None:
    of_today = replace(PRICE, date="2026-07-01")
    sellers = price_spread().purchase.sellers
    assert price_spread().log_spread(of_today, TODAY) == pytest.approx(sqrt(2) * sellers)


def test_the_older_a_price_the_wider() -> None:
    known = price_spread()
    of_a_year = replace(PRICE, date="2025-07-01")
    year = hypot(sqrt(2) * known.purchase.sellers, known.purchase.root_year)
    assert known.log_spread(of_a_year, TODAY) == pytest.approx(year, rel=1e-3)
    stale = known.purchase.log_spread(STALE_YEARS)
    assert known.log_spread(PRICE, TODAY) == stale > year
    assert known.log_spread(replace(PRICE, date="2018"), TODAY) == stale, "and asks for a quote"
    quoted, late = replace(of_a_year, offer=PriceTerms("list", log_spread=0.3)), newest()
    assert known.log_spread(quoted, late) == 0.3, "they hold their change until then"
    aged = known.log_spread(quoted, late.replace(year=late.year + 1))
    assert aged == pytest.approx(hypot(0.3, known.purchase.root_year), rel=1e-3)


def test_rentals_have_a_spread_of_their_own() -> None:
    known, rented = price_spread(), replace(PRICE, unit="USD/hour", date="2026-07-01")
    for vendor, kind in (("AWS", "hyperscaler"), ("Nebius", "neocloud"), ("", "neocloud")):
        asked = replace(rented, offer=PriceTerms("cloud", vendor))
        assert known.log_spread(asked, TODAY) == pytest.approx(sqrt(2) * known.hourly[kind].sellers)
    assert known.hourly["hyperscaler"].sellers < known.hourly["neocloud"].sellers


def test_what_nobody_checked_is_wider() -> None:
    known = price_spread()
    doubtful = replace(PRICE, date="2026-07-01", status="unverified")
    wide = hypot(sqrt(2) * known.purchase.sellers, known.unchecked)
    assert known.log_spread(doubtful, TODAY) == pytest.approx(wide)


def test_what_has_no_date_is_less_sure_than_a_checked_price_of_two_years() -> None:
    known = price_spread()
    undated = known.log_spread(replace(PRICE, date=""), TODAY)
    years = known.purchase.undated_years
    assert undated == pytest.approx(
        hypot(sqrt(2) * known.purchase.sellers, known.purchase.root_year * sqrt(years))
    )
    assert undated > known.log_spread(PRICE, TODAY)
    from_memory = known.log_spread(replace(PRICE, date="", status="unverified"), TODAY)
    assert from_memory == pytest.approx(hypot(undated, known.unchecked))


def test_what_a_buyer_was_offered_is_certain() -> None:
    own = replace(PRICE, source="offer.yaml")
    assert price_spread().log_spread(own, TODAY) == 0.0
    assert price_spread().log_spread(replace(own, date=""), TODAY) == 0.0


def test_what_a_buyer_took_from_an_article_is_no_offer() -> None:
    """It is as unsure as a price of the catalogue of that day."""
    article = replace(PRICE, source="offer.yaml", offer=PriceTerms(ESTIMATE))
    assert price_spread().log_spread(article, TODAY) == price_spread().log_spread(PRICE, TODAY)
    assert not lapsed(article, datetime.date(2030, 1, 1), datetime.date(2030, 1, 1)), (
        "it never was an offer"
    )


def test_what_a_buyer_only_recalls_is_not() -> None:
    known, recalled = price_spread(), replace(PRICE, source="offer.yaml", status="unverified")
    listed = replace(PRICE, status="unverified")
    assert known.log_spread(recalled, TODAY) == known.log_spread(listed, TODAY) > 0.35


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


def test_an_old_offer_without_a_last_day_is_one_no_longer() -> None:
    """One that has a last day is valid until then, however old it is."""
    known = price_spread()
    day, before, after = (
        datetime.date(*one) for one in ((2024, 7, 1), (2026, 6, 30), (2026, 7, 3))
    )
    offer = replace(PRICE, source="offer.yaml", offer=PriceTerms("quote"), date="2024-07-01")
    assert not lapsed(offer, before, before)
    assert lapsed(offer, after, after)
    assert not lapsed(offer, before, datetime.date(2036, 1, 1)), "its age is that of the day asked"
    assert known.log_spread(offer, before) == 0.0
    assert known.log_spread(offer, after) == known.log_spread(PRICE, after)
    held = replace(offer, offer=PriceTerms("quote", valid_until=datetime.date(2027, 1, 1)))
    assert not lapsed(held, day, datetime.date(2026, 12, 31))
    late = datetime.date(2036, 1, 1)
    assert not lapsed(replace(offer, date=""), late, late), "of an unknown day"
    assert not lapsed(PRICE, late, late), "the catalogue offers nothing"


def test_an_offer_past_its_last_day_is_as_unsure_as_a_price_of_its_date() -> None:
    known = price_spread()
    terms = PriceTerms("quote", quote="Q-1", valid_until=datetime.date(2026, 6, 30))
    offer = replace(PRICE, source="offer.yaml", offer=terms, date="2025-07-01")
    assert known.log_spread(offer, datetime.date(2026, 6, 30)) == 0.0
    year = hypot(sqrt(2) * known.purchase.sellers, known.purchase.root_year)
    assert known.log_spread(offer, TODAY) == pytest.approx(year, rel=1e-3)
    assert lapsed(offer, datetime.date(2026, 6, 1), TODAY), "whatever day its age counts to"
