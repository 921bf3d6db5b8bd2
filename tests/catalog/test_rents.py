"""Rents by class of sellers."""

from __future__ import annotations

import csv
import math
import shutil
import statistics
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from benchmarks.price_spread import pooled
from dse.catalog import default_prices, models_dir, price_spread, read_prices
from dse.catalog.facts import CLOUD, PriceTerms
from dse.catalog.rents import (
    HYPERSCALER,
    MARKETPLACE,
    NEOCLOUD,
    RENT_CLASSES,
    class_of,
    newest,
    offers,
    rent,
    rented,
    usual_class,
    usual_rent,
)
from dse.errors import StudyError


def test_a_class_has_the_median_of_its_sellers() -> None:
    """One value a seller; of the last three months where three have one, else of nine."""
    h100 = rent("h100-sxm", NEOCLOUD)
    assert h100 is not None
    assert (len(h100.current), len(h100.counted)) == (13, 9)
    assert h100.usd_per_hour == 3.99
    assert min(one.date for one in h100.counted) >= "2026-09"
    b200 = rent("b200-sxm", MARKETPLACE)
    assert b200 is not None
    assert b200.counted == b200.current, "two sellers of late are no market"
    assert b200.usd_per_hour == pytest.approx(6.005)
    for name in rented():
        for kind in RENT_CLASSES:
            found = rent(name, kind)
            if found is not None:
                sellers = [one.seller for one in found.current]
                assert len(set(sellers)) == len(sellers)


def test_within_a_class_an_older_generation_rents_for_less() -> None:
    """A list that mixed classes had an H200 at 1.9 times a B200."""
    for kind in RENT_CLASSES:
        h100, h200, b200 = (rent(name, kind) for name in ("h100-sxm", "h200-sxm", "b200-sxm"))
        assert h100 is not None
        assert h200 is not None
        assert b200 is not None
        assert 0.62 < h200.usd_per_hour / b200.usd_per_hour < 0.75, kind
        own = statistics.median(one.usd_per_hour for one in h200.current)
        other = statistics.median(one.usd_per_hour for one in b200.current)
        assert own / other == pytest.approx(0.70, abs=0.04), "over nine months"


def test_a_doubtful_page_counts_only_where_fewer_than_two_others_exist() -> None:
    mi325x, h100 = rent("mi325x", NEOCLOUD), rent("h100-sxm", NEOCLOUD)
    assert mi325x is not None
    assert {one.trust for one in mi325x.current} == {"A", "C"}
    assert h100 is not None
    assert "C" not in {one.trust for one in h100.current}


def test_the_usual_class_is_that_in_which_most_have_a_market() -> None:
    assert usual_class(["a100-sxm4-80gb", "h100-sxm", "b200-sxm"]) == NEOCLOUD
    assert usual_class(["h100-sxm", "gb200"]) == HYPERSCALER, "half is not most"
    assert usual_class(["tpu-v5p"]) == HYPERSCALER
    asked = default_prices().of_class(MARKETPLACE).accelerator_hourly_usd["h100-sxm"]
    assert class_of(asked) == MARKETPLACE
    for seller, kind in (("AWS", HYPERSCALER), ("Nebius", NEOCLOUD), ("nobody knows it", "")):
        assert class_of(replace(asked, offer=PriceTerms(CLOUD, seller))) == kind


def test_where_a_class_has_no_offer_another_one_counts() -> None:
    old = usual_rent("v100-sxm2-32gb", NEOCLOUD)
    assert old is not None
    assert old.rent_class == MARKETPLACE
    k80 = usual_rent("k80-die")
    assert k80 is not None
    assert k80.date == "2018-12-30", "only where nobody asks anything today"
    assert usual_rent("mi250x") is None


def test_the_interval_is_that_of_the_class() -> None:
    day = date(2026, 11, 16)
    for kind in RENT_CLASSES:
        assert price_spread().hourly[kind].log_spread(0.0) == pytest.approx(pooled(kind), rel=0.01)
    prices = default_prices().of_class(NEOCLOUD).accelerator_hourly_usd
    h100 = rent("h100-sxm", NEOCLOUD)
    assert h100 is not None
    apart = statistics.stdev(math.log(one.usd_per_hour) for one in h100.current)
    known, seen = price_spread(), newest()
    assert known.log_spread(prices["h100-sxm"], seen) == pytest.approx(apart)
    aged = math.hypot(apart, known.hourly[NEOCLOUD].root_year * math.sqrt(2))
    later = seen.replace(year=seen.year + 2)
    assert known.log_spread(prices["h100-sxm"], later) == pytest.approx(aged, rel=1e-3)
    few = default_prices().of_class(HYPERSCALER).accelerator_hourly_usd["b200-sxm"]
    assert price_spread().log_spread(few, day) == pytest.approx(0.18, abs=0.02), "of its class"


def test_a_price_list_has_the_rents_of_one_class(tmp_path: Path) -> None:
    own = tmp_path / "own.csv"
    own.write_text("item,price,currency\nh100-sxm hourly,2.10,USD\n")
    prices = read_prices(own).of_class(HYPERSCALER)
    assert prices.accelerator_hourly_usd["h100-sxm"].value == 2.1, "one's own stays"
    assert prices.accelerator_hourly_usd["h200-sxm"].value == pytest.approx(10.3)
    assert prices.rent_class == HYPERSCALER


def test_every_offer_is_of_a_known_seller_and_day() -> None:
    found = offers()
    assert len(found) > 300
    assert len({one.seller for one in found if one.rent_class == NEOCLOUD}) > 15
    for one in found:
        assert 0.05 < one.usd_per_hour < 30, one
        assert one.trust in {"A", "B", "C"}, one
    kinds = {one.seller: one.rent_class for one in found}
    assert all(kinds[one.seller] == one.rent_class for one in found)


@pytest.mark.parametrize(
    ("column", "cell", "said"),
    [
        ("rent_class", "cloud", "rent_class 'cloud'; write hyperscaler"),
        ("usd_per_hour", "dear", "usd_per_hour 'dear'; write a number"),
        ("source", "somebody", "unknown source"),
    ],
)
def test_a_mistake_in_the_table_is_told_with_its_line(
    column: str, cell: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(models_dir(), tmp_path / "models")
    path = tmp_path / "models" / "prices" / "rents.csv"
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    rows[1][column] = cell
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    monkeypatch.setenv("DSE_MODELS", str(tmp_path / "models"))
    with pytest.raises(StudyError, match=said) as told:
        offers()
    assert "rents.csv:3:" in str(told.value)
