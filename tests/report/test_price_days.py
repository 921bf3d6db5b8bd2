"""On which days prices are old and offers past."""

from __future__ import annotations

from dataclasses import replace

from dse.catalog.price_terms import QUOTE
from dse.pricing.bill_of_materials import Item
from dse.report.document import PriceDays, RunDocument
from tests.report import documents
from tests.report.test_bills import GPU, HOST

DAYS = PriceDays(ages="2026-11-16", offers="2026-11-26")
AGES = "Ages of prices are those on 2026-11-16, the day of the price list"
OFFER = replace(GPU, price_class=QUOTE, source="vendor.csv")


def of(*bill: Item, days: PriceDays | None = DAYS) -> RunDocument:
    bills = {"recommended": bill, "baseline": (HOST,)}
    return replace(documents.document(), bills=bills, price_days=days)
