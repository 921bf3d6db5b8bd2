"""dse.model.owned, and the cost of what must be added"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.model import money
from dse.model.bill import bill
from dse.model.owned import Owned, anything, to_buy
from tests.model.test_money import PRICES, SWITCH_USD

EVERYTHING = Owned(*(1e9,) * 7)
counts = st.integers(0, 300)


def reference(needed: dict[str, int], owned: dict[str, int]) -> dict[str, int]:
    """What must be bought, part by part."""
    found = {}
    for part in ("accelerators", "nodes", "nics", "cables"):
        found[part] = max(0, needed[part] - owned[part])
    found["uplinks"] = max(0, needed["uplinks"] - max(0, owned["cables"] - needed["cables"]))
    left = owned["switches"]
    for tier in ("leaves", "spines", "cores"):
        taken = min(needed[tier], left)
        found[tier], left = needed[tier] - taken, left - taken
    spare = owned["hosts"] - min(needed["nodes"], owned["nodes"])
    found["servers"] = max(0, needed["servers"] - max(0, spare))
    return found


@given(
    st.integers(1, 3000), st.sampled_from([1, 3, 8]), st.sampled_from([1, 8]), st.integers(0, 40),
    st.tuples(counts, counts, counts, counts, counts, counts),
)  # fmt: skip
def test_what_must_be_added_is_counted_as_by_hand(
    gpus: int, per_node: int, nics: int, servers: int, stands: tuple[int, ...]
) -> None:
    parts = bill(gpus, per_node, nics, servers, 32, False)
    names = ("accelerators", "nodes", "hosts", "nics", "switches", "cables")
    owned = dict(zip(names, stands, strict=True))
    owned["hosts"] += owned["nodes"]
    tree = parts.tree
    needed = {
        "accelerators": parts.accelerators, "nodes": parts.nodes, "nics": parts.nics,
        "servers": parts.servers, "leaves": tree.leaves, "spines": tree.spines,
        "cores": tree.cores, "cables": tree.cables, "uplinks": tree.uplinks,
    }  # fmt: skip
    buy = to_buy(parts, Owned(**{name: float(count) for name, count in owned.items()}))
    expected = reference({name: int(count) for name, count in needed.items()}, owned)
    assert {
        "accelerators": int(buy.accelerators), "nodes": int(buy.nodes), "nics": int(buy.nics),
        "servers": int(buy.servers), "leaves": int(buy.tree.leaves),
        "spines": int(buy.tree.spines), "cores": int(buy.tree.cores),
        "cables": int(buy.tree.cables), "uplinks": int(buy.tree.uplinks),
    } == expected  # fmt: skip
    assert bool(anything(buy)) == (sum(expected.values()) > 0)


@given(st.integers(1, 5000), st.sampled_from([1, 3, 8]))
def test_nothing_owned_changes_nothing(gpus: int, per_node: int) -> None:
    parts = bill(gpus, per_node, 1, 0, 64, False)
    alone, none = (money.cost(parts, PRICES, owned) for owned in (None, Owned()))
    assert alone.capital_usd == none.capital_usd
    assert alone.tco_usd_per_hour == none.tco_usd_per_hour


@given(st.integers(1, 5000), st.sampled_from([1, 3, 8]))
def test_all_owned_costs_electricity_alone(gpus: int, per_node: int) -> None:
    parts = bill(gpus, per_node, 1, 2, 64, False)
    nan = float("nan")
    unknown = replace(
        PRICES, accelerator_usd=nan, host_usd=nan, nic_usd=nan, switch_port_usd=nan, cable_usd=nan,
        server_usd=nan, extras=money.Extras(0.1, 5_000.0, 300.0),
    )  # fmt: skip
    found = money.cost(parts, unknown, EVERYTHING)
    assert float(found.capital_usd) == 0.0, "what is not bought costs nothing, known or not"
    assert float(found.tco_usd_per_hour) == pytest.approx(float(found.power_w) / 1000 * 0.1)
    plain = money.cost(parts, PRICES)
    assert found.power_w == plain.power_w


def test_twice_the_cluster_buys_the_other_half() -> None:
    parts = bill(128, 8, 1, 0, 64, False)
    owned = Owned(64.0, 8.0, 8.0, 8.0, 1.0, 8.0, 3.0)
    found = money.cost(parts, PRICES, owned)
    assert float(found.capital_usd) == 64 * 10_000 + 8 * (20_000 + 500 + 100)
    whole = money.cost(parts, PRICES)
    assert float(whole.capital_usd - found.capital_usd) == (
        64 * 10_000 + 8 * (20_000 + 500 + 100) + SWITCH_USD
    )
    priced = replace(PRICES, rack_usd=1000.0, extras=money.Extras(0.1, 5_000.0, 300.0))
    found, racks = money.cost(parts, priced, owned), float(whole.racks)
    hardware = 64 * 10_000 + 8 * 20_600 + (racks - 3) * 1000
    assert float(found.capital_usd) == pytest.approx(hardware * 1.1 + 5_000 + 8 * 300)


def test_arrays_are_the_points_one_by_one() -> None:
    gpus = np.array([8, 64, 100, 128, 1024])
    owned = Owned(64.0, 8.0, 9.0, 8.0, 1.0, 8.0, 0.0)
    together = money.cost(bill(gpus, 8, 1, 3, 64, False), PRICES, owned).capital_usd
    alone = [float(money.cost(bill(one, 8, 1, 3, 64, False), PRICES, owned).capital_usd)
             for one in gpus]  # fmt: skip
    assert together.tolist() == alone
