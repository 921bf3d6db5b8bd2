"""What the price list adds beside the hardware, for the model and line by line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from dse.catalog import PriceList
from dse.catalog.extras import ONCE, PER_NODE, SHARE, Extra
from dse.model import money
from dse.pricing.unit_price import UnitPrice, unit_price


class Line(NamedTuple):
    """An extra over all years that are paid for. price: a fraction, USD, or USD a node."""

    extra: Extra
    title: str
    price: UnitPrice


def lines(prices: PriceList) -> Iterator[Line]:
    """Every extra, in the order of the lists."""
    years = prices.amortisation_years.value or 1.0
    for extra in prices.extras.values():
        one = unit_price(f"extra {extra.name}", extra.fact, prices)
        title, times = extra.title, years if extra.yearly else 1.0
        if extra.basis == SHARE:
            title += f", {100 * one.usd:g} % of the hardware"
        if extra.yearly:
            unit = "" if extra.basis == SHARE else f", USD {one.usd:,.2f}"
            title += f"{unit} a year for {years:g} years"
        yield Line(extra, title, UnitPrice(one.part, one.usd * times, one.log_spread, one.fact))


def summed(prices: PriceList, draws: int = 0) -> money.Extras:
    """The extras as the model takes them; draws: as many draws of each, (draws,)."""
    none = np.zeros(draws if draws else ())
    found = {SHARE: none, ONCE: none, PER_NODE: none}
    for line in lines(prices):
        found[line.extra.basis] = found[line.extra.basis] + line.price.drawn(draws)
    return money.Extras(found[SHARE], found[ONCE], found[PER_NODE])
