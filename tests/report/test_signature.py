"""What the page to sign holds beside the offers."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple
from unittest.mock import Mock

import pytest

from dse.catalog.price_terms import LIST, QUOTE
from dse.catalog.prices import NEVER
from dse.pricing import caveats, market, price_doubts
from dse.pricing.bill_of_materials import OF_SITE, UNSOLD, Item, Terms, bill_of_materials
from dse.pricing.load import load
from dse.pricing.problem import Problem
from dse.report import answer, bill_notes, signature, training_runs
from dse.report.assembly import baseline_misses
from dse.report.certainty import price_flips
from dse.report.document import RunDocument
from dse.report.json_form import parsed, plain
from dse.report.markdown import render_markdown
from dse.report.notes import EXPIRED, LEFT_OUT, Note, by_weight
from dse.report.page import render_page
from tests.pricing import studies
from tests.report.certainty.test_certainty import sure
from tests.report.documents import document
from tests.report.test_bills import GPU, HOST, MACHINES, RENT

OFFERS = "prices: {as_of: 2026-11-20, host: {value: 9 kUSD, quote: Q-1, valid_until: 2026-11-19}}\n"


@pytest.fixture(scope="module")
def problem(tmp_path_factory: pytest.TempPathFactory) -> Problem:
    """Whose accelerators are no longer sold, one without a precision, with an offer that is past
    and a baseline without the memory."""
    text = studies.SMALL.replace("precision: [fp32, fp16]", "precision: [fp32, bf16]")
    text = text.replace("batch_per_gpu: 32, precision", "batch_per_gpu: 4096, precision")
    text = text.replace("[fits_memory, ", "[").replace(", v100-sxm2-16gb]", ", a10]")
    return load(
        studies.written(tmp_path_factory.mktemp("notes"), f"{text}memory: ignore\n{OFFERS}")
    )


class Notes(NamedTuple):
    """As the functions write them that notes are from, the weightiest first."""

    short: Note
    past: Note
    gone: Note
    apart: Note
    old: Note
    few: Note
    per_sample: Note
    left: Note


@pytest.fixture(scope="module")
def notes(problem: Problem) -> Notes:
    (past,) = price_doubts.expired(problem)
    gone = bill_of_materials(problem.points_at(problem.study.baseline.values))[0]
    base = replace(document().baseline, misses=baseline_misses(problem))
    short = answer.notes(replace(document(), baseline=base))[0]
    (remark,) = bill_notes.remark_notes(bought(gone))
    old, few = bill_notes.price_notes(bought(replace(GPU, usd=1e6), HOST))
    (apart,) = bill_notes.price_notes(
        replace(document(), bills={"recommended": (replace(GPU, usd=1e6, age_years=0.1),),
                                   "baseline": (GPU,)})
    )  # fmt: skip
    (left,) = caveats.unsupported(problem)
    (per_sample,) = training_runs.per_sample(document())
    return Notes(
        short, Note(past, EXPIRED), remark, apart, old, few,
        Note(per_sample), Note(left, LEFT_OUT),
    )  # fmt: skip


def bought(*items: Item) -> RunDocument:
    run = document()
    return replace(run, baseline=run.recommended, bills={"recommended": items})


def test_what_weighs_most_comes_first(notes: Notes) -> None:
    """As the functions that write the notes mark them."""
    assert by_weight(notes[::-1]) == [*notes]


def test_the_answer_and_the_page_tell_notes_in_one_order(notes: Notes) -> None:
    """An offer past its last day is not the last thing that a terminal says."""
    bills_of = {"recommended": (replace(GPU, usd=1e6),)}
    caveats_of = (notes.left, notes.per_sample, notes.past)
    run = replace(document(), bills=bills_of, caveats=caveats_of)
    told = [one.text for one in answer.notes(run)]
    assert told[0] == notes.past.text
    assert told[-1] == notes.left.text
    lines = [line for line in answer.answer(run) if line.startswith("Note: ")]
    assert lines == [f"Note: {text}" for text in told]
    text = render_markdown(run)
    places = [text.index(one[:60]) for one in (notes.past.text, notes.left.text)]
    assert places == sorted(places)


def test_what_is_only_for_rent_weighs_as_what_is_gone(notes: Notes) -> None:
    machine = Mock(sold_until=Mock(text=NEVER))
    item = replace(GPU, remark=market.remark(machine), obstacle=UNSOLD)
    (note,) = bill_notes.remark_notes(bought(item))
    assert by_weight([notes.apart, note])[0] == note


def test_notes_are_read_as_they_were_written(notes: Notes) -> None:
    again = parsed(RunDocument, plain(replace(document(), caveats=(notes.past,))))
    assert again.caveats == (notes.past,)


def test_prices_are_told_by_quotation_and_date_with_their_share_of_the_sum() -> None:
    terms = Terms(quote="Q-7", valid_until="2026-12-31")
    quoted = replace(GPU, usd=90_000.0, price_class=QUOTE, price_date="2026-11-02",
                     source="vendor.csv", terms=terms)  # fmt: skip
    listed = replace(GPU, item="Cable", usd=6_000.0, price_class=LIST, price_date="2024-08-01")
    recalled = replace(HOST, usd=4_000.0)
    site = Item(item="Rack", quantity=1, unit_usd=0.0, usd=0.0, price_class="of the site",
                price_date="", age_years=None, checked=True, source="")  # fmt: skip
    run = replace(document(), bills={"recommended": (recalled, listed, quoted, site)})
    assert signature.signature(run).prices == (
        "Quotation Q-7 (vendor.csv, valid until 2026-12-31) of 2026-11-02: 90 % of the sum",
        "List prices (epoch-prices) of 2024-08-01: 6 % of the sum",
        "Prices, not checked: 4 % of the sum",
    )
    gone = replace(quoted, terms=replace(terms, expired=True))
    run = replace(run, bills={"recommended": (gone,)})
    assert "valid until 2026-12-31, which is past)" in signature.signature(run).prices[0]
    old = replace(quoted, terms=Terms(quote="Q-7", expired=True))
    run = replace(run, bills={"recommended": (old,)})
    assert (
        "Quotation Q-7 (vendor.csv, too old to be an offer)" in signature.signature(run).prices[0]
    )


def test_what_is_ordered_is_told_with_its_sums_the_largest_first() -> None:
    """By hand: what is owned is not ordered, nor is the site's rack; the rest is counted."""
    site = replace(HOST, item="Rack", usd=0.0, price_class=OF_SITE)
    unknown = replace(HOST, item="Cooling", quantity=2, unit_usd=None, usd=None)
    small = [replace(HOST, item=f"Part {at}", quantity=3, usd=10.25 + at) for at in range(4)]
    owned = replace(GPU, quantity=6, owned=2, boards="one board")
    stands = replace(HOST, item="Old host", owned=1)
    run = replace(document(), bills={"recommended": (HOST, *small, site, unknown, owned, stands)})
    assert signature.signature(run).order == (
        "2 x Cooling (unknown)", "4 x NVIDIA A100 on one board (USD 50,000.00)",
        "1 x Host (USD 20,000.00)", "3 x Part 3 (USD 13.25)", "3 x Part 2 (USD 12.25)",
        "2 smaller items (USD 21.50)",
    )  # fmt: skip
    page = render_page(replace(run, bills={"recommended": (GPU, HOST)})).replace("\xa0", " ")
    order = "4 x NVIDIA A100 (USD 50,000.00); 1 x Host (USD 20,000.00)."
    assert f"<p><b>To buy:</b> {order}</p>" in page
    rents = replace(document("speedup", "per_run"), bills={"recommended": (MACHINES,)})
    assert signature.signature(rents).order == ()
    assert "<b>To buy:</b>" not in render_page(rents)


