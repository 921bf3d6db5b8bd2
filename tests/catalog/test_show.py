from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from dse.catalog import KINDS, default_prices, names
from dse.catalog.show import entry_data, kind_data, render_entry, render_kind


@pytest.fixture
def console() -> Console:
    return Console(file=io.StringIO(), width=200)


def printed(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_kind_lists_all_its_entries(console: Console, kind: str) -> None:
    render_kind(console, kind)
    rows = kind_data(kind)
    assert [row["name"] for row in rows] == list(names(kind))
    assert all(row["name"] in printed(console) for row in rows)
    json.dumps(rows, allow_nan=False)


@pytest.mark.parametrize("kind", list(KINDS))
def test_an_entry_shows_values_sources_and_status(console: Console, kind: str) -> None:
    name = names(kind)[0]
    data = entry_data(kind, name)
    render_entry(console, kind, name)
    json.dumps(data, allow_nan=False)
    for fact in data["facts"]:
        assert fact["source"] in printed(console)
    assert all(source["accessed"] in printed(console) for source in data["sources"])


def test_numbers_are_si_and_unknown_is_null() -> None:
    row = next(row for row in kind_data("accelerators") if row["name"] == "t4")
    assert row["memory"] == 16e9
    assert row["intra_node_bandwidth"] is None


def test_an_accelerator_has_the_price_that_studies_pay_beside_older_ones() -> None:
    found = {fact["name"]: fact for fact in entry_data("accelerators", "b200-sxm")["facts"]}
    paid = default_prices().accelerator_usd["b200-sxm"]
    assert paid is not None
    assert found["accelerators.b200-sxm.purchase"]["value"] == paid.value
    assert found["accelerators.b200-sxm.purchase"]["date"] > found["prices.purchase"]["date"]
