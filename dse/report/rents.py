"""The bill of a rent in words: what its sum is, which hours it pays, on what terms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dse.pricing.bill_of_materials import Item, Rent
from dse.report.words import UNKNOWN, duration, many, significant
from dse.spelling import enumerated
from dse.study.quantities import SECONDS_PER_HOUR

# How machines are rented.
_TERMS = {
    "on-demand": "on demand",
    "1-year": "for one year",
    "3-year": "for three years",
    "spot": "on the spot market",
}
_LEAST_S = 0.5  # a shorter part of the time is not worth a word
_DIGITS = 6  # of hours, so that the sum can be checked


def sum_of(rent: Rent | None) -> str:
    """What the sum of a bill is."""
    if rent is None:
        return "Purchase price"
    return "Rent of an hour" if rent.training_hours is None else "Cost of a run"


def term(name: str) -> str:
    """A term of renting in words: ``on demand``, ``for one year``."""
    return _TERMS.get(name, name)


def hours(value: float | None) -> str:
    """``2.61194 h``."""
    if value is None:
        return UNKNOWN
    return f"{significant(value, _DIGITS)} h"


def billed(rent: Rent | None) -> str:
    """Which hours are paid, in a sentence; empty where nothing is rented, or just for an hour."""
    if rent is None or rent.training_hours is None or rent.hours is None:
        return ""
    parts = {
        "of training": rent.training_hours,
        "lost to failures and checkpoints": rent.lost_hours,
        "of start-up": rent.start_up_hours,
        "to the least or next whole amount that is billed": rent.rounding_hours,
    }
    told = [
        f"{duration(value * SECONDS_PER_HOUR)} {what}"
        for what, value in parts.items()
        if value is not None and value * SECONDS_PER_HOUR >= _LEAST_S
    ]
    return f"{duration(rent.hours * SECONDS_PER_HOUR)} are paid: {enumerated(told or ['nothing'])}."


def said(items: Iterable[Item], config: Mapping[str, str]) -> list[str]:
    """``8 machines for 23.9 min at USD 44.00 an hour each, on demand``, of a bill of rent; nothing
    where all is bought. config: of the point that it is the bill of."""
    rented = [(item, item.rent) for item in items if item.rent and item.unit_usd is not None]
    if not rented:
        return []
    item, rent = rented[0]
    lasts = ""
    if rent.training_hours is not None and rent.hours is not None:
        lasts = f" for {duration(rent.hours * SECONDS_PER_HOUR)}"
    each = " each" * (item.quantity > 1)
    what = "accelerator" if config.get("accelerator") else "machine"
    seller = f", {item.terms.vendor}" if item.terms and item.terms.vendor else ""
    return [
        f"{many(item.quantity, what)}{lasts} at "
        f"USD {item.unit_usd:,.2f} an hour{each}, {term(rent.term)}{seller}"
    ]
