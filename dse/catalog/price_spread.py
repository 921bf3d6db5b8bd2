"""How far a price of the catalogue may lie from what a buyer is asked for."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from dataclasses import dataclass

from dse.catalog.facts import ESTIMATE, UNCHECKED, UNITS, Fact, day_of
from dse.catalog.reader import Entry, of_catalogue
from dse.catalog.rents import NEOCLOUD, RENT_CLASSES, class_of, newest
from dse.catalog.store import sources

FILE = "price_spread.yaml"
DAYS_PER_YEAR = 365.25
STALE_YEARS = 1.5  # of a purchase: an older one of the catalogue keeps an answer from being signed
STALE_RENT_YEARS = 0.75
OLD_YEARS = 2.0  # older prices, or prices further apart, are not compared without a word


@dataclass(frozen=True)
class Drift:
    """Of prices of one kind, as standard deviations of their logarithm.

    sellers: from seller to seller on one day. root_year: of the change within a year, which grows
    with the root of time, as that of a random walk does. undated_years: how old a price counts
    that has no date.
    """

    sellers: float
    root_year: float
    undated_years: float = 0.0

    def log_spread(self, years: float | None, apart: float | None = None) -> float:
        """Standard deviation of the logarithm by which an offer differs from a price of so many
        years ago; None: of a day that is not known.

        ``sqrt(apart^2 + root_year^2 years)``, where the offers that a price is made of lie
        ``apart``; of a single one that is ``sqrt(2) sellers``: both have their seller's error, as
        both prices of the pairs have that this is fitted to (benchmarks/price_spread.py).
        """
        years = self.undated_years if years is None else years
        apart = math.sqrt(2) * self.sellers if apart is None else apart
        return math.hypot(apart, self.root_year * math.sqrt(years))


@dataclass(frozen=True)
class PriceSpread:
    """What prices of the catalogue err by. hourly: by class of sellers, as neoclouds where nobody
    knows it. unchecked: in addition, of a price that nobody checked."""

    purchase: Drift
    hourly: Mapping[str, Drift]
    unchecked: float

    def log_spread(self, fact: Fact, asked: datetime.date) -> float:
        """Standard deviation of the logarithm of a price, as asked for on a day.

        What a buyer was offered is what he pays: 0. A price of his own that is an estimate, that he
        marks as unverified, or that is :func:`lapsed` on that day, is as unsure as one of the
        catalogue of its date. A price that is made of several offers is as unsure as these differ,
        a purchase at least as sellers do, and ages from the day of the catalogue's newest price. A
        purchase older than STALE_YEARS is as unsure as one of that age: what it would be today
        nobody can tell, so an answer that rests on it asks for a quote.
        """
        checked = fact.status not in UNCHECKED
        if own(fact) and not estimated(fact) and not lapsed(fact, asked, asked) and checked:
            return 0.0
        return math.hypot(self._checked(fact, asked), 0.0 if checked else self.unchecked)

    def _checked(self, fact: Fact, asked: datetime.date) -> float:
        rent = fact.unit == UNITS["usd_per_hour"]
        kind = self.hourly[class_of(fact) or NEOCLOUD] if rent else self.purchase
        apart, age = fact.offer.log_spread if fact.offer else None, age_years(fact, asked)
        if apart is not None:  # by which they changed until the catalogue's newest price, too
            age = max((asked - newest()).days / DAYS_PER_YEAR, 0.0)
            apart = apart if rent else max(apart, kind.log_spread(0.0))
        return kind.log_spread(age if rent or age is None else min(age, STALE_YEARS), apart)


def own(price: Fact) -> bool:
    """Whether a price is the buyer's, and not the catalogue's."""
    return price.known and price.source not in sources()


def estimated(price: Fact) -> bool:
    """Whether somebody who does not sell the part wrote that it costs so much."""
    return price.offer is not None and price.offer.price_class == ESTIMATE


def lapsed(price: Fact, asked: datetime.date, valid_on: datetime.date) -> bool:
    """Whether a price of the buyer's is no offer any more: past its last day on ``valid_on``, or,
    where it has none, more than OLD_YEARS old when it is ``asked`` for. An estimate never was
    one."""
    if not own(price) or estimated(price):
        return False
    if price.offer is not None and price.offer.valid_until is not None:
        return price.offer.expired(valid_on)
    age = age_years(price, asked)
    return age is not None and age > OLD_YEARS


@of_catalogue(FILE)
def price_spread(entry: Entry) -> PriceSpread:
    """How far prices of the catalogue are off, as it says itself."""
    bought, rented = entry.section("purchase"), entry.section("hourly")
    parts = ("sellers", "root_year", "undated_years")
    purchase = Drift(*(bought.known(part, "count") for part in parts))
    over_time = rented.known("root_year", "count"), purchase.undated_years
    hourly = {name: Drift(rented.known(name, "count"), *over_time) for name in RENT_CLASSES}
    unchecked = entry.known("unchecked", "count")
    return PriceSpread(purchase, hourly, unchecked)


def age_years(fact: Fact, asked: datetime.date) -> float | None:
    """How old a price is on a day, at least 0; None where it has no date."""
    day = day_of(fact.date)
    return None if day is None else max((asked - day).days / DAYS_PER_YEAR, 0.0)
