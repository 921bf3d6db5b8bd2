"""What can be bought new, and what only used."""

from __future__ import annotations

from dataclasses import replace

from dse.catalog.facts import Fact, last_day
from dse.catalog.price_spread import own
from dse.catalog.prices import CARD, NEVER, PriceList


def no_longer_sold(name: str, prices: PriceList) -> Fact | None:
    """Until when an accelerator was sold new, where that is past on the day of the list; else None.

    One that the buyer has a price of his own for is sold to him.
    """
    until, price = prices.sold_until.get(name), prices.accelerator_usd.get(name)
    if until is None or not until.known or (price is not None and own(price)):
        return None
    day = None if until.text == NEVER else last_day(until.text)
    return until if day is None or day < prices.as_of else None


def with_used_prices(prices: PriceList) -> PriceList:
    """The list with prices of used accelerators where they are no longer sold new and such are
    known; their hosts are bought apart."""
    found = {name: fact for name, fact in prices.used_usd.items() if no_longer_sold(name, prices)}
    return replace(
        prices,
        accelerator_usd={**prices.accelerator_usd, **found},
        includes={**prices.includes, **dict.fromkeys(found, CARD)},
    )
