"""Prices of the buyer's own that are hardly meant."""

from __future__ import annotations

import datetime
from dataclasses import replace
from pathlib import Path

import pytest

from dse.catalog import implausible, read_prices
from dse.catalog.facts import Fact

DAY = datetime.date(2026, 11, 26)


def own(tmp_path: Path, item: str, price: str, rest: str = "USD,") -> Fact:
    """The price of one item in a list of the buyer's."""
    path = tmp_path / "offer.csv"
    path.write_text(f"item,price,currency,rate,class\n{item},{price},{rest}\n")
    facts = [fact for fact in read_prices(path).facts if fact.source == "offer.csv"]
    return facts[-1]


@pytest.mark.parametrize(
    ("item", "right", "wrong", "said"),
    [
        ("dgx-b200", 395_000, 39_500, "USD 39,500.00 is 1/9.6 of the catalogue's USD 379,273 of"),
        ("dgx-b200", 395_000, 395, "USD 395.00 is 1/960 of the catalogue's USD 379,273"),
        ("hgx-h200", 245_000, 24_500_000, "USD 24,500,000.00 is 78 times the catalogue's"),
        ("h100-sxm", 31_000, 310, "USD 310.00 is 1/"),
        (
            "ib-ndr switch port",
            610,
            6.1,
            "USD 6.10 is 1/92 of the catalogue's USD 562 of 2024-08",
        ),
        ("400gbe cable", 800, 80, "USD 80.00 is 1/15 of the catalogue's USD 1,200, by which"),
        ("host", 15_000, 150, "USD 150.00 is 1/133 of the catalogue's USD 20,000"),
        ("h100-sxm hourly", 2.1, 0.021, "USD 0.02 an hour is 1/"),
        ("dgx-b200 hourly", 40, 4000, "USD 4,000.00 an hour is 91 times the catalogue's USD 44"),
    ],
)
def test_a_price_far_from_the_catalogues_is_hardly_meant(
    tmp_path: Path, item: str, right: float, wrong: float, said: str
) -> None:
    assert implausible(own(tmp_path, item, str(right)), DAY) == ""
    assert implausible(own(tmp_path, item, str(wrong)), DAY).startswith(said)


@pytest.mark.parametrize(
    ("item", "said"),
    [
        ("h100-sxm", "no accelerator is for sale at USD 0; write what it costs, and what stands"),
        ("dgx-h100", "no machine is for sale at USD 0; write what it costs, and what stands there"),
        ("h100-sxm hourly", "no accelerator is for rent at USD 0; write what it costs, and what"),
        ("dgx-h100 hourly", "no machine is for rent at USD 0; write what it costs, and what"),
        ("host", ""),
        ("h100-sxm host", ""),
        ("ib-ndr nic", ""),
        ("ib-ndr cable", ""),
    ],
)
def test_what_trains_is_not_given_away_and_parts_may_come_with_it(
    tmp_path: Path, item: str, said: str
) -> None:
    found = implausible(own(tmp_path, item, "0"), DAY)
    assert found.startswith(said)
    assert bool(found) == bool(said)


@pytest.mark.parametrize(("usd", "meant"), [(0.05, False), (0.9, True), (3, True), (200, False)])
def test_a_rent_of_a_term_is_compared_with_what_that_term_is_usually_off(
    tmp_path: Path, usd: float, meant: bool
) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text(
        f"accelerators: {{h100-sxm: {{hourly: {{value: {usd} USD/hour, term: 3-year}}}}}}\n"
    )
    found = read_prices(path).accelerator_terms_usd["h100-sxm"]["3-year"]
    said = implausible(found, DAY)
    assert (said == "") == meant
    if not meant:
        assert " less 55 % for the term, by which 99 of 100 offers are between USD " in said


def test_a_price_of_after_the_purchase_is_hardly_meant(tmp_path: Path) -> None:
    price = replace(own(tmp_path, "dgx-h100", "250000"), date="2026-10-02")
    for_year_ago = datetime.date(2025, 11, 20)
    assert implausible(price, DAY, for_year_ago) == (
        "it is of 2026-10-02, after the day of the purchase, 2025-11-20 (as_of)"
    )
    assert implausible(price, for_year_ago, DAY) == "", "ages may count to another day"
    for date in ("2025-11-20", "2025-11", "2025", ""):
        assert implausible(replace(price, date=date), DAY, for_year_ago) == ""


@pytest.mark.parametrize(
    ("code", "right", "wrong"),
    [("EUR", "1.17", "0.926"), ("EUR", "1.08", "108"), ("JPY", "0.0066", "152"),
     ("GBP", "1.31", "0.76"), ("CHF", "1.28", "0.8")],
)  # fmt: skip
def test_a_rate_the_wrong_way_round_is_hardly_meant(
    tmp_path: Path, code: str, right: str, wrong: str
) -> None:
    price = "250000"
    fair = "40000000" if code == "JPY" else price
    assert implausible(own(tmp_path, "dgx-h100", fair, f"{code},{right}"), DAY) == ""
    said = implausible(own(tmp_path, "dgx-h100", price, f"{code},{wrong}"), DAY)
    assert said.startswith(f"it is converted at USD {wrong} for one {code}, which was worth USD ")
    meant = f"was USD 1 = {code} {wrong} meant?"
    assert (meant in said) == (wrong != "108")


def test_what_the_catalogue_does_not_know_is_plausible(tmp_path: Path) -> None:
    assert implausible(own(tmp_path, "extras support", "1"), DAY) == ""
    assert implausible(own(tmp_path, "dgx-h100", "250000", "XAU,2.5"), DAY) == "", "no such rate"
    assert implausible(own(tmp_path, "ib-ndr nic", "0"), DAY) == "", "at no charge"
    used = own(tmp_path, "v100-sxm2-32gb", "900", "USD,,used")
    assert implausible(used, DAY) == "", "what is used is compared with used"


def test_a_used_price_is_compared_with_used_ones_of_the_part_alone(tmp_path: Path) -> None:
    host = own(tmp_path, "p100-sxm2-16gb host", "9500", "USD,,used")
    assert implausible(host, DAY) == "", "USD 20,000 new, and not the card's USD 1,100"
