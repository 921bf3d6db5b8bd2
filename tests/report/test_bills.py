"""Bills of materials in the report."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

from dse import catalog
from dse.catalog.facts import CLOUD, LIST, QUOTE
from dse.pricing.bill_of_materials import Item, Rent, Terms
from dse.report import bills
from dse.report.document import RunDocument
from tests.report import documents

GPU = Item(
    item="NVIDIA A100", quantity=4, unit_usd=12_500.0, usd=50_000.0, price_class=LIST,
    price_date="2022-07-01", age_years=4.4, checked=True, source="epoch-prices",
)  # fmt: skip
HOST = Item(
    item="Host", quantity=1, unit_usd=20_000.0, usd=20_000.0, price_class=LIST, price_date="",
    age_years=None, checked=False, source="recalled",
)  # fmt: skip
OFFER = replace(GPU, unit_usd=10_000.0, usd=40_000.0, price_class=QUOTE, age_years=0.1)


def document(**named: tuple[Item, ...]) -> RunDocument:
    return replace(documents.document(), bills=named)


def test_points_that_order_the_same_share_a_bill() -> None:
    found = bills.tables(
        document(
            baseline=(HOST,),
            recommended=(GPU, HOST),
            cheapest_within_5_percent=(GPU, HOST),
            fastest=(GPU, HOST),
        )
    )
    assert [table.title for table in found] == ["Recommended, fastest", "Baseline"]
    assert found[0].total == "USD 70,000.00"
    assert found[0].lines[0].price == "list, 2022-07-01, 4.4 years old"
    assert found[0].lines[1].price == "list, not checked"
    assert found[0].note == "29 % of the sum are prices that nobody checked."


def test_a_sum_with_an_unknown_price_is_unknown() -> None:
    unknown = replace(HOST, unit_usd=None, usd=None)
    assert bills.total((GPU, unknown)) is None
    (table,) = bills.tables(document(recommended=(GPU, unknown)))
    assert table.total == "unknown"


def test_the_table_of_all_bills_has_numbers_that_add_up() -> None:
    text = bills.bills_csv(document(baseline=(HOST,), recommended=(GPU, HOST)))
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["point"] for row in rows] == ["baseline", "recommended", "recommended"]
    assert sum(float(row["usd"]) for row in rows if row["point"] == "recommended") == 70_000
    assert rows[0]["age_years"] == ""
    assert rows[0]["checked"] == "false"
    dated = replace(GPU, age_years=7.846680355920602)
    (row,) = csv.DictReader(io.StringIO(bills.bills_csv(document(recommended=(dated,)))))
    assert row["age_years"] == "7.85"


def test_a_line_shows_discount_currency_quote_and_validity() -> None:
    terms = Terms(
        list_usd=12_500.0, discount=0.2, quote="Q-17", currency="EUR", rate=1.08,
        valid_until="2026-10-31", expired=True,
    )  # fmt: skip
    offer = replace(OFFER, terms=terms)
    (table,) = bills.tables(document(recommended=(offer,)))
    assert table.lines[0].past
    (row,) = csv.DictReader(io.StringIO(bills.bills_csv(document(recommended=(offer,)))))
    assert (row["list_usd"], row["discount"], row["quote"]) == ("12500.0", "0.2", "Q-17")
    assert (row["converted"], row["valid_until"]) == ("EUR at USD 1.08", "2026-10-31")


RENT = Rent(
    term="on-demand", hours=2.5, training_hours=2.0, lost_hours=0.25, start_up_hours=0.25,
    rounding_hours=0.0,
)  # fmt: skip
MACHINES = Item(
    item="NVIDIA DGX B200", quantity=8, unit_usd=44.0, usd=880.0, price_class=CLOUD,
    price_date="", age_years=None, checked=True, source="skypilot-nebius",
    terms=Terms(vendor="Nebius"), rent=RENT,
)  # fmt: skip


def rented(*items: Item) -> RunDocument:
    named = document(recommended=items, baseline=items)
    return replace(named, objectives=replace(named.objectives, minimize="per_run"))


def test_a_bill_of_rent_says_which_hours_it_pays() -> None:
    table = bills.tables(rented(MACHINES))[0]
    assert (table.rented, table.sum_of, table.total) == (True, "Cost of a run", "USD 880.00")
    for part in ("2.5 h", "2 h of training", "15 min lost to", "15 min of start-up"):
        assert part in table.note
    (line,) = table.lines
    assert (line.unit, line.hours) == ("USD 44.00/h", "2.5 h")
    assert line.price == "cloud, Nebius, on demand, no date"
    (found,) = csv.DictReader(io.StringIO(bills.bills_csv(document(fastest=(MACHINES,)))))
    assert (found["hours"], found["term"], found["usd"]) == ("2.5", "on-demand", "880.0")
    assert (found["owned"], found["to_buy"]) == ("", "")
    by_hand = int(found["quantity"]) * float(found["unit_usd"]) * float(found["hours"])
    assert float(found["usd"]) == by_hand


def test_an_hour_of_rent_is_one() -> None:
    hour = replace(MACHINES, rent=Rent(term="spot", hours=1.0), usd=352.0)
    table = bills.tables(rented(hour))[0]
    assert (table.sum_of, table.note) == ("Rent of an hour", "")


def test_every_rent_of_the_catalogue_says_who_asks_it() -> None:
    listed = {node.name: node.hourly_usd for node in map(catalog.node, catalog.names("nodes"))}
    listed |= catalog.default_prices().accelerator_hourly_usd
    assert [name for name, fact in listed.items()
            if fact and fact.value and not (fact.offer and fact.offer.vendor)] == []  # fmt: skip
