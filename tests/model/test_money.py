"""dse.model.money"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.model import money
from dse.model.bill import bill
from dse.model.power import UnitWatts
from dse.model.racks import Rack

PRICES = money.Prices(
    accelerator_usd=10_000.0, host_usd=20_000.0, nic_usd=500.0, switch_port_usd=200.0,
    cable_usd=100.0, uplink_usd=100.0, switch_radix=64.0, rent_usd_per_hour=2.0,
    server_usd=20_000.0, rack_usd=0.0,
    watts=UnitWatts(accelerator=400.0, idle_share=0.1, host=500.0, host_share=0.5, server=575.0,
                    nic=20.0, switch_port=5.0, cable=10.0, pue=1.2),
    rack=Rack(limit_w=12_000.0, units=42.0, node_units=4.0, server_units=4.0),
    electricity_usd_per_kwh=0.1, amortisation_years=4.0,
)  # fmt: skip
SWITCH_USD = 64 * 200
# A machine sold whole, with its cards.
WHOLE = replace(PRICES, accelerator_usd=0.0, host_usd=300_000.0, rent_usd_per_hour=32.0)


def cost(
    gpus: int, per_node: int, nics: int, servers: float = 0.0, prices: money.Prices = PRICES
) -> money.Cost:
    whole = prices is WHOLE
    parts = bill(gpus, per_node, nics, servers, 64, whole, rented_in=None if whole else 1.0)
    return money.cost(parts, prices)


def test_a_single_node_needs_no_fabric_even_if_its_price_is_unknown() -> None:
    unknown = replace(PRICES, nic_usd=float("nan"), switch_port_usd=float("nan"))
    assert float(cost(8, 8, 1, prices=unknown).capital_usd) == 8 * 10_000 + 20_000
    assert np.isnan(cost(16, 8, 1, prices=unknown).capital_usd)


def test_capital_is_the_sum_of_whole_switches_and_all_cables() -> None:
    two = cost(2 * 8, 8, 1)
    assert float(two.capital_usd) == 160_000 + 2 * (20_000 + 500 + 100) + SWITCH_USD
    one_tier = cost(64 * 8, 8, 1)
    assert float(one_tier.capital_usd) == 5_120_000 + 64 * (20_000 + 500 + 100) + SWITCH_USD
    # 65 endpoints: 3 leaves with 32 ports down and 32 up, 96 cables to 2 spines.
    two_tiers = cost(65 * 8, 8, 1)
    network = 65 * (500 + 100) + 96 * 100 + 5 * SWITCH_USD
    assert float(two_tiers.capital_usd) == 5_200_000 + 65 * 20_000 + network
    optics = cost(65 * 8, 8, 1, prices=replace(PRICES, uplink_usd=700.0))
    assert float(optics.capital_usd - two_tiers.capital_usd) == 96 * 600
    more = float(cost(64, 8, 1, 2.0).capital_usd - cost(64, 8, 1).capital_usd)
    assert more == 2 * (20_000 + 500 + 100), "the switch has ports left for servers"


def test_power_rent_and_ownership() -> None:
    found = cost(8, 8, 1)
    power_w = (8 * 400 * 1.5 + 500) * 1.2
    assert float(found.power_w) == pytest.approx(power_w)
    assert float(found.rental_usd_per_hour) == 16.0
    capital = 8 * 10_000 + 20_000
    expected = capital / (4 * 8760) + power_w / 1000 * 0.1
    assert float(found.tco_usd_per_hour) == pytest.approx(expected)


def test_operation_is_a_share_of_the_hardware_a_year() -> None:
    plain, run = (cost(16, 8, 1, prices=replace(PRICES, operation=of)) for of in (0.0, 0.1))
    assert run.capital_usd == plain.capital_usd
    more = float(run.tco_usd_per_hour - plain.tco_usd_per_hour)
    assert more == pytest.approx(0.1 * float(plain.hardware_usd) / 8760)
    half = cost(16, 8, 1, prices=replace(PRICES, operation=0.1, utilisation=0.5))
    fed = float(plain.power_w) / 1000 * 0.1
    assert float(half.tco_usd_per_hour) - fed == pytest.approx(
        2 * (float(run.tco_usd_per_hour) - fed)
    )


def test_a_dedicated_server_draws_power_whatever_the_accelerators_are() -> None:
    plain, served = (cost(16, 8, 1, servers) for servers in (0.0, 3.0))
    more = float(served.power_w - plain.power_w)
    assert more == pytest.approx(3 * (575 + 20 + 10) * 1.2), "a host, a card and a cable each"
    years = 3 * (20_000 + 500 + 100) / (4 * 8760)
    tco = float(served.tco_usd_per_hour - plain.tco_usd_per_hour)
    assert tco == pytest.approx(years + more / 1000 * 0.1)
    alone = [cost(8, 8, 1, servers).power_w for servers in (0.0, 3.0)]
    assert alone[0] == alone[1], "one node needs no server"


def test_a_machine_sold_whole_is_paid_whole_and_brings_its_cards() -> None:
    part, two = cost(4, 8, 8, prices=WHOLE), cost(16, 8, 8, prices=WHOLE)
    assert float(part.capital_usd) == 300_000
    assert float(part.rental_usd_per_hour) == 32
    assert float(two.capital_usd) == 600_000 + 16 * 100 + SWITCH_USD  # no cards
    with_server = cost(16, 8, 8, 1.0, WHOLE)
    assert float(with_server.capital_usd - two.capital_usd) == 20_000 + 500 + 100


SHARES, AMOUNTS = st.floats(0, 2), st.floats(0, 1e6)


@given(
    st.integers(1, 5000), st.sampled_from([1, 4, 8]), st.integers(0, 3), SHARES, AMOUNTS, AMOUNTS
)
def test_extras_add_a_share_a_sum_and_an_amount_for_each_host(
    gpus: int, per_node: int, servers: int, share: float, once: float, each: float
) -> None:
    plain = float(cost(gpus, per_node, 1, servers).capital_usd)
    extras = money.Extras(share, once, each)
    found = float(cost(gpus, per_node, 1, servers, replace(PRICES, extras=extras)).capital_usd)
    nodes = -(-gpus // per_node)
    hosts = nodes + (servers if nodes > 1 else 0)
    expected = plain
    expected += share * plain
    expected += once
    for _ in range(hosts):
        expected += each
    assert found == pytest.approx(expected, rel=1e-9)


def test_extras_are_owned_but_not_rented() -> None:
    more = cost(8, 8, 1, prices=replace(PRICES, extras=money.Extras(0.1, 5_000.0, 100.0)))
    plain = cost(8, 8, 1)
    assert more.rental_usd_per_hour == plain.rental_usd_per_hour
    assert float(more.tco_usd_per_hour - plain.tco_usd_per_hour) == pytest.approx(
        (10_000 + 5_000 + 100) / (4 * 8760)
    )


def test_racks_are_on_the_bill_where_they_have_a_price() -> None:
    # Nodes of 5.3 kW, two to a rack of 12 kW.
    node_w = 8 * 400 * 1.5 + 500
    assert 2 * node_w < 12_000 < 3 * node_w
    plain, bought = cost(16 * 8, 8, 1), cost(16 * 8, 8, 1, prices=replace(PRICES, rack_usd=3000.0))
    assert float(plain.racks) == float(bought.racks) == 8
    assert float(bought.capital_usd - plain.capital_usd) == 8 * 3000
    unknown = replace(PRICES, watts=replace(PRICES.watts, accelerator=float("nan")))
    assert np.isfinite(cost(8, 8, 1, prices=unknown).capital_usd), "free, however many"
    priced = replace(unknown, rack_usd=3000.0)
    assert np.isnan(cost(8, 8, 1, prices=priced).capital_usd)


EVERYTHING = money.Owned(*(1e9,) * 7)
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
    buy = money.to_buy(parts, money.Owned(**{name: float(count) for name, count in owned.items()}))
    expected = reference({name: int(count) for name, count in needed.items()}, owned)
    assert {
        "accelerators": int(buy.accelerators), "nodes": int(buy.nodes), "nics": int(buy.nics),
        "servers": int(buy.servers), "leaves": int(buy.tree.leaves),
        "spines": int(buy.tree.spines), "cores": int(buy.tree.cores),
        "cables": int(buy.tree.cables), "uplinks": int(buy.tree.uplinks),
    } == expected  # fmt: skip
    assert bool(money.anything(buy)) == (sum(expected.values()) > 0)


@given(st.integers(1, 5000), st.sampled_from([1, 3, 8]))
def test_nothing_owned_changes_nothing(gpus: int, per_node: int) -> None:
    parts = bill(gpus, per_node, 1, 0, 64, False)
    alone, none = (money.cost(parts, PRICES, owned) for owned in (None, money.Owned()))
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
    owned = money.Owned(64.0, 8.0, 8.0, 8.0, 1.0, 8.0, 3.0)
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


usd = st.floats(1.0, 1e9)


def test_owning_by_hand() -> None:
    # 350,400 USD over 4 years are 10 USD an hour; a quarter is left, and half of the hours used.
    assert money.owned_usd_per_hour(350_400.0, 1.0, 4.0) == pytest.approx(11.0)
    assert money.owned_usd_per_hour(350_400.0, 1.0, 4.0, 0.25 * 350_400.0, 0.5) == pytest.approx(
        16.0
    )
    # 10 USD an hour of all hours against 21 - 1 in use.
    assert money.break_even_utilisation(350_400.0, 1.0, 21.0, 4.0) == pytest.approx(0.5)
    assert money.break_even_utilisation(350_400.0, 1.0, 6.0, 4.0) == pytest.approx(2.0)


def test_a_rent_below_the_electricity_is_never_beaten() -> None:
    found = money.break_even_utilisation(1000.0, [2.0, 2.0, 2.0], [1.0, 2.0, np.nan], 4.0)
    assert np.isinf(found[:2]).all()
    assert np.isnan(found[2])


@given(usd, st.floats(0, 1e5), st.floats(1e-2, 1e5), st.floats(0.5, 10), st.floats(0, 0.9))
def test_at_the_break_even_both_cost_the_same(
    capital: float, electricity: float, more: float, years: float, residual: float
) -> None:
    rent = electricity + more
    resold = residual * capital
    share = float(money.break_even_utilisation(capital, electricity, rent, years, resold))
    owned = money.owned_usd_per_hour(capital, electricity, years, resold, share)
    assert float(owned) == pytest.approx(rent, rel=1e-6)
    total = capital - resold + electricity * money.HOURS_PER_YEAR * years * share
    assert total == pytest.approx(rent * money.HOURS_PER_YEAR * years * share, rel=1e-6)


HOUR = 3600.0
times = st.one_of(st.just(0.0), st.floats(1e-3, 1e10))
spans = st.one_of(st.just(0.0), st.floats(1.0, 1e6))


@given(st.lists(times, min_size=1, max_size=5), spans, spans, spans)
def test_a_run_is_billed_whole_units_and_at_least_the_minimum(
    held: list[float], minimum: float, unit: float, start: float
) -> None:
    found = money.billed_s(np.array(held), money.Billing(minimum, unit, start))
    for at, seconds in enumerate(held):
        due = max(seconds + start, minimum)
        if unit:
            due = math.ceil(due / unit * (1 - 1e-12)) * unit
        assert found[at] == pytest.approx(due, rel=1e-12)
    assert (np.diff(money.billed_s(np.sort(held), money.Billing(minimum, unit, start))) >= 0).all()


def test_what_is_billed_by_hand() -> None:
    billing = money.Billing(HOUR, HOUR, 600.0)
    # 5 min and 10 min of start are billed an hour; 50 min and 10 min one, 51 min and 10 min two.
    held = np.array([300.0, 3000.0, 3060.0, np.inf])
    assert money.billed_s(held, billing).tolist() == [HOUR, HOUR, 2 * HOUR, np.inf]
    assert money.billed_s(100.0, money.Billing()).tolist() == 100.0
