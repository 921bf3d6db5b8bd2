"""Bills of materials in the report."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

from dse.catalog.offers import LIST, QUOTE, USED
from dse.pricing.bill_of_materials import Item, Terms
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
    assert found[0].note == "29 % of the sum are prices from memory, not checked."


def test_old_unchecked_and_mixed_prices_are_told_with_their_share() -> None:
    old, unchecked, mixed = bills.price_notes(
        document(recommended=(OFFER, HOST), baseline=(GPU, HOST))
    )
    assert old == (
        "71 % of the baseline's sum are prices more than 2 years old, and prices lie up to 4.3 "
        "years apart. Ask for them again."
    )
    assert unchecked == (
        "33 % of the recommended point's sum and 29 % of the baseline's are prices from memory, "
        "which nobody checked."
    )
    assert mixed == "67 % of the recommended point's sum are your own prices, the rest list prices."


def test_prices_of_today_that_were_checked_need_no_note() -> None:
    fresh = replace(GPU, age_years=0.2)
    assert not [*bills.price_notes(document(recommended=(fresh,), baseline=(fresh,)))]


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


def test_what_is_bought_and_stays_idle_is_told() -> None:
    boards = replace(GPU, quantity=8, usd=100_000.0, idle=4)
    (note,) = bills.idle_notes(document(recommended=(boards, HOST), baseline=(GPU,)))
    assert note.startswith("4 of the 8 accelerators in the recommended point's bill stay idle")


def test_every_class_of_prices_has_its_share() -> None:
    used = replace(GPU, price_class=USED, age_years=0.1)
    note = [*bills.price_notes(document(recommended=(OFFER, used, HOST), baseline=(GPU, HOST)))][-1]
    assert note == (
        "36 % of the recommended point's sum are your own prices; 45 % of the recommended point's "
        "sum are prices of used hardware, the rest list prices."
    )


def test_a_line_shows_discount_currency_quote_and_validity() -> None:
    terms = Terms(
        list_usd=12_500.0, discount=0.2, quote="Q-17", converted="EUR at USD 1.08",
        valid_until="2026-10-31", expired=True,
    )  # fmt: skip
    offer = replace(OFFER, terms=terms)
    (table,) = bills.tables(document(recommended=(offer,)))
    assert table.lines[0].price == (
        "quote, 2022-07-01, 37 days old, quotation Q-17, 20 % off USD 12,500.00, EUR at USD "
        "1.08, valid until 2026-10-31, which is past"
    )
    (row,) = csv.DictReader(io.StringIO(bills.bills_csv(document(recommended=(offer,)))))
    assert (row["list_usd"], row["discount"], row["quote"]) == ("12500.0", "0.2", "Q-17")
    assert (row["converted"], row["valid_until"]) == ("EUR at USD 1.08", "2026-10-31")


def test_what_a_bill_leaves_out_is_told() -> None:
    spares = replace(HOST, item="Spares, 10 % of the hardware", extra=True)
    said = bills.left_out(document(recommended=(GPU, spares)))
    assert said == (
        "Not included: racks, storage, management network, support and installation (extras of a "
        "price list)."
    )


def test_that_cables_have_one_price_at_any_length_is_told_where_there_are_spines() -> None:
    spine = replace(HOST, item="Spine switch of 32 ports, 100 Gbps Ethernet")
    one_price = "Every cable of a network has one price, since none by length is known"
    assert one_price in bills.left_out(document(recommended=(GPU, spine)))
    assert one_price not in bills.left_out(document(recommended=(GPU, HOST)))


def test_a_remark_of_a_line_is_in_the_answer() -> None:
    old = replace(GPU, remark="no longer sold new (until 2022)")
    found = [*bills.remark_notes(document(recommended=(GPU,), baseline=(old,)))]
    assert found == ["NVIDIA A100 in the baseline's bill: no longer sold new (until 2022)."]
