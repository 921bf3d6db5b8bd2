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
