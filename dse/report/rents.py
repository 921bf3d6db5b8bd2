"""The bill of a rent in words: what its sum is, which hours it pays, on what terms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import ceil

from dse import catalog
from dse.model.ownership import HOURS_PER_YEAR
from dse.pricing.bill_of_materials import Item, Rent
from dse.report.words import UNKNOWN, duration, many, percent, significant
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
_ROUNDING = 1e-9  # a share of a term; what is over by less needs no other


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
        "not in use, which a commitment pays, too": rent.idle_hours,
    }
    told = [
        f"{duration(value * SECONDS_PER_HOUR)} {what}"
        for what, value in parts.items()
        if value is not None and value * SECONDS_PER_HOUR >= _LEAST_S
    ]
    paid = duration(rent.hours * SECONDS_PER_HOUR)
    are = "is" if paid.split()[0] == "1" else "are"
    return f"{paid} {are} paid: {enumerated(told or ['nothing'])}."


def said(items: Iterable[Item], config: Mapping[str, str]) -> list[str]:
    """``8 machines for 23.9 min at USD 44.00 an hour each, on demand, from Nebius``, of a bill of
    rent; nothing where all is bought. config: of the point that it is the bill of."""
    found = _rented(items)
    if found is None:
        return []
    item, rent = found
    lasts = ""
    if rent.training_hours is not None and rent.hours is not None:
        lasts = f" for {duration(rent.hours * SECONDS_PER_HOUR)}"
    what = "accelerator" if config.get("accelerator") else "machine"
    seller = f", from {_seller(item)}" if _seller(item) else ""
    return [f"{many(item.quantity, what)}{lasts} at {_price(item, rent)}{seller}"]


def from_whom(items: Iterable[Item]) -> list[str]:
    """``Rented from Nebius: 8 x NVIDIA DGX B200 at USD 44.00 an hour each, on demand, a catalogue
    price of an unknown day``, of a bill of rent; nothing where no seller is known."""
    found = _rented(items)
    if found is None or not _seller(found[0]):
        return []
    item, rent = found
    listed = "a catalogue price" if item.source in catalog.sources() else "your price"
    what = item.item.partition(",")[0]
    return [
        f"Rented from {_seller(item)}: {item.quantity:,} x {what} at {_price(item, rent)}, "
        f"{listed} of {item.price_date or 'an unknown day'}."
    ]


def committed(items: Iterable[Item]) -> str:
    """What a commitment costs beside what a run is charged of it, as a clause: ``USD 481,800 are
    committed over the year, of which this run is charged 37 days``; empty of another term, and
    where the run takes the whole of one. What is charged more hours than a term has needs several.
    """
    found = _rented(items)
    if found is None or found[1].committed_hours is None:
        return ""
    item, rent = found
    assert item.unit_usd is not None
    assert rent.committed_hours is not None
    charged = rent.hours if rent.training_hours is not None and rent.hours is not None else 0.0
    terms = max(ceil(charged / rent.committed_hours * (1 - _ROUNDING)), 1)
    usd = item.quantity * item.unit_usd * rent.committed_hours * terms
    years = round(rent.committed_hours / HOURS_PER_YEAR)
    over = "the year" if years == 1 else f"the {years} years"
    if terms > 1:
        length = "a year" if years == 1 else f"{years} years"
        over = f"{terms} terms of {length} each at today's price"
    paid = f"USD {usd:,.0f} are committed over {over}"
    if not charged:
        return paid
    if charged >= terms * rent.committed_hours * (1 - _ROUNDING):
        return f"{paid}, which this run takes whole" if terms > 1 else ""
    return f"{paid}, of which this run is charged {duration(charged * SECONDS_PER_HOUR)}"


def commitment(items: Iterable[Item], use: float) -> list[str]:
    """The same in a sentence, with what that takes for granted. use: share of all hours in which
    the study says that machines are in use."""
    clause = committed(items)
    return [f"{clause}{_others(clause, use)}."] if clause else []


def _others(clause: str, use: float) -> str:
    """Who pays the rest of a commitment."""
    if "of which" not in clause:
        return ""
    if use == 1:
        return ": other work must fill the rest of the time, else its rent is lost"
    return f", as machines are in use {percent(use)} of the time: other work pays the rest"


def _rented(items: Iterable[Item]) -> tuple[Item, Rent] | None:
    """The machines of a bill of rent; None where all is bought, or no price is known."""
    return next(
        ((item, item.rent) for item in items if item.rent and item.unit_usd is not None), None
    )


def _seller(item: Item) -> str:
    return item.terms.vendor if item.terms else ""


def _price(item: Item, rent: Rent) -> str:
    """``USD 44.00 an hour each, on demand``."""
    each = " each" * (item.quantity > 1)
    return f"USD {item.unit_usd:,.2f} an hour{each}, {term(rent.term)}"
