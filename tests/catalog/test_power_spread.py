"""dse.catalog.power_spread"""

from __future__ import annotations

from pathlib import Path

import pytest

from dse import catalog
from dse.catalog.power_spread import FILE, stated
from dse.errors import StudyError


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


def test_a_spread_that_is_missing_is_named(tmp_path: Path) -> None:
    path = tmp_path / FILE
    text = (catalog.models_dir() / FILE).read_text()
    path.write_text("\n".join(row for row in text.splitlines() if not row.startswith("network")))
    with pytest.raises(StudyError, match="network"):
        catalog.power_spread(path)
