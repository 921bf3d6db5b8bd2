"""What accelerators and their hosts cost to buy: what sellers asked, and the price made of it."""

from __future__ import annotations

import datetime
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dse.catalog.facts import ESTIMATE, LIST, UNITS, Fact, PriceTerms, day_of
from dse.catalog.rents import Trust
from dse.catalog.store import of_file, sources, table

FILE = "prices/purchases.csv"
SOURCE = "purchases-2026"  # of what follows from several rows
HOST = "host"  # the item that is a node without accelerators
IN_NODE = 8  # accelerators that share the host of the table
BARE = ("card", "board")  # kinds that need a host beside them; servers and racks have it
CURRENT = datetime.timedelta(days=548)  # eighteen months: an older price is none of today
NORMAL_90 = 1.6449  # deviations from the middle of a normal distribution to the ends of its 90 %
CARD, NODE_SHARE = "card", "node-share"


@dataclass(frozen=True)
class Quote:
    """What somebody asked, or wrote that it costs.

    kind: card, board, server, rack, or host. accelerators: that ``usd`` pays. low, high: of a
    price that was told as a range, else 0. trust: A, a seller's own list, B, a public survey or an
    analyst, C, one page. counts: whether a price of today may follow from it: sold new, dated, and
    no spare part.
    """

    item: str
    kind: Literal["card", "board", "server", "rack", "host"]
    accelerators: int
    usd: float
    price_class: Literal["list", "used", "estimate"]
    trust: Trust
    counts: bool
    source: str
    date: str = ""
    low: float = 0.0
    high: float = 0.0

    @property
    def day(self) -> datetime.date:
        """When it was asked; the first day of all where nobody says it."""
        return day_of(self.date) or datetime.date.min

    @property
    def rank(self) -> int:
        """Sellers before analysts, and these before single pages."""
        asked = self.price_class == LIST and self.trust != "C"
        return 0 if asked else 1 if self.trust != "C" else 2

    def unit_usd(self, with_host: bool) -> float:
        """USD for one accelerator, made alike: with or without its part of a host."""
        own = self.usd / self.accelerators
        if self.item == HOST or with_host == (self.kind not in BARE):
            return own
        part = host_usd() / IN_NODE
        return own + part if with_host else own - part


def price(item: str) -> Fact | None:
    """The price of an accelerator, or of a host, of the last eighteen months; None where nobody
    asked one.

    The median of the best told quotes, all made alike by adding or subtracting the host. Its spread
    is by how much all others of these months differ from it.
    """
    found = [one for one in quotes(item) if one.counts
             and one.day >= newest() - CURRENT]  # fmt: skip
    if not found:
        return None
    best = min(one.rank for one in found)
    told = sorted((one for one in found if one.rank == best), key=lambda one: one.day)
    last = told[-1]
    with_host = last.kind not in BARE
    usd = round(statistics.median(one.unit_usd(with_host) for one in told), 2)
    source = sources()[SOURCE if told[1:] else last.source]
    kinds = f"{last.kind}, USD {last.usd:,.0f} for {last.accelerators}" * (last.accelerators > 1)
    return Fact(
        name=item if item == HOST else f"accelerators.{item}.purchase",
        value=usd,
        unit=UNITS["usd"],
        text=f"{usd:.10g} USD",
        source=source.key,
        accessed=source.accessed,
        detail=f"median of {len(told)} quotes" if told[1:] else kinds or last.kind,
        date=last.date,
        status="derived" if last.trust != "C" else "unverified",
        offer=PriceTerms(
            last.price_class if not best else ESTIMATE,
            includes="" if item == HOST else NODE_SHARE if with_host else CARD,
            log_spread=_log_spread(usd, told, found, with_host),
        ),
    )


def _log_spread(
    usd: float, told: Sequence[Quote], found: Sequence[Quote], with_host: bool
) -> float | None:
    """By how much others differ from a price, as a standard deviation of logarithms; that of its
    own range where it was told as one; None where there is neither."""
    others = [math.log(one.unit_usd(with_host) / usd) for one in found if one is not told[0]]
    ranges = [math.log(one.high / one.low) / (2 * NORMAL_90)
              for one in told if one.low]  # fmt: skip
    apart = math.sqrt(statistics.fmean(ratio**2 for ratio in others)) if others else 0.0
    return max(apart, *ranges, 0.0) or None


def host_usd() -> float:
    """A node without accelerators."""
    found = price(HOST)
    return found.value or 0.0 if found else 0.0


@of_file(FILE)
def newest(path: Path) -> datetime.date:
    """The day of the newest quote."""
    return max(one.day for one in table(path, Quote))


def quotes(item: str = "") -> tuple[Quote, ...]:
    """All of the catalogue, or of an item."""
    return tuple(one for one in _quotes() if item in ("", one.item))


@of_file(FILE)
def _quotes(path: Path) -> tuple[Quote, ...]:
    return table(path, Quote)
