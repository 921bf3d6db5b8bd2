"""The data in models/: sourced, within sane ranges, complete."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator

import numpy as np
import pytest

from dse.catalog import (
    Fact,
    accelerator,
    anchors,
    computing,
    decoding,
    default_prices,
    fabric,
    failure_terms,
    footprints,
    link_power,
    models_dir,
    names,
    node,
    rental_facts,
    scale_terms,
    sources,
    usual_optimizer,
    workload,
)
from dse.catalog.exchanges import exchanges
from dse.catalog.purchases import SOURCE as PURCHASES
from dse.catalog.purchases import quotes
from dse.catalog.rents import offers
from dse.catalog.show import READERS
from dse.catalog.stacks import layout_stacks
from dse.fleet.recipe import population_path, read_recipe
from dse.pricing.hardware import machines

DATE = re.compile(r"\d{4}(-\d{2}(-\d{2})?)?")
RANGES = {
    "B/s": (1e9 / 8, 2e13),
    "FLOP/s": (1e12, 2e16),
    "s": (1e-7, 1e-3),
    "W": (50, 2000),
    "USD/hour": (0.05, 200),
}
# What an approach says of software is outside of what a link's latency may be.
OWN_RANGES = {
    "fusion.cycle": (1e-4, 0.1),
    "queries.query": (1e-8, 1e-5),
    "power": (2e3, 2e4),  # of a machine
    "rack_power": (2e3, 2e5),
    "rack_power_dense": (2e4, 2e5),
    "rack_power_liquid": (1e5, 4e5),
}
READ = {kind: READERS[kind] for kind in READERS if kind not in ("populations", "prices")}
ENTRIES = [(kind, name) for kind in READ for name in names(kind)]


def facts() -> Iterator[tuple[str, str, Fact]]:
    for kind, name in ENTRIES:
        for fact in READ[kind](name).facts:
            yield kind, name, fact
    for fact in default_prices().facts:
        yield "prices", "list-prices", fact
    for row in link_power().facts:
        for fact in row:
            yield "links", "link_power", fact
    for fact in scale_terms().facts:
        yield "scale", "scale", fact
    for stack, rates in decoding().facts.items():
        for fact in rates:
            yield "decoding", stack, fact


@pytest.mark.parametrize(
    ("kind", "least"), [("accelerators", 20), ("fabrics", 20), ("nodes", 20), ("workloads", 30)]
)
def test_the_catalogue_covers_the_field(kind: str, least: int) -> None:
    assert len(names(kind)) >= least


@pytest.mark.parametrize(("kind", "name"), ENTRIES)
def test_an_entry_bears_the_name_of_its_file(kind: str, name: str) -> None:
    entry = READ[kind](name)
    assert entry.name == name
    assert entry.title
    assert re.fullmatch(r"[a-z0-9.]+(-[a-z0-9.]+)*", name)


def test_every_number_cites_a_source_read_on_a_date() -> None:
    for kind, name, fact in facts():
        where = f"{kind}/{name} {fact.name}"
        if fact.source == "none":
            assert fact.status == "unknown", where
        else:
            assert fact.source in sources(), where
            assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", fact.accessed), where


def test_every_source_is_dated_and_used() -> None:
    used = {fact.source for _, _, fact in facts()} | {"epoch-prices"}
    for name in ("pai-fleet", "pai-ps-worker"):
        used |= {fact.source for fact in read_recipe(population_path(name)).facts}
    used |= {fact.source for fact in (*computing().facts, *anchors().facts)}
    used |= {fact.source for fact in (*failure_terms().facts, *rental_facts().facts)}
    used |= {fact.source for fact in exchanges().facts}
    used |= {law.source for law in computing().laws.values()}
    used |= {fact.source for stack in layout_stacks().values() for fact in stack.facts}
    used |= {fact.source for stack in footprints().values() for fact in stack.facts}
    used |= {
        fact.source for fact in map(usual_optimizer, map(workload, names("workloads"))) if fact
    }
    used |= {offer.source for offer in (*offers(), *quotes())}
    used |= {PURCHASES}
    for key, source in sources().items():
        assert source.title
        assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", source.accessed), key
        assert source.url == "" or source.url.startswith("https://"), key
        assert key in used, f"{key} is cited nowhere"


def test_an_unknown_value_is_never_a_number() -> None:
    for kind, name, fact in facts():
        if fact.text == "unknown":
            assert fact.value is None, f"{kind}/{name} {fact.name}"
            assert fact.status == "unknown"
        else:
            assert fact.status != "unknown"
            assert fact.value is None or math.isfinite(fact.value)


def test_recalled_numbers_are_marked() -> None:
    for kind, name, fact in facts():
        if fact.source in {"recalled", "undated-listing"} and fact.known:
            assert fact.status == "unverified", f"{kind}/{name} {fact.name}"


def test_prices_say_when() -> None:
    for kind, name, fact in facts():
        if fact.date:
            assert DATE.fullmatch(fact.date), f"{kind}/{name} {fact.name}"
        elif fact.name.startswith("prices.") and kind in {"accelerators", "nodes"}:
            undated = fact.source.startswith("skypilot") or fact.status == "unverified"
            assert undated or "before" in fact.detail, f"{kind}/{name} {fact.name}"


def test_numbers_are_in_a_sane_range() -> None:
    for kind, name, fact in facts():
        if fact.value is None:
            continue
        where = f"{kind}/{name} {fact.name} = {fact.text}"
        if fact.name == "rack":
            assert fact.value == 0, "racks are the site's"
            continue
        if kind == "links":
            assert 1 <= fact.value <= 100, where
            continue
        if fact.unit == "kg/kWh":
            assert 1e-3 <= fact.value <= 1.2, where
        if fact.unit == "USD/kWh":
            assert 0.02 <= fact.value <= 0.6, where
        if fact.unit in RANGES:
            low, high = OWN_RANGES.get(fact.name, RANGES[fact.unit])
            assert low <= fact.value <= high, where
        if fact.unit == "USD":
            assert (10 if kind == "fabrics" else 100) <= fact.value <= 1e6, where
        assert fact.value > 0, where


@pytest.mark.parametrize("name", names("accelerators"))
def test_accelerators_are_plausible(name: str) -> None:
    device = accelerator(name)
    assert 4e9 <= (device.memory_bytes or 0) <= 1e12
    assert 1e11 <= (device.memory_bytes_per_s or 0) <= 5e13
    assert device.peak_flops_per_s
    assert device.host_link is None or fabric(device.host_link).tier == "intra-node"
    assert device.intra_node_bytes_per_s is not None or device.host_link is not None
    order = [p for p in ("fp32", "tf32", "fp16", "fp8", "fp4") if p in device.peak_flops_per_s]
    peaks = [device.peak_flops_per_s[precision] for precision in order]
    assert peaks == sorted(peaks), "a shorter format is never slower"


@pytest.mark.parametrize("name", names("fabrics"))
def test_fabrics_are_plausible(name: str) -> None:
    link = fabric(name)
    assert link.bytes_per_s is not None
    assert set(link.latency_s) <= {"rdma", "tcp"}
    assert link.switch_radix is None or 8 <= link.switch_radix <= 256


@pytest.mark.parametrize("name", names("nodes"))
def test_nodes_are_made_of_known_parts(name: str) -> None:
    machine = node(name)
    accelerator(machine.accelerator)
    assert machine.inter_node is not None
    assert fabric(machine.inter_node).tier == "inter-node"
    assert 1 <= machine.accelerators <= 72
    assert machine.nics is not None
    assert 1 <= machine.nics <= 32
    assert machine.cores is None or 16 <= machine.cores <= 384


@pytest.mark.parametrize("name", names("workloads"))
def test_workloads_have_a_layer_table_that_adds_up(name: str) -> None:
    net = workload(name)
    assert net.layer_params.sum() == pytest.approx(net.params, rel=1e-3)
    assert net.layer_forward_flops.sum() == pytest.approx(net.forward_flops, rel=1e-3)
    assert len(net.layer_names) == len(set(net.layer_names)) == len(net.layer_params)
    assert (net.gradient_tensors is None) is name.startswith("pai-"), "recalled totals only"
    if net.gradient_tensors is not None:
        assert net.gradient_tensors >= (net.layer_params > 0).sum()
    assert net.input_bytes is not None
    assert net.method


def test_an_accelerator_without_a_price_has_an_unknown_one() -> None:
    prices = default_prices()
    for name in names("accelerators"):
        (machine,) = machines("accelerator", [name], prices)
        listed = prices.accelerator_usd.get(name)
        known = listed is not None and listed.known
        assert np.isfinite(machine.accelerator_usd.usd) == known, name
        assert prices.includes.get(name, "card") in {"card", "node-share"}


def test_a_listed_price_is_one_of_the_accelerators_own() -> None:
    prices = default_prices()
    for name in set(names("accelerators")) - {one.item for one in quotes()}:
        own = {(fact.text, fact.source) for fact in accelerator(name).facts}
        fact = prices.accelerator_usd.get(name)
        assert not (fact and fact.known) or (fact.text, fact.source) in own, f"{name} {fact.text}"


def test_price_observations_are_readable() -> None:
    with (models_dir() / "prices" / "observations.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) > 300
    assert {row["kind"] for row in rows} == {"purchase", "on-demand", "1yr", "3yr"}
    for row in rows:
        assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", row["date"])
        assert float(row["usd"]) > 0
        assert row["source"].startswith("http") or row["source"] in sources()
    assert {row["accelerator"] for row in rows} & set(names("accelerators"))


# The day of an article, or of a page's copy in an archive, in its address.
_DAY_OF_SOURCE = re.compile(r"/(20\d\d)/(\d\d)/(\d\d)/|web\.archive\.org/web/(\d{4})(\d\d)(\d\d)")


def test_no_price_is_later_than_the_day_of_its_source() -> None:
    """What was written, or seen, on a day does not tell a later price."""
    with (models_dir() / "prices" / "observations.csv").open(newline="") as file:
        dated = [(row["accelerator"], row["date"], row["source"]) for row in csv.DictReader(file)]
    dated += [(fact.name, fact.date, fact.detail) for _, _, fact in facts() if fact.offer]
    compared = 0
    for name, date, source in dated:
        if (found := _DAY_OF_SOURCE.search(source)) and date:
            compared += 1
            day = "-".join(part for part in found.groups() if part)
            assert date <= day, f"{name} of {date} in a source of {day}"
    assert compared > 200
