"""On which days prices are old and offers past."""

from __future__ import annotations

import datetime
from dataclasses import replace
from pathlib import Path

import dse
from dse.catalog import default_prices
from dse.catalog.price_terms import QUOTE
from dse.pricing.bill_of_materials import Item
from dse.report import price_days
from dse.report.answer import answer
from dse.report.document import PriceDays, RunDocument
from dse.report.markdown import render_markdown
from dse.report.page import render_page
from tests.pricing.studies import SMALL, written
from tests.report import documents
from tests.report.test_bills import GPU, HOST

DAYS = PriceDays(ages="2026-11-16", offers="2026-11-26")
AGES = "Ages of prices are those on 2026-11-16, the day of the price list"
OFFER = replace(GPU, price_class=QUOTE, source="vendor.csv")


def of(*bill: Item, days: PriceDays | None = DAYS) -> RunDocument:
    bills = {"recommended": bill, "baseline": (HOST,)}
    return replace(documents.document(), bills=bills, price_days=days)


def test_the_days_are_told_where_a_price_has_an_age() -> None:
    assert price_days.said(of(GPU)) == [f"{AGES}."]
    assert price_days.said(of(OFFER)) == [
        f"{AGES}; offers must be valid on 2026-11-26, the day of this run."
    ]
    same = replace(DAYS, offers=DAYS.ages)
    assert price_days.said(of(OFFER, days=same)) == [f"{AGES}, on which offers must be valid."]
    older = replace(DAYS, ages="2020-01-01", offers="2020-01-01")
    (line,) = price_days.said(of(GPU, days=older))
    assert "2020-01-01, the day of the price list (newer prices count as if they were" in line
    assert price_days.said(of(HOST)) == []
    assert price_days.said(of(GPU, days=None)) == []
    assert f"Note: {AGES}." in answer(of(GPU))


def test_they_are_those_by_which_a_run_counts(tmp_path: Path) -> None:
    """Of an own list that names its day, that day for both."""
    study = dse.load_study(written(tmp_path, SMALL))
    found = study.search().document
    listed = default_prices().as_of
    assert found.price_days == PriceDays(
        ages=str(listed), offers=str(max(listed, datetime.date.today()))
    )
    told = f"Ages of prices are those on {listed}, the day of the price list"
    assert render_markdown(found).count(told) == 2  # among the notes, and with the bills
    assert render_page(found).count(told) >= 2
    listed_then = "prices: {as_of: 2026-10-01, host: 9000 USD}\n"
    own = dse.load_study(written(tmp_path, SMALL + listed_then))
    assert own.search().document.price_days == PriceDays(ages="2026-10-01", offers="2026-10-01")
