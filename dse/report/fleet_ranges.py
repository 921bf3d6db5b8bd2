"""Intervals of a fleet's numbers in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dse.report.words import percent, shown

if TYPE_CHECKING:
    from dse.fleet.document import Band, FleetDocument, MoneyBand

NOTHING = "–"
SURE = 0.995  # a probability above it, or below its rest, is not told in per cent


def times(value: float) -> str:
    """``1.68x``, always with two digits behind the point, so that columns can be compared."""
    return f"{value:,.2f}x"


def band(document: FleetDocument, kind: str, of: str, way: str) -> Band | None:
    """The interval of one number; None where the document has none."""
    rows = document.intervals.numbers if document.intervals is not None else ()
    return next((row for row in rows if (row.kind, row.of, row.way) == (kind, of, way)), None)


def money_band(document: FleetDocument, kind: str, name: str) -> MoneyBand | None:
    """The intervals of what an upgrade or a port is worth."""
    rows = document.intervals.money if document.intervals is not None else ()
    return next((row for row in rows if (row.kind, row.name) == (kind, name)), None)


def shares_text(low: float, high: float) -> str:
    """``56 to 68 %``; one number where both ends read alike."""
    ends = [percent(low), percent(high)]
    return ends[0] if ends[0] == ends[1] else f"{ends[0].removesuffix(' %')} to {ends[1]}"


def times_text(low: float, high: float) -> str:
    """``1.33x to 1.71x``; one number where both ends read alike."""
    return " to ".join(dict.fromkeys((times(low), times(high))))


def usd_text(bounds: Sequence[float] | None) -> str:
    """``9.1 MUSD to 12 MUSD``, also losses; a dash where there are none."""
    if bounds is None:
        return NOTHING
    ends = (shown(end, "USD") if end >= 0 else f"−{shown(-end, 'USD')}" for end in bounds)
    return " to ".join(dict.fromkeys(ends))


def usd(value: float | None) -> str:
    """A sum of money, also a loss; a dash for one that is not known."""
    return usd_text(None if value is None else (value,))


def years_text(bounds: tuple[float, float | None] | None) -> str:
    """``1.2 to 3.4 years``, one number where both ends read alike, or ``1.2 years at the earliest,
    possibly never``."""
    if bounds is None:
        return NOTHING
    low, high = bounds
    if high is None:
        return f"{low:.1f} years at the earliest, possibly never"
    return f"{' to '.join(dict.fromkeys((f'{low:.1f}', f'{high:.1f}')))} years"


def probability(share: float) -> str:
    """``93 %``; what is nearly sure is not told as certain."""
    if share >= SURE:
        return "over 99 %"
    return "under 1 %" if share <= 1 - SURE else percent(share)
