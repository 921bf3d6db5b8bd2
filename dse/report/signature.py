"""What the page to sign holds beside the offers: whose prices they are, what would change the
answer, and what must be known, the weightiest first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dse.catalog.price_terms import QUOTE
from dse.pricing.bill_of_materials import OF_SITE, Item
from dse.report import bills, rents, words
from dse.report.certainty import words as certainty_words
from dse.report.document import RunDocument

MOST_LINES = 5  # of each list, so that all of it is one page
MOST_TURNS = 3  # prices that would change the answer
MOST_LETTERS = 230  # of a note; longer ones end with their last whole sentence before that
_SHARE = re.compile(r"(\d+(?:\.\d+)?) %")
# How heavy a note is, by the first of these that its text has; amounts of money weigh their share.
_WEIGHTS = (
    (re.compile("Past their validity|needs .* more memory"), 4.0),
    (re.compile("no longer sold|not for sale"), 3.0),
    (re.compile("Ask one seller|prices lie up to"), 2.5),
    (re.compile("these points are left out"), 0.1),
)
_PLAIN = 1.0


@dataclass(frozen=True)
class Signature:
    """limits: each with the probability that it is met; prices: where those of the recommended
    offer are from and of what dates; flips: which prices would change the answer; notes: the
    weightiest, and how many more there are."""

    limits: tuple[str, ...]
    prices: tuple[str, ...]
    flips: tuple[str, ...]
    notes: tuple[str, ...]
    more: int


def signature(document: RunDocument, notes: Sequence[str]) -> Signature:
    """Of a run; notes: all that must be known, the weightiest first (:func:`by_weight`)."""
    return Signature(
        limits=tuple(certainty_words.limits(document)),
        prices=tuple([*_prices(document)][:MOST_LINES]),
        flips=tuple(certainty_words.turn_lines(document)[:MOST_TURNS]),
        notes=tuple(map(_short, notes[:MOST_LINES])),
        more=max(0, len(notes) - MOST_LINES),
    )


def by_weight(notes: Sequence[str]) -> list[str]:
    """The weightiest first: what cannot be bought, what share of the sum is doubtful, the rest, and
    last what the search left out; equals in their order."""
    return sorted(notes, key=lambda note: -_weight(note))


def _weight(note: str) -> float:
    known = next((weight for pattern, weight in _WEIGHTS if pattern.search(note)), None)
    if known is not None:
        return known
    share = _SHARE.search(note)
    return _PLAIN + float(share.group(1)) / 100 if share else _PLAIN


def _short(note: str) -> str:
    """The note, or as many of its whole sentences as a page has room for."""
    if len(note) <= MOST_LETTERS:
        return note
    end = note.rfind(". ", 0, MOST_LETTERS)
    return note[: end + 1] if end > 0 else f"{note[:MOST_LETTERS].rsplit(' ', 1)[0]} …"


def _prices(document: RunDocument) -> Iterator[str]:
    """What is rented, and the quotations and lists behind the recommended offer, the largest part
    of the sum first; nothing of the purchase that an older version noted where a study rents."""
    bill = document.bills.get("recommended", ())
    if not bills.buys(document) and not bills.rent_of(bill):
        return
    yield from (f"Rent of {said}" for said in rents.said(bill, document.recommended.config))
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
    if terms and (terms.quote or terms.valid_until):
        until = f", valid until {terms.valid_until}" if terms.valid_until else ""
        past = ", which is past" * terms.expired
        name = f"Quotation {terms.quote}" if terms.quote else "Offer"
        return f"{name} ({item.source}{until}{past})"
    if not item.checked:
        return "Prices from memory"
    kind = "your own" if item.price_class == QUOTE else item.price_class
    return f"{kind[:1].upper()}{kind[1:]} prices ({item.source})"


def _dates(items: Sequence[Item]) -> str:
    """`` of 2018-07-01 to 2019-01-11``; where none has a date, that of rents."""
    dates = sorted({item.price_date for item in items if item.price_date})
    if not dates:
        return " without a date" * any(item.rent is not None for item in items)
    some = " and without a date" * any(not item.price_date for item in items)
    return f" of {' to '.join(dict.fromkeys((dates[0], dates[-1])))}{some}"
