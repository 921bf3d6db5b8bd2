"""A fact: one number of the catalogue with its source, its dates and how far to trust it; and on
what terms a price is offered: class, seller, quote, validity, discount, currency."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass

from dse.catalog.store import sources
from dse.currencies import Converted

# dimension of dse.units -> the unit of Fact.value, as text
UNITS = {
    "bytes": "B",
    "bytes_per_s": "B/s",
    "seconds": "s",
    "flops_per_s": "FLOP/s",
    "watt": "W",
    "usd": "USD",
    "usd_per_hour": "USD/hour",
    "usd_per_kwh": "USD/kWh",
    "kg_per_kwh": "kg/kWh",
    "count": "",
    "share": "",
}

FIRST_YEAR, LAST_YEAR = 1990, 2100  # of prices and facts
STATUSES = ("sourced", "derived", "unverified", "unknown")
UNCHECKED = ("unverified", "unknown")  # statuses of what nobody checked
UNVERIFIED = "unverified: from the authors' memory or a source that leaves doubts, not checked"
# How a price is picked: of a node by :func:`latest`, of an accelerator by :mod:`.purchases` and
# :mod:`.rents`.
PRICE_RULE = (
    "A price of the catalogue is the median of what sellers of one kind asked: of purchases in "
    "eighteen months, of rents in three months or nine. Of whole machines the newest is used, of "
    "the same date the lowest."
)
LIST, QUOTE, USED, CLOUD, ESTIMATE = "list", "quote", "used", "cloud", "estimate"
CLASSES = (LIST, QUOTE, USED, CLOUD, ESTIMATE)
ON_DEMAND = "on-demand"
RENTAL_TERMS = (ON_DEMAND, "1-year", "3-year", "spot")  # as a study says them


@dataclass(frozen=True)
class PriceTerms(Converted):
    """The terms of a price.

    price_class: one of :data:`CLASSES`: what a seller or maker publishes, what was offered to the
    buyer, what used hardware goes for, what a cloud charges by the hour, what somebody who does not
    sell it writes that it costs. vendor: who sells it. quote: the number of the quotation.
    valid_until: its last day. currency, rate: in which it was given, USD for one of it; empty and 1
    where that was USD. rate_date: the day of the rate, empty where nobody says it. file: name of
    the buyer's own price list, or of the study, that has it; empty for the catalogue's. includes:
    what of a node it pays, ``card`` or ``node-share``; empty where that is not said.
    term: of a rent, one of :data:`RENTAL_TERMS`; empty where that is not said, so that it counts as
    one on demand. rent_class: of a rent, that of its sellers; empty where it is not known.
    log_spread: of a price made of several offers, by how much these differ, as a standard deviation
    of logarithms; None where they are too few to tell.
    """

    price_class: str
    vendor: str = ""
    quote: str = ""
    valid_until: datetime.date | None = None
    currency: str = ""
    rate: float = 1.0
    rate_date: str = ""
    file: str = ""
    includes: str = ""
    term: str = ""
    rent_class: str = ""
    log_spread: float | None = None

    def expired(self, day: datetime.date) -> bool:
        """Whether it is no longer valid on a day."""
        return self.valid_until is not None and day > self.valid_until


@dataclass(frozen=True)
class Fact:
    """One number (or one name, such as the fabric of a node) of the catalogue.

    ``value`` is SI, in ``unit`` (rental stays per hour, electricity and its carbon per kWh); None
    means the value is unknown, or that the fact is a name, which ``text`` then holds. ``text`` is
    the value as written. ``source`` is a key of sources.yaml, ``accessed`` the day that source was
    read; ``date`` is the day a price was valid, empty where it has none. ``status`` is one of
    :data:`STATUSES`: read in the source, derived from it, not checked (:data:`UNVERIFIED`), or
    not known. ``offer``: of a price, on what terms it is offered.
    """

    name: str
    value: float | None
    unit: str
    text: str
    source: str
    accessed: str
    detail: str = ""
    date: str = ""
    status: str = "sourced"
    offer: PriceTerms | None = None

    @property
    def known(self) -> bool:
        """Whether there is anything but ``unknown`` here."""
        return self.status != "unknown"


@dataclass(frozen=True, kw_only=True)
class Citation:
    """A fact of ``item``, and where it is from.

    accessed: when its source was read. date: when a price was valid. detail: where in the source,
    or how it was derived.
    """

    item: str
    fact: str
    value: str
    source: str
    url: str
    accessed: str
    date: str
    status: str
    detail: str = ""


def cite(item: str, fact: Fact) -> Citation:
    """The fact with the title and address of its source, where that is one of the catalogue."""
    known = sources().get(fact.source)
    return Citation(
        item=item,
        fact=fact.name,
        value=fact.text,
        source=known.title if known else fact.source,
        url=known.url if known else "",
        accessed=fact.accessed,
        date=fact.date,
        status=fact.status,
        detail=fact.detail,
    )


def latest(prices: Iterable[Fact]) -> Fact | None:
    """The price to use of a dated list: the most recent, unverified ones only for want of others.

    A price without a date counts as older than any other; of equal dates the lowest is taken.
    """
    known = [fact for fact in prices if fact.value is not None]
    trusted = [fact for fact in known if fact.status != "unverified"] or known
    if not trusted:
        return None
    newest = max(fact.date for fact in trusted)
    return min((fact for fact in trusted if fact.date == newest), key=lambda fact: fact.value or 0)


def day(written: str) -> datetime.date:
    """The day of 2024-08-15. Raises ValueError for what is none of 1990 to 2100."""
    found = datetime.date.fromisoformat(written)
    if not FIRST_YEAR <= found.year <= LAST_YEAR:
        raise ValueError(f"{written} is not in the years {FIRST_YEAR} to {LAST_YEAR}")
    return found


def day_of(date: str) -> datetime.date | None:
    """The day of 2024-08-15; of 2024-08 the first, of 2024 that of July; None if empty.

    Raises ValueError where it is none of these.
    """
    if not date:
        return None
    return day({4: f"{date}-07-01", 7: f"{date}-01"}.get(len(date), date))


def last_day(written: str) -> datetime.date | None:
    """Of 2026-12-31 this day; of 2026-12, or 2026, the last of it; None if empty."""
    if not written:
        return None
    if len(written) > len("2026-12"):
        return day(written)
    first = day(f"{written[:4]}-{int(written[5:] or 12):02d}-01")
    first = datetime.date(first.year + first.month // 12, first.month % 12 + 1, 1)  # the next
    return first - datetime.timedelta(days=1)
