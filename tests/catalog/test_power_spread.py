"""dse.catalog.power_spread"""

from __future__ import annotations

from dse import catalog
from dse.catalog.power_spread import stated


def test_every_spread_is_positive_below_one_and_says_where_it_is_from() -> None:
    found = catalog.power_spread()
    numbers = {fact.name: fact.value for fact in found.facts}
    assert numbers == {
        name: getattr(found, name) for name in found.__dataclass_fields__ if name != "facts"
    }
    assert all(0 < value < 1 for value in numbers.values() if value is not None)
    assert all(fact.source in catalog.sources() for fact in found.facts)
    judged = {fact.name for fact in found.facts if fact.status == "unverified"}
    assert judged == {"pue", "accelerators", "machines", "hosts", "network"}


def test_numbers_of_the_catalogue_are_not_the_users_own() -> None:
    prices = catalog.default_prices()
    assert not stated(prices.electricity_usd_per_kwh)
    assert not stated(prices.pue)
