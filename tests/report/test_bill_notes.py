"""What an answer says of its bills: old prices, mixed ones, idle parts."""

from __future__ import annotations

from dataclasses import replace

from dse.catalog.price_terms import QUOTE, USED
from dse.pricing.bill_of_materials import Item, Terms
from dse.report import answer, bill_notes, bills
from tests.report.test_bills import GPU, HOST, MACHINES, OFFER, document, rented, texts


def test_old_unchecked_and_mixed_prices_are_told_with_their_share() -> None:
    old, unchecked, mixed = texts(
        bill_notes.price_notes(document(recommended=(OFFER, HOST), baseline=(GPU, HOST)))
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
    assert not [*bill_notes.price_notes(document(recommended=(fresh,), baseline=(fresh,)))]


def test_what_is_bought_and_stays_idle_is_told() -> None:
    boards = replace(GPU, quantity=8, usd=100_000.0, idle=4)
    (note,) = texts(bill_notes.idle_notes(document(recommended=(boards, HOST), baseline=(GPU,))))
    assert note.startswith("4 of the 8 accelerators in the recommended point's bill stay idle")


def test_every_class_of_prices_has_its_share() -> None:
    used = replace(GPU, price_class=USED, age_years=0.1)
    run = document(recommended=(OFFER, used, HOST), baseline=(GPU, HOST))
    note = texts(bill_notes.price_notes(run))[-1]
    assert note == (
        "36 % of the recommended point's sum are your own prices; 45 % of the recommended point's "
        "sum are prices of used hardware, the rest list prices."
    )


def test_a_remark_of_a_line_is_in_the_answer() -> None:
    old = replace(GPU, remark="no longer sold new (until 2022)")
    found = texts(bill_notes.remark_notes(document(recommended=(GPU,), baseline=(old,))))
    assert found == ["NVIDIA A100 in the baseline's bill: no longer sold new (until 2022)."]


def test_rents_without_a_date_or_of_old_ones_are_told_in_the_answer_and_on_the_card() -> None:
    run = rented(MACHINES)
    assert texts(bill_notes.bill_notes(run)) == [
        "100 % of the recommended point's sum and 100 % of the baseline's are rents of which no "
        "date is known. Ask for them again."
    ]
    assert bills.priced_in(run, run.recommended) == [
        "8 accelerators for 2.5 h at USD 44.00 an hour each, on demand, from Nebius",
        "price without a date",
    ]  # fmt: skip
    old = rented(replace(MACHINES, price_date="2018-09", age_years=8.2))
    (note,) = texts(bill_notes.bill_notes(old))
    assert note.endswith("are prices more than 2 years old. Ask for them again.")
    assert bills.priced_in(old, old.recommended)[1] == "price of 2018-09"


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
    assert told in texts(bill_notes.bill_notes(run))
    apart = document(recommended=(OFFER, replace(host, item="Host for NVIDIA A100")),
                     baseline=(old, host))  # fmt: skip
    assert texts(bill_notes.host_notes(apart)) == [], "one has a price of its own"
    same = document(recommended=(OFFER, host), baseline=(GPU, host))
    assert texts(bill_notes.host_notes(same)) == [], "all are of one accelerator"
    other = replace(host, terms=Terms(quote="Q-2"))
    apart = document(recommended=(OFFER, host), baseline=(old, other))
    assert texts(bill_notes.host_notes(apart)) == [], "each has its own quotation"


def test_a_rented_cluster_leaves_out_what_a_cloud_charges_beside() -> None:
    assert bills.left_out(rented(MACHINES)) == (
        "Not included: storage, data that leaves the cloud, support, and taxes."
    )
    idle = replace(MACHINES, item="NVIDIA H100", quantity=16, idle=8)
    assert "fewer are not rented out (rented_in)" in next(bill_notes.idle_notes(rented(idle))).text


def test_a_bill_of_two_sellers_is_told_and_what_one_gives_with_the_others_machine() -> None:
    def sold(name: str, usd: float, vendor: str) -> Item:
        return replace(OFFER, item=name, unit_usd=usd, usd=usd * OFFER.quantity,
                       source="offers.csv", terms=Terms(vendor=vendor))  # fmt: skip

    machine, cable = sold("NVIDIA DGX B200", 4e5, "North"), sold("Cable, NDR", 900.0, "Mega")
    card = sold("Network card, NDR", 0.0, "Mega")
    (two,) = texts(bill_notes.seller_notes(document(recommended=(machine, card, cable))))
    assert two == (
        "What is recommended is of several sellers' offers. From North: NVIDIA DGX B200. From "
        "Mega: Network card, NDR; Cable, NDR. Network card, NDR is counted at USD 0 from Mega, who "
        "does not sell the machine that it comes with. Ask whether each sells its parts alone, and "
        "whether they fit."
    )
    own = replace(card, terms=Terms(vendor="North"))
    assert not [*bill_notes.seller_notes(document(recommended=(machine, own)))]
