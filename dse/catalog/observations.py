"""Prices of accelerators that were asked for on some day: several of each, over the years."""

from __future__ import annotations

import csv
import datetime
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from dse.catalog.facts import day_of
from dse.catalog.store import models_dir, names

FILE = "observations.csv"
PURCHASE, ON_DEMAND = "purchase", "on-demand"  # kinds of prices


class Observed(NamedTuple):
    """A price of one accelerator, in USD (an hour, where it is rented)."""

    day: datetime.date
    usd: float


def observations(kind: str) -> Mapping[str, tuple[Observed, ...]]:
    """All prices of a kind by accelerator of the catalogue, the oldest first."""
    return _read(models_dir() / "prices" / FILE, kind, names("accelerators"))


@cache
def _read(path: Path, kind: str, known: tuple[str, ...]) -> Mapping[str, tuple[Observed, ...]]:
    found: defaultdict[str, list[Observed]] = defaultdict(list)
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            day = day_of(row["date"])
            if row["kind"] == kind and row["accelerator"] in known and day:
                found[row["accelerator"]].append(Observed(day, float(row["usd"])))
    return {name: tuple(sorted(rows)) for name, rows in found.items()}


def of_one_age(one: str, other: str, kind: str) -> datetime.date | None:
    """The day around which prices of two accelerators lie closest together, the later of two such;
    None where one of them has no price."""
    found = observations(kind)
    pairs = [
        (abs((a.day - b.day).days), -max(a.day, b.day).toordinal())
        for a in found.get(one, ())
        for b in found.get(other, ())
    ]
    return datetime.date.fromordinal(-min(pairs)[1]) if pairs else None


def nearest(name: str, kind: str, day: datetime.date, within_days: int) -> Observed | None:
    """The price of an accelerator that was asked for nearest to a day, of several the lowest; None
    where none was within so many days."""
    close = [
        observed for observed in observations(kind).get(name, ())
        if abs((observed.day - day).days) <= within_days
    ]  # fmt: skip
    return min(close, key=lambda found: (abs((found.day - day).days), found.usd), default=None)
