"""What the page to sign holds beside the offers."""

from __future__ import annotations

from dataclasses import replace

from dse.catalog.price_terms import LIST, QUOTE
from dse.pricing.bill_of_materials import Item, Terms
from dse.report import signature
from dse.report.certainty import words
from tests.report.certainty.test_certainty import sure
from tests.report.documents import document
from tests.report.test_bills import GPU, HOST, MACHINES, RENT

OLD = "98 % of the recommended point's sum are prices more than 2 years old. Ask for them again."
FEW = "1.7 % of the recommended point's sum are prices from memory, which nobody checked."
GONE = "NVIDIA A100 in the recommended point's bill: no longer sold new (until 2022)."
PAST = "Past their validity on 2026-11-20: host (quotation Q-1). Ask for new offers."
LEFT = "The catalogue has no speed in tf32 for k80 (not supported); these points are left out."
PER_SAMPLE = "Speedup is per sample: larger batches may need more samples to learn as much."


def test_what_weighs_most_comes_first() -> None:
    given = [LEFT, PER_SAMPLE, FEW, OLD, GONE, PAST]
    assert signature.by_weight(given) == [PAST, GONE, OLD, FEW, PER_SAMPLE, LEFT]


def test_a_page_has_room_for_few_notes_and_says_how_many_more() -> None:
    weighed = signature.by_weight([LEFT, PER_SAMPLE, FEW, OLD, GONE, PAST])
    found = signature.signature(document(), weighed)
    assert found.notes == (PAST, GONE, OLD, FEW, PER_SAMPLE)
    assert found.more == 1
    long = f"{GONE} {'Its price is the last list price, since no other is known. ' * 6}".strip()
    (short,) = signature.signature(document(), [long]).notes
    assert short.startswith(GONE)
    assert short.endswith("is known.")
    assert len(short) <= signature.MOST_LETTERS


def test_prices_are_told_by_quotation_and_date_with_their_share_of_the_sum() -> None:
    terms = Terms(quote="Q-7", valid_until="2026-12-31")
    quoted = replace(GPU, usd=90_000.0, price_class=QUOTE, price_date="2026-11-02",
                     source="vendor.csv", terms=terms)  # fmt: skip
    listed = replace(GPU, item="Cable", usd=6_000.0, price_class=LIST, price_date="2024-08-01")
    recalled = replace(HOST, usd=4_000.0)
    site = Item(item="Rack", quantity=1, unit_usd=0.0, usd=0.0, price_class="of the site",
                price_date="", age_years=None, checked=True, source="")  # fmt: skip
    run = replace(document(), bills={"recommended": (recalled, listed, quoted, site)})
    assert signature.signature(run, []).prices == (
        "Quotation Q-7 (vendor.csv, valid until 2026-12-31) of 2026-11-02: 90 % of the sum",
        "List prices (epoch-prices) of 2024-08-01: 6 % of the sum",
        "Prices from memory, not checked: 4 % of the sum",
    )
    gone = replace(quoted, terms=replace(terms, expired=True))
    run = replace(run, bills={"recommended": (gone,)})
    assert "valid until 2026-12-31, which is past)" in signature.signature(run, []).prices[0]


def test_a_rent_is_told_as_it_is_billed_with_its_date() -> None:
    """Not the catalogue's price on demand: that of the term, for the hours that are paid."""
    three_years = replace(RENT, term="3-year")
    item = replace(MACHINES, unit_usd=1.377, usd=27.54, price_date="2026-05", rent=three_years)
    run = replace(document("speedup", "per_run"), bills={"recommended": (item,)})
    said = "Rent of 8 accelerators for 2.5 h at USD 1.38 an hour each, for three years, Nebius"
    assert signature.signature(run, []).prices == (
        said, "Cloud prices (skypilot-nebius) of 2026-05: 100 % of the sum",
    )  # fmt: skip
    own = replace(item, price_class=QUOTE, price_date="", source="vendor.csv",
                  terms=Terms(vendor="Nebius", quote="Q-7"))  # fmt: skip
    assert signature.signature(replace(run, bills={"recommended": (own,)}), []).prices == (
        said, "Quotation Q-7 (vendor.csv) without a date: 100 % of the sum",
    )  # fmt: skip
    recalled = replace(item, checked=False)
    assert signature.signature(replace(run, bills={"recommended": (recalled,)}), []).prices == (
        said, "Prices from memory of 2026-05, not checked: 100 % of the sum",
    )  # fmt: skip
    purchase = replace(run, bills={"recommended": (GPU, HOST)})
    assert signature.signature(purchase, []).prices == (), "an older version noted a purchase"


def test_limits_and_turning_prices_are_there() -> None:
    found = signature.signature(sure(), [])
    assert found.limits == ("capital <= 1.2 MUSD (88 %)",)
    assert found.flips == (words.flip_lines(sure())[0],)
    (none,) = signature.signature(sure(flips=()), []).flips
    assert none.startswith("No price alone")
    assert signature.signature(document(), []).flips == ()
