from __future__ import annotations

import pytest

from dse.catalog.facts import Fact, day_of, last_day, latest


def price(value: float | None, date: str, status: str = "sourced") -> Fact:
    return Fact("price", value, "USD", str(value), "s", "2026-01-01", date=date, status=status)


def _value(prices: list[Fact]) -> float | None:
    fact = latest(prices)
    return None if fact is None else fact.value


def test_the_latest_price_is_the_most_recent() -> None:
    assert _value([price(1, "2019-05"), price(2, "2024"), price(3, "2020-01-01")]) == 2


def test_an_undated_price_is_older_than_any_other() -> None:
    assert _value([price(1, ""), price(2, "2012")]) == 2
    assert _value([price(1, "")]) == 1


def test_an_unverified_price_counts_only_for_want_of_others() -> None:
    assert _value([price(1, "2026", "unverified"), price(2, "2012")]) == 2
    assert _value([price(1, "2026", "unverified")]) == 1


def test_of_equal_dates_the_lowest_is_taken() -> None:
    assert _value([price(3, "2026"), price(2, "2026")]) == 2


def test_no_price_is_none() -> None:
    assert latest([]) is None
    assert _value([price(None, "2026", "unknown")]) is None


def test_days_are_of_this_time() -> None:
    assert str(day_of("2024")) == "2024-07-01"
    assert str(last_day("2026-02")) == "2026-02-28"
    assert str(last_day("2026")) == "2026-12-31"
    for written in ("1989-12-31", "2101", "0001-01"):
        with pytest.raises(ValueError, match="1990 to 2100"):
            day_of(written)
        with pytest.raises(ValueError, match="1990 to 2100"):
            last_day(written)
