"""How far a price of the catalogue may lie from what a buyer is asked for."""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dse.catalog.facts import UNCHECKED, UNITS, Fact, day_of
from dse.catalog.price_terms import ESTIMATE
from dse.catalog.reader import Entry
from dse.catalog.store import models_file, sources

FILE = "price_spread.yaml"
DAYS_PER_YEAR = 365.25
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

    def log_spread(self, years: float | None) -> float:
        """Standard deviation of the logarithm by which an offer differs from a price of so many
        years ago; None: of a day that is not known.

        ``sqrt(2 sellers^2 + root_year^2 years)``: both have their seller's error, as both prices of
        the pairs have that this is fitted to (benchmarks/price_spread.py).
        """
        years = self.undated_years if years is None else years
        return math.hypot(math.sqrt(2) * self.sellers, self.root_year * math.sqrt(years))


@dataclass(frozen=True)
class PriceSpread:
    """What prices of the catalogue err by. unchecked: in addition, of a price that nobody
    checked."""

    purchase: Drift
    hourly: Drift
    unchecked: float

    def log_spread(
        self, fact: Fact, asked: datetime.date, valid_on: datetime.date | None = None
    ) -> float:
        """Standard deviation of the logarithm of a price, as asked for on a day.

        What a buyer was offered is what he pays: 0. A price of his own that is an estimate, that he
        marks as unverified, or that is :func:`lapsed`, is as unsure as one of the catalogue of its
        date.
        valid_on: the day on which offers must be valid, ``asked`` where it is None.
        """
        checked = fact.status not in UNCHECKED
        offered = own(fact) and not estimated(fact) and not lapsed(fact, valid_on or asked)
        if offered and checked:
            return 0.0
        kind = self.hourly if fact.unit == UNITS["usd_per_hour"] else self.purchase
        of_age = kind.log_spread(age_years(fact, asked))
        return math.hypot(of_age, 0.0 if checked else self.unchecked)


def own(price: Fact) -> bool:
    """Whether a price is the buyer's, and not the catalogue's."""
    return price.known and price.source not in sources()


def estimated(price: Fact) -> bool:
    """Whether somebody who does not sell the part wrote that it costs so much."""
    return price.offer is not None and price.offer.price_class == ESTIMATE


def lapsed(price: Fact, day: datetime.date) -> bool:
    """Whether a price of the buyer's is no offer any more on a day: past its last day, or more than
    OLD_YEARS old where it has none. An estimate never was one."""
    if not own(price) or estimated(price):
        return False
    if price.offer is not None and price.offer.valid_until is not None:
        return price.offer.expired(day)
    age = age_years(price, day)
    return age is not None and age > OLD_YEARS


def price_spread() -> PriceSpread:
    """How far prices of the catalogue are off, as it says itself."""
    return read_price_spread(models_file(FILE))


@cache
def read_price_spread(path: Path) -> PriceSpread:
    """The parameters in a file; a mistake in it raises :class:`~dse.errors.StudyError`."""
    entry = Entry.open(path)
    kinds = {}
    for name in ("purchase", "hourly"):
        own = entry.section(name)
        parts = ("sellers", "root_year", "undated_years")
        kinds[name] = Drift(*(own.known(part, "count") for part in parts))
        own.finish()
    unchecked = entry.known("unchecked", "count")
    entry.finish()
    return PriceSpread(kinds["purchase"], kinds["hourly"], unchecked)


def age_years(fact: Fact, asked: datetime.date) -> float | None:
    """How old a price is on a day, at least 0; None where it has no date."""
    day = day_of(fact.date)
    return None if day is None else max((asked - day).days / DAYS_PER_YEAR, 0.0)