def test_a_rent_is_told_as_it_is_billed_with_its_date() -> None:
    """Not the catalogue's price on demand: that of the term, for the hours that are paid."""
    three_years = replace(RENT, term="3-year")
    item = replace(MACHINES, unit_usd=1.377, usd=27.54, price_date="2026-05", rent=three_years)
    run = replace(document("speedup", "per_run"), bills={"recommended": (item,)})
    said = "Rent of 8 accelerators for 2.5 h at USD 1.38 an hour each, for three years, from Nebius"
    assert signature.signature(run).prices == (
        said, "Cloud prices (skypilot-nebius) of 2026-05: 100 % of the sum",
    )  # fmt: skip
    own = replace(item, price_class=QUOTE, price_date="", source="vendor.csv",
                  terms=Terms(vendor="Nebius", quote="Q-7"))  # fmt: skip
    assert signature.signature(replace(run, bills={"recommended": (own,)})).prices == (
        said, "Quotation Q-7 (vendor.csv) without a date: 100 % of the sum",
    )  # fmt: skip
    recalled = replace(item, checked=False)
    assert signature.signature(replace(run, bills={"recommended": (recalled,)})).prices == (
        said, "Prices of 2026-05, not checked: 100 % of the sum",
    )  # fmt: skip
    purchase = replace(run, bills={"recommended": (GPU, HOST)})
    assert signature.signature(purchase).prices == (), "an older version noted a purchase"


def test_limits_and_turning_prices_are_there() -> None:
    found = signature.signature(sure())
    assert found.limits == ("fits_memory (in the best estimate)", "capital <= 1.2 MUSD (88 %)")
    assert found.flips == (price_flips.flip_lines(sure())[0],)
    (none,) = signature.signature(sure(flips=())).flips
    assert none.startswith("No price alone")
    assert signature.signature(document()).flips == ()


def test_what_the_price_leaves_out_stands_on_the_page_to_sign() -> None:
    found = replace(document(), bills={"recommended": (GPU, HOST)})
    signed = render_page(found).partition('<div class="sign">')[2].partition("</dl>")[0]
    assert "freight and taxes." in signed
    assert signed.index("Not included: ") < signed.index("<dt>Signature</dt>")
