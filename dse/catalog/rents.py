"""What accelerators rent for: offers of sellers, and the price that a class of sellers makes."""

from __future__ import annotations

import datetime
import math
import statistics
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from dse.catalog.facts import CLOUD, ON_DEMAND, UNITS, Fact, PriceTerms, day_of
from dse.catalog.store import of_file, sources, table

FILE = "prices/rents.csv"
RentClass: TypeAlias = Literal["hyperscaler", "neocloud", "marketplace"]
Trust: TypeAlias = Literal["A", "B", "C"]
SOURCE = "rents-2026"  # of what follows from the whole table
RENT_CLASSES = (HYPERSCALER, NEOCLOUD, MARKETPLACE) = ("hyperscaler", "neocloud", "marketplace")
MARKET = 3  # sellers that make a market: fewer have no spread of their own
TRUSTED = 2  # sellers that tell, so that what one doubtful page says does not count
CURRENT = datetime.timedelta(days=274)  # nine months: an older rent is none of today
RECENT = datetime.timedelta(days=90)  # since September for a table of November: rents rose in 2026


@dataclass(frozen=True)
class Offer:
    """What a seller asks for an accelerator an hour.

    gpus: of the machine that it is a share of. trust: A, a seller's own list, B, a public survey,
    C, one page or unclear terms. counts: whether the price of its class takes it: on demand, of the
    seller's largest machine of up to 8, in its base region.
    """

    accelerator: str
    seller: str
    rent_class: RentClass
    gpus: int
    usd_per_hour: float
    term: str
    trust: Trust
    counts: bool
    source: str
    date: str = ""

    @property
    def day(self) -> datetime.date:
        """When it was seen; the first day of all where nobody says it."""
        return day_of(self.date) or datetime.date.min


@dataclass(frozen=True)
class Rent:
    """The price of a class of sellers, one value a seller.

    current: the latest offer of each within nine months, or, where nobody has one, the newest of
    all.
    """

    accelerator: str
    rent_class: str
    current: tuple[Offer, ...]

    @property
    def counted(self) -> tuple[Offer, ...]:
        """Those of the last three months where they make a market, else of nine."""
        recent = tuple(one for one in self.current if one.day >= newest() - RECENT)
        return recent if len(recent) >= MARKET else self.current

    @property
    def usd_per_hour(self) -> float:
        """The median of what counts."""
        return statistics.median(one.usd_per_hour for one in self.counted)

    @property
    def usd_range(self) -> tuple[float, float]:
        """The lowest and the highest of what counts."""
        usd = [one.usd_per_hour for one in self.counted]
        return min(usd), max(usd)

    @property
    def date(self) -> str:
        """When the newest of them was seen."""
        return max(self.counted, key=lambda one: one.day).date

    @property
    def log_spread(self) -> float | None:
        """Standard deviation of the logarithm from seller to seller; None where they make no
        market."""
        logs = [math.log(one.usd_per_hour) for one in self.current]
        return statistics.stdev(logs) if len(logs) >= MARKET else None

    @property
    def sellers(self) -> str:
        """``9 neoclouds``, or ``Oracle (hyperscaler)``."""
        names = [one.seller for one in self.counted]
        return (
            f"{len(names)} {self.rent_class}s" if names[1:] else f"{names[0]} ({self.rent_class})"
        )

    def fact(self) -> Fact:
        """The price with its source, as price lists have it."""
        several = len(self.counted) > 1
        source = sources()[SOURCE if several else self.counted[0].source]
        low, high = self.usd_range
        usd = round(self.usd_per_hour, 4)
        return Fact(
            name=f"accelerators.{self.accelerator}.hourly",
            value=usd,
            unit=UNITS["usd_per_hour"],
            text=f"{usd:g} USD/hour",
            source=source.key,
            accessed=source.accessed,
            detail=f"median of {self.sellers}, {low:g} to {high:g}" if several else self.sellers,
            date=self.date,
            status="unverified" if all(one.trust == "C" for one in self.counted)
            else "derived" if several else "sourced",
            offer=PriceTerms(CLOUD, self.sellers, rent_class=self.rent_class,
                             log_spread=self.log_spread),
        )  # fmt: skip


def rent(accelerator: str, rent_class: str) -> Rent | None:
    """What a class asks for an accelerator within nine months; None where it has no offer.

    A doubtful page (trust C) counts only where fewer than two others exist.
    """
    counted = [
        one for one in offers()
        if (one.accelerator, one.rent_class) == (accelerator, rent_class)
        and one.counts and one.term == ON_DEMAND and one.day >= newest() - CURRENT
    ]  # fmt: skip
    latest = {one.seller: one for one in sorted(counted, key=lambda one: one.day)}
    sure = [one for one in latest.values() if one.trust != "C"]
    kept = sure if len(sure) >= TRUSTED else latest.values()
    return Rent(accelerator, rent_class, tuple(kept)) if kept else None


def usual_rent(accelerator: str, rent_class: str = "") -> Rent | None:
    """What a class asks, the usual one where none is named; where it has no offer, what another one
    asks; only where nobody asks anything today, what somebody once did."""
    wanted = rent_class or usual_class([accelerator])
    for name in (wanted, *RENT_CLASSES):
        if found := rent(accelerator, name):
            return found
    offered = [one for one in offers() if one.accelerator == accelerator and one.counts]
    last = max(offered, key=lambda one: one.day, default=None)
    return Rent(accelerator, last.rent_class, (last,)) if last else None


def usual_class(accelerators: Iterable[str]) -> str:
    """The class that most of these accelerators have a market in: neoclouds, else hyperscalers."""
    names = list(accelerators)
    markets = [
        one for name in names if (one := rent(name, NEOCLOUD)) and len(one.current) >= MARKET
    ]
    return NEOCLOUD if len(markets) * 2 > len(names) or not names else HYPERSCALER


def class_of(rent: Fact | None) -> str:
    """The class of sellers that a rent is of, that of its seller where it does not say; empty of a
    seller that the table lacks."""
    terms = rent.offer if rent else None
    if terms is None or terms.rent_class:
        return terms.rent_class if terms else ""
    return next((one.rent_class for one in offers() if one.seller == terms.vendor), "")


def rented() -> tuple[str, ...]:
    """Accelerators that somebody rents out, in the order of the table."""
    return tuple(Counter(one.accelerator for one in offers()))


def rent_data() -> list[dict[str, Any]]:
    """A row for each accelerator and class of sellers: USD an hour and their range, of how many."""
    rows = []
    for name in rented():
        for found in filter(None, (rent(name, kind) for kind in RENT_CLASSES)):
            low, high = found.usd_range
            rows.append({
                "accelerator": name, "class": found.rent_class, "sellers": len(found.counted),
                "usd_per_hour": round(found.usd_per_hour, 4), "lowest": low, "highest": high,
                "newest": found.date,
            })  # fmt: skip
    return rows


@of_file(FILE)
def newest(path: Path) -> datetime.date:
    """The day of the newest offer."""
    return max(one.day for one in table(path, Offer))


@of_file(FILE)
def offers(path: Path) -> tuple[Offer, ...]:
    """All of the catalogue."""
    return table(path, Offer)
