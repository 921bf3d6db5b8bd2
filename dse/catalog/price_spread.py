"""How far a price of the catalogue may lie from what a buyer is asked for."""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dse.catalog.facts import UNITS, Fact, day_of
from dse.catalog.reader import Entry
from dse.catalog.store import models_dir, sources

FILE = "price_spread.yaml"
DAYS_PER_YEAR = 365.25


@dataclass(frozen=True)
class Drift:
    """Of prices of one kind, as standard deviations of their logarithm.

    sellers: from seller to seller on one day. root_year: of the change within a year, which grows
    with the root of time, as that of a random walk does.
    """

    sellers: float
    root_year: float

    def log_spread(self, years: float) -> float:
        """Standard deviation of the logarithm of a price that is so many years old."""
        return math.hypot(self.sellers, self.root_year * math.sqrt(years))


@dataclass(frozen=True)
class PriceSpread:
    """What prices of the catalogue err by. unchecked: in addition, of a price that nobody checked,
    or that has no date."""

    purchase: Drift
    hourly: Drift
    unchecked: float

    def log_spread(self, fact: Fact, asked: datetime.date) -> float:
        """Standard deviation of the logarithm of a price, as asked for on a day.

        A buyer's own price is what he pays: 0.
        """
        if fact.source not in sources():
            return 0.0
        years = age_years(fact, asked)
        kind = self.hourly if fact.unit == UNITS["usd_per_hour"] else self.purchase
        doubtful = fact.status == "unverified" or years is None
        return math.hypot(kind.log_spread(years or 0.0), self.unchecked if doubtful else 0.0)


def price_spread() -> PriceSpread:
    """That of the catalogue."""
    return read_price_spread(models_dir() / FILE)


@cache
def read_price_spread(path: Path) -> PriceSpread:
    """The parameters in a file; a mistake in it raises :class:`~dse.errors.StudyError`."""
    entry = Entry.open(path)
    kinds = {}
    for name in ("purchase", "hourly"):
        own = entry.section(name)
        kinds[name] = Drift(own.known("sellers", "count"), own.known("root_year", "count"))
        own.finish()
    unchecked = entry.known("unchecked", "count")
    entry.finish()
    return PriceSpread(kinds["purchase"], kinds["hourly"], unchecked)


def age_years(fact: Fact, asked: datetime.date) -> float | None:
    """How old a price is on a day, at least 0; None where it has no date."""
    day = day_of(fact.date)
    return None if day is None else max((asked - day).days / DAYS_PER_YEAR, 0.0)
