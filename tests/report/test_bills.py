"""Bills of materials in the report."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import replace

from dse import catalog
from dse.catalog.price_terms import CLOUD, LIST, QUOTE, USED
from dse.pricing.bill_of_materials import Item, Rent, Terms
from dse.report import answer, bills, rents
from dse.report.document import RunDocument
from dse.report.notes import Note
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


def texts(notes: Iterable[Note]) -> list[str]:
    return [note.text for note in notes]


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


def test_old_unchecked_and_mixed_prices_are_told_with_their_share() -> None:
    old, unchecked, mixed = texts(
        bills.price_notes(document(recommended=(OFFER, HOST), baseline=(GPU, HOST)))
    )
    assert old == (
        "71 % of the baseline's sum are prices more than 2 years old, and prices lie up to 4.3 "
        "years apart. Ask for them again."
    )
    assert unchecked == (
        "33 % of the recommended point's sum and 29 % of the baseline's are prices that "
        "nobody checked."
    )
    assert mixed == "67 % of the recommended point's sum are your own prices, the rest list prices."


def test_a_difference_of_sums_whose_prices_lie_years_apart_is_not_told_bare() -> None:
    """The parts that weigh most count, not a host that both pay."""

    def costs(recommended: Item, baseline: Item) -> str:
        run = document(recommended=(recommended, HOST), baseline=(baseline, HOST))
        (line,) = [line for line in answer.said(run) if " to buy against " in line]
        return line

    assert costs(OFFER, GPU).count(", at prices 4.3 years apart.") == 1
    assert "years apart" not in costs(GPU, GPU)
    assert "years apart" not in costs(OFFER, replace(OFFER, item="another"))
    assert "years apart" not in costs(OFFER, replace(GPU, age_years=1.9))
    assert "years apart" not in costs(OFFER, replace(GPU, age_years=None))
    run = document(recommended=(OFFER,), baseline=(GPU,))
    powered = replace(run, objectives=replace(run.objectives, minimize="power"))
    assert not any("years apart" in line for line in answer.said(powered))


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
    dated = replace(GPU, age_years=7.846680355920602)
    (row,) = csv.DictReader(io.StringIO(bills.bills_csv(document(recommended=(dated,)))))
    assert row["age_years"] == "7.85"


def test_what_is_bought_and_stays_idle_is_told() -> None:
    boards = replace(GPU, quantity=8, usd=100_000.0, idle=4)
    (note,) = texts(bills.idle_notes(document(recommended=(boards, HOST), baseline=(GPU,))))
    assert note.startswith("4 of the 8 accelerators in the recommended point's bill stay idle")


def test_every_class_of_prices_has_its_share() -> None:
    used = replace(GPU, price_class=USED, age_years=0.1)
    run = document(recommended=(OFFER, used, HOST), baseline=(GPU, HOST))
    note = texts(bills.price_notes(run))[-1]
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
        "price list); freight and taxes."
    )


def test_that_cables_have_one_price_at_any_length_is_told_where_there_are_spines() -> None:
    spine = replace(HOST, item="Spine switch of 32 ports, 100 Gbps Ethernet")
    one_price = "Every cable of a network has one price, since none by length is known"
    assert one_price in bills.left_out(document(recommended=(GPU, spine)))
    assert one_price not in bills.left_out(document(recommended=(GPU, HOST)))


def test_a_remark_of_a_line_is_in_the_answer() -> None:
    old = replace(GPU, remark="no longer sold new (until 2022)")
    found = texts(bills.remark_notes(document(recommended=(GPU,), baseline=(old,))))
    assert found == ["NVIDIA A100 in the baseline's bill: no longer sold new (until 2022)."]


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


def test_one_hour_is_paid_and_a_commitment_pays_the_hours_between_runs() -> None:
    hour = replace(RENT, hours=1.0, training_hours=0.25, lost_hours=0.0, start_up_hours=0.0)
    idle = replace(hour, term="1-year", idle_hours=0.75)
    table = bills.tables(rented(replace(MACHINES, rent=idle)))[0]
    assert "1 h is paid: 15 min of training and 45 min not in use, which a com" in table.note


def test_a_bill_of_rent_says_which_hours_it_pays() -> None:
    table = bills.tables(rented(MACHINES))[0]
    assert (table.rented, table.sum_of, table.total) == (True, "Cost of a run", "USD 880.00")
    assert table.note == (
        "2.5 h are paid: 2 h of training, 15 min lost to failures and checkpoints and 15 min of "
        "start-up."
    )
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


def test_rents_without_a_date_or_of_old_ones_are_told_in_the_answer_and_on_the_card() -> None:
    run = rented(MACHINES)
    assert texts(bills.bill_notes(run)) == [
        "100 % of the recommended point's sum and 100 % of the baseline's are rents of which no "
        "date is known. Ask for them again."
    ]
    assert bills.priced_in(run, run.recommended) == [
        "8 accelerators for 2.5 h at USD 44.00 an hour each, on demand, from Nebius",
        "price without a date",
    ]  # fmt: skip
    old = rented(replace(MACHINES, price_date="2018-09", age_years=8.2))
    (note,) = texts(bills.bill_notes(old))
    assert note.endswith("are prices more than 2 years old. Ask for them again.")
    assert bills.priced_in(old, old.recommended)[1] == "price of 2018-09"


def test_what_is_rented_by_the_accelerator_is_counted_in_accelerators() -> None:
    run, point = rented(MACHINES), {"accelerator": "h100-sxm-80gb"}
    assert rents.said(run.bills["recommended"], {"node": "dgx-b200"})[0].startswith("8 machines ")
    assert rents.said(run.bills["recommended"], point)[0].startswith("8 accelerators for 2.5 h ")
    one = replace(MACHINES, quantity=1, rent=Rent(term="spot", hours=1.0))
    assert rents.said([one], point) == [
        "1 accelerator at USD 44.00 an hour, on the spot market, from Nebius"
    ]


def test_the_answer_names_who_rents_the_machines_out_and_of_when_that_price_is() -> None:
    asked = "Rented from Nebius: 8 x NVIDIA DGX B200 at USD 44.00 an hour each, on demand, "
    machines = replace(MACHINES, item="NVIDIA DGX B200", source="skypilot-nebius")
    line = f"{asked}a catalogue price of an unknown day."
    assert line in answer.said(rented(machines))
    dated = replace(machines, price_date="2026-11-09")
    assert rents.from_whom([dated]) == [f"{asked}a catalogue price of 2026-11-09."]
    own = replace(dated, source="vendor-a.csv")
    assert rents.from_whom([own]) == [f"{asked}your price of 2026-11-09."]
    assert rents.from_whom([replace(machines, terms=None)]) == [], "nobody knows"
    assert rents.from_whom([GPU]) == [], "what is bought is not rented"


def test_a_quotation_of_hosts_that_prices_those_of_other_machines_too_is_told() -> None:
    host = replace(HOST, item="Host for accelerators", price_class=QUOTE, source="vendor-a.csv",
                   checked=True, terms=Terms(quote="Q-1"))  # fmt: skip
    old = replace(GPU, item="NVIDIA P100, sold in units of 4")
    server = replace(host, item="Host for a parameter server")
    run = document(recommended=(OFFER, host), baseline=(old, host, server))
    told = (
        "The host quotation Q-1 (vendor-a.csv) prices the hosts of NVIDIA A100, NVIDIA P100 and "
        "parameter servers alike. Check that it covers each of them; a price list may give the "
        "hosts of an accelerator their own price (host)."
    )
    assert told in texts(bills.bill_notes(run))
    apart = document(recommended=(OFFER, replace(host, item="Host for NVIDIA A100")),
                     baseline=(old, host))  # fmt: skip
    assert texts(bills.host_notes(apart)) == [], "one has a price of its own"
    same = document(recommended=(OFFER, host), baseline=(GPU, host))
    assert texts(bills.host_notes(same)) == [], "all are of one accelerator"
    other = replace(host, terms=Terms(quote="Q-2"))
    apart = document(recommended=(OFFER, host), baseline=(old, other))
    assert texts(bills.host_notes(apart)) == [], "each has its own quotation"


def test_every_rent_of_the_catalogue_says_who_asks_it() -> None:
    listed = {node.name: node.hourly_usd for node in map(catalog.node, catalog.names("nodes"))}
    listed |= catalog.default_prices().accelerator_hourly_usd
    assert [name for name, fact in listed.items()
            if fact and fact.value and not (fact.offer and fact.offer.vendor)] == []  # fmt: skip


def test_a_rented_cluster_leaves_out_what_a_cloud_charges_beside() -> None:
    assert bills.left_out(rented(MACHINES)) == (
        "Not included: storage, data that leaves the cloud, support, and taxes."
    )
    idle = replace(MACHINES, item="NVIDIA H100", quantity=16, idle=8)
    assert "fewer are not rented out (rented_in)" in next(bills.idle_notes(rented(idle))).text


def test_the_purchase_that_an_older_version_noted_of_a_rent_is_not_compared() -> None:
    assert not list(bills.bill_notes(rented(GPU, HOST)))
