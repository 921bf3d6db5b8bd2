"""dse.catalog.observations and what of it the price list repeats."""

from __future__ import annotations

import datetime

from dse.catalog import default_prices
from dse.catalog.observations import PURCHASE, nearest, observations, of_one_age


def test_prices_of_two_accelerators_are_nearest_on_one_day() -> None:
    assert of_one_age("p100-sxm2-16gb", "a100-sxm4-40gb", PURCHASE) == datetime.date(2022, 5, 9)
    assert of_one_age("p100-sxm2-16gb", "t4", PURCHASE) is None, "no price of a T4 is known"


def test_the_nearest_price_is_the_lowest_of_its_day() -> None:
    day = datetime.date(2025, 3, 1)
    found = nearest("h100-sxm", PURCHASE, day, 30)
    assert found is not None
    assert (found.day, found.usd) == (datetime.date(2025, 3, 3), 28_750)
    assert nearest("p100-sxm2-16gb", PURCHASE, day, 365) is None


def test_prices_of_used_hardware_are_among_those_observed() -> None:
    """Of a P100 itself; of half a K80 board and of another form of V100 as the list says."""
    used = default_prices().used_usd
    assert set(used) == {"k80-die", "p100-sxm2-16gb", "v100-sxm2-32gb"}
    seen = {(str(row.day), row.usd) for row in observations(PURCHASE)["p100-sxm2-16gb"]}
    own = used["p100-sxm2-16gb"]
    assert (own.date, own.value) in seen
    assert all(used[name].status == "derived" for name in ("k80-die", "v100-sxm2-32gb"))
