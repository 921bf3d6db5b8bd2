"""The one question about a price of the buyer's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.catalog import default_prices, implausible, read_prices
from dse.catalog.facts import Fact
from dse.catalog.plausibility import FACTOR


def own(tmp_path: Path, item: str, price: str, rest: str = "") -> Fact:
    """The price of one item in a list of the buyer's."""
    path = tmp_path / "offer.csv"
    path.write_text(f"item,price,class,term\n{item},{price},{rest}\n")
    (fact,) = (fact for fact in read_prices(path).facts if fact.source == "offer.csv")
    return fact


@pytest.mark.parametrize(
    ("item", "right", "wrong", "usual"),
    [
        ("dgx-b200", "395000 USD", "39500 USD", "515,000"),
        ("hgx-h200", "245000 USD", "24500000 USD", ""),
        ("h100-sxm", "31000 USD", "0 USD", "22,375"),
        ("ib-ndr switch port", "610 USD", "6.1 USD", "513"),
        ("ib-ndr nic", "1190 USD", "0 USD", ""),
        ("host", "9000 USD", "150 USD", "7,080"),
        ("h100-sxm host", "110000 USD", "400000 USD", "85,000"),
        ("h100-sxm hourly", "2.4 USD/hour", "0.021 USD/hour", "2.69"),
        ("aws-p5.48xlarge hourly", "40 USD/hour", "4000 USD/hour", "55"),
    ],
)
def test_a_price_a_factor_of_three_off_the_catalogues_is_asked_about(
    tmp_path: Path, item: str, right: str, wrong: str, usual: str
) -> None:
    assert implausible(own(tmp_path, item, right)) == ""
    said = implausible(own(tmp_path, item, wrong))
    assert f"factor of {FACTOR:g} off the USD {usual}" in said


def test_the_bounds_are_the_catalogues_price_times_and_by_the_factor(tmp_path: Path) -> None:
    usd = default_prices().accelerator_usd["h100-sxm"].value
    assert usd is not None
    for ratio, asked in ((0.33, True), (0.34, False), (2.99, False), (3.01, True)):
        assert bool(implausible(own(tmp_path, "h100-sxm", f"{ratio * usd} USD"))) == asked, ratio


@pytest.mark.parametrize(("usd", "asked"), [(0.55, True), (0.65, False), (13, False), (15, True)])
def test_a_rent_of_a_term_is_compared_with_what_that_term_is_usually_off(
    tmp_path: Path, usd: float, asked: bool
) -> None:
    """USD 2.69 of marketplaces less 35 % are 1.75, 10.53 of hyperscalers less 56 % are 4.63."""
    found = own(tmp_path, "h100-sxm hourly", f"{usd} USD/hour", ",3-year")
    assert bool(implausible(found)) == asked


def test_what_the_catalogue_has_no_price_of_is_not_asked_about(tmp_path: Path) -> None:
    assert implausible(own(tmp_path, "extras support", "1 USD")) == ""
    assert implausible(own(tmp_path, "b300-sxm", "1 USD")) == ""
    assert implausible(default_prices().host_usd) == "", "it is the catalogue's"


def test_a_used_price_is_compared_with_used_ones_of_the_part_alone(tmp_path: Path) -> None:
    assert implausible(own(tmp_path, "v100-sxm2-32gb", "900 USD", "used")) == ""
    assert implausible(own(tmp_path, "v100-sxm2-32gb", "900 USD")) != ""
    host = own(tmp_path, "p100-sxm2-16gb host", "9500 USD", "used")
    assert implausible(host) == "", "USD 7,080 to 85,000 new, and not the card's USD 1,100"
