"""Prices at which the answer changes, in words."""

from __future__ import annotations

from dse.report import words
from dse.report.certainty.facts import PriceFlip, SeenPrice, Turn
from dse.report.certainty.purchases import as_good, instead
from dse.report.certainty.titles import rented
from dse.report.document import RunDocument
from dse.search.certainty.flips import FARTHEST


def flip(document: RunDocument) -> str:
    """Up to which price it stays recommended, with a blank before it; empty where none is known.

    A price that only turns to a purchase of the same choice does not count.
    """
    found = document.certainty
    rising = [
        (one.rise.factor, one.title, one)
        for one in (found.flips if found else ())
        if one.share and one.rise and not as_good(document, one.rise.config)
    ]
    if not rising:
        return ""
    factor, part, first = min(rising, key=lambda one: one[:2])
    to = f", to {usd(first, factor)}" if first.known and first.known.usd and factor < 2 else ""
    also = "".join(
        f"; the catalogue also has {seen_price(one, rented(first.part))}"
        for one in first.seen
        if one.above
    )
    assert first.rise is not None
    other = first.rise.config
    then = f"; then {'the answer is ' * bool(other)}{instead(document, other)}"
    return f" It stays recommended until {part} rises {_more(factor)}{to}{then}{also}."


def flip_lines(document: RunDocument) -> list[str]:
    """What each price decides, a sentence a part."""
    found = document.certainty
    flips = found.flips if found else ()
    return [_flip_line(document, one) for one in flips if one.compared]


def turn_lines(document: RunDocument) -> list[str]:
    """The prices that change the answer, a sentence a part; where none does, that in a sentence."""
    found = document.certainty
    if found is None:
        return []
    if found.flips and not any(one.compared for one in found.flips):
        return []
    turning = [one for one in found.flips if one.rise or one.fall]
    if not turning:
        return [f"No price alone, up to {FARTHEST:g} times or down to a tenth of what it is."]
    return [_flip_line(document, one) for one in turning]


def _flip_line(document: RunDocument, one: PriceFlip) -> str:
    part = share_of(document, one) if one.share else "no part of this offer"
    of = f"{one.title[:1].upper()}{one.title[1:]} ({part})"
    ends = [
        f"{_until(turn.factor)}{_at(one, turn)}, then {instead(document, turn.config)}"
        for turn in (one.rise, one.fall)
        if turn is not None
    ]
    if not ends:
        return f"{of}: no price up to {FARTHEST:g} times, or down to a tenth, changes the answer."
    also = "".join(
        f" The catalogue also has {seen_price(seen, rented(one.part))}." for seen in one.seen
    )
    return f"{of}: the answer holds {'; and '.join(ends)}.{also}"


def usd(one: PriceFlip, factor: float | None = None) -> str:
    """The price of a part, ``USD 14,000``, ``USD 2.75/h from Nebius``, or so many times that, which
    nobody asks; empty of a network."""
    if one.known is None or one.known.usd is None:
        return ""
    if factor is None:
        seller = f" from {one.known.seller}" * bool(one.known.seller)
        price = one.known.usd
        return (_money(price, True) if rented(one.part) else f"USD {price:,.0f}") + seller
    return _money(one.known.usd * factor, rented(one.part))


def _money(price: float, hourly: bool) -> str:
    """To three digits, or whole dollars where these are fewer: a price at which an answer turns is
    not known better."""
    if hourly:
        return f"USD {words.significant(price)}/h"
    digits = max(0, len(f"{price:.0f}") - 3)
    return f"USD {round(price, -digits):,.0f}"


def seen_price(seen: SeenPrice, hourly: bool) -> str:
    """A price of the catalogue, with whose it is: ``USD 24,875 of 2020-05-21 (...)``."""
    price = f"USD {seen.usd:,.2f}/h" if hourly else f"USD {seen.usd:,.0f}"
    listed = seen.on_demand_usd
    whose = [] if listed is None else [f"USD {listed:,.2f}/h on demand"]
    whose += [seen.detail] * bool(seen.detail) + ["with a share of the server"] * seen.with_server
    return f"{price} of {seen.date or 'no date'} ({', '.join([*whose, seen.source])})"


def share_of(document: RunDocument, one: PriceFlip) -> str:
    """What share of which cost a price is: ``53 % of the cost of ownership``."""
    of = words.objective(document, one.of).title if one.of else "cost"
    return f"{words.percent(one.share)} of the {of}"


def _at(one: PriceFlip, turn: Turn) -> str:
    price = usd(one, turn.factor)
    return f" ({price})" if price else ""


def _until(factor: float) -> str:
    if factor >= 2:
        return f"until it costs {words.significant(factor, 2)} times as much"
    return f"up to {_signed(factor)}" if factor > 1 else f"down to {_signed(factor)}"


def _signed(factor: float) -> str:
    share = 100 * (factor - 1)
    return f"{share:+.1f} %" if abs(share) < 9.95 else f"{share:+.0f} %"


def _more(factor: float) -> str:
    if factor >= 2:
        return f"to {words.significant(factor, 2)} times as much"
    return f"by {words.percent(factor - 1)}"
