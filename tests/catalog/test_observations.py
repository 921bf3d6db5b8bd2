"""dse.catalog.observations and what of it the price list repeats."""

from __future__ import annotations

from dse.catalog import default_prices
from dse.catalog.observations import PURCHASE, observations


def test_prices_of_used_hardware_are_among_those_observed() -> None:
    """Of a P100 itself; of half a K80 board and of another form of V100 as the list says."""
    used = default_prices().used_usd
    assert set(used) == {"k80-die", "p100-sxm2-16gb", "v100-sxm2-32gb"}
    seen = {(str(row.day), row.usd) for row in observations(PURCHASE)["p100-sxm2-16gb"]}
    own = used["p100-sxm2-16gb"]
    assert (own.date, own.value) in seen
    assert all(used[name].status == "derived" for name in ("k80-die", "v100-sxm2-32gb"))
