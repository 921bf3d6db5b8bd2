"""What the page to sign holds beside the offers and the notes: what is ordered, whose prices they
are, the limits, and what would change the answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf

from dse.catalog.price_terms import ESTIMATE, QUOTE
from dse.pricing.bill_of_materials import OF_SITE, Item
from dse.report import bills, money, words
from dse.report.certainty import words as certainty_words
from dse.report.certainty.price_flips import turn_lines
from dse.report.deal import buys
from dse.report.document import RunDocument

MOST_ITEMS = 5  # of the bill
MOST_LINES = 5  # of prices
_KINDS = {QUOTE: "your own", ESTIMATE: "estimated"}  # of prices, where their class is no adjective
MOST_TURNS = 3  # prices that would change the answer


@dataclass(frozen=True)
class Signature:
    """order: the largest items of what is bought, each with its sum; empty where a study rents.
    limits: each with the probability that it is met; prices: where those of the recommended offer
    are from and of what dates; flips: which prices would change the answer, where nothing that
    keeps it from being signed says so."""

    order: tuple[str, ...]
    limits: tuple[str, ...]
    prices: tuple[str, ...]
    flips: tuple[str, ...]


def signature(document: RunDocument) -> Signature:
    """The page of a run that is signed."""
    ready = document.readiness is None or document.readiness.ready
    return Signature(
        order=tuple(_order(document)),
        limits=tuple(certainty_words.limits(document)),
        prices=tuple([*_prices(document)][:MOST_LINES]),
        flips=tuple(turn_lines(document)[:MOST_TURNS]) if ready else (),
    )


def _order(document: RunDocument) -> Iterator[str]:
    """What is bought for the recommended offer, what costs most and what has no price first:
    ``8 x NVIDIA A100 SXM4 40 GB (USD 100,000.00, offer expired on 2026-11-10)``; what does not fit
    is counted."""
    if not buys(document):
        return
    items = [item for item in document.bills.get("recommended", ())
             if item.rent is None and item.to_buy and item.price_class != OF_SITE]  # fmt: skip
    items.sort(key=lambda item: -inf if item.usd is None else -item.usd)
    for item in items[:MOST_ITEMS]:
        paid = ", ".join(filter(None, [bills.to_the_cent(item.usd), bills.past(item)]))
        yield f"{item.to_buy:,} x {bills.ordered(item)} ({paid})"
    if rest := items[MOST_ITEMS:]:
        gone = ", some by offers that have expired" * any(map(bills.past, rest))
        paid = f"{bills.to_the_cent(bills.total(rest))}{gone}"
        yield f"{words.many(len(rest), 'smaller item')} ({paid})"


def _prices(document: RunDocument) -> Iterator[str]:
    """What is rented, and the quotations and lists behind the recommended offer, the largest part
    of the sum first; nothing of the purchase that an older version noted where a study rents."""
    bill = document.bills.get("recommended", ())
    if not buys(document) and not bills.rent_of(bill):
        return
    yield from (f"Rent of {said}" for said in money.rented(bill, document.recommended.config))
    yield from bills.commitment(document)
    items = [item for item in bill if item.usd and item.price_class != OF_SITE]
    whole = sum(item.usd or 0.0 for item in items)
    groups: dict[str, list[Item]] = {}
    for item in items:
        groups.setdefault(_offered(item), []).append(item)
    sums = {name: sum(item.usd or 0.0 for item in own) for name, own in groups.items()}
    for name in sorted(groups, key=lambda name: -sums[name]):
        unchecked = ", not checked" * any(not item.checked for item in groups[name])
        of_sum = words.percent(sums[name] / whole)
        yield f"{name}{_dates(groups[name])}{unchecked}: {of_sum} of the sum"


def _offered(item: Item) -> str:
    """Whose price it is: ``Quotation A-2041 (quote-a.csv, valid until 2026-12-31)``."""
    terms = item.terms
    if terms and (terms.quote or bills.valid(terms)):
        name = f"Quotation {terms.quote}" if terms.quote else "Offer"
        return f"{name} ({', '.join(filter(None, [item.source, bills.valid(terms)]))})"
    if not item.checked:
        return "Prices"
    kind = _KINDS.get(item.price_class, item.price_class)
    return f"{kind[:1].upper()}{kind[1:]} prices ({item.source})"


def _dates(items: Sequence[Item]) -> str:
    """`` of 2018-07-01 to 2019-01-11``; where none has a date, that of rents."""
    dates = sorted({item.price_date for item in items if item.price_date})
    if not dates:
        return " without a date" * any(item.rent is not None for item in items)
    some = " and without a date" * any(not item.price_date for item in items)
    return f" of {' to '.join(dict.fromkeys((dates[0], dates[-1])))}{some}"
