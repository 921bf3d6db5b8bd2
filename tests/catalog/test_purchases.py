"""Purchases: the median of what was quoted of late, all of one kind."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from dse.catalog import default_prices, names, node, price_spread
from dse.catalog.price_spread import STALE_YEARS, age_years
from dse.catalog.purchases import CURRENT, HOST, host_usd, newest, price, quotes

KNOWN = {  # USD for one, and whether its part of a server is in it
    "h100-sxm": (22_375, "card"),
    "h200-sxm": (40_760.5, "node-share"),
    "b200-sxm": (64_375, "node-share"),
    "gb200": (47_222.22, "node-share"),
    "mi300x": (34_482.98, "node-share"),
}


@pytest.mark.parametrize("name", list(KNOWN))
def test_a_price_is_that_of_the_best_told_quotes_of_late(name: str) -> None:
    fact, (usd, includes) = price(name), KNOWN[name]
    assert fact is not None
    assert fact.value == pytest.approx(usd, abs=0.01)
    assert fact.offer is not None
    assert fact.offer.includes == includes
    assert default_prices().includes[name] == includes
    assert default_prices().accelerator_usd[name] == fact


def test_what_lies_longer_ago_does_not_count() -> None:
    """A DGX B200 was USD 379,273 in 2024, and a server is 515,000 now."""
    old = [one for one in quotes() if one.item == "b200-sxm" and one.day < newest() - CURRENT]
    assert [one.usd for one in old] == [379_273]


def test_quotes_are_made_alike_by_the_host() -> None:
    board = next(one for one in quotes() if one.item == "h100-sxm" and one.kind == "board")
    server = next(one for one in quotes() if one.item == "b200-sxm" and one.kind == "server")
    assert board.unit_usd(with_host=True) == pytest.approx(22_375 + host_usd() / 8)
    assert server.unit_usd(with_host=False) == pytest.approx(server.usd / 8 - host_usd() / 8)


def test_a_host_has_the_interval_of_what_was_asked() -> None:
    host = price(HOST)
    assert host is not None
    assert host.value == host_usd() == default_prices().host_usd.value == 85_000
    spread = price_spread().log_spread(host, default_prices().as_of)
    low, high = (85_000 * math.exp(side * 1.645 * spread) for side in (-1, 1))
    assert low == pytest.approx(57_000, rel=0.01)
    assert high == pytest.approx(126_000, rel=0.01)


def test_an_interval_is_what_buyers_were_offered() -> None:
    """Eight B200: cards from USD 35,000 with a host at 57,000, to a server at 515,000."""
    spread = price_spread().log_spread(
        default_prices().accelerator_usd["b200-sxm"], default_prices().as_of
    )
    low, high = (515_000 * math.exp(side * 1.645 * spread) for side in (-1, 1))
    assert 300_000 < low < 8 * 35_000 + 126_000
    assert 515_000 < high < 800_000


def test_an_old_purchase_is_no_wider_than_one_of_eighteen_months() -> None:
    prices, spread = default_prices(), price_spread()
    v100 = prices.accelerator_usd["v100-sxm2-16gb"]
    age = age_years(v100, prices.as_of)
    assert age is not None
    assert age > 8
    assert spread.log_spread(v100, prices.as_of) == spread.purchase.log_spread(STALE_YEARS)
    newer = replace(v100, date="2026-11-01")
    assert spread.log_spread(newer, prices.as_of) < spread.log_spread(v100, prices.as_of)


def test_the_list_has_old_prices_only_of_what_nobody_quoted() -> None:
    prices = default_prices()
    for name in names("accelerators"):
        fact, now = prices.accelerator_usd.get(name), price(name)
        assert now is None or fact == now, name
        if fact is None:  # a price that nobody has
            continue
        age = age_years(fact, prices.as_of)
        assert now is not None or age is None or age > STALE_YEARS, name


def test_every_quote_is_sane() -> None:
    assert set(KNOWN) < {one.item for one in quotes()}
    for one in quotes():
        assert 75 < one.usd / one.accelerators < 130_000, one
        assert one.low <= one.usd or not one.low, one
        assert one.high >= one.usd or not one.high, one


def test_a_machine_is_as_unsure_as_quotes_of_its_accelerator_differ() -> None:
    prices, spread = default_prices(), price_spread()
    new, old = (prices.purchase_of(node(name)) for name in ("dgx-b200", "dgx-h100"))
    assert new is not None
    assert old is not None
    b200 = prices.accelerator_usd["b200-sxm"]
    assert spread.log_spread(new, prices.as_of) == spread.log_spread(b200, prices.as_of)
    assert spread.log_spread(old, prices.as_of) == spread.purchase.log_spread(STALE_YEARS)
