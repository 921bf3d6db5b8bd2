"""Prices of an accelerator, predicted from another price of it, with the widths of the catalogue.

The interval is that which draws of a price have (:mod:`dse.catalog.price_spread`), of one that is
so many years old. Its parameters are fitted anew without the accelerator that is judged. A price
that a seller keeps from page to page counts once.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import numpy as np

from benchmarks.accuracy.board import Line
from benchmarks.price_spread import (
    ESTIMATED,
    OBSERVATIONS,
    PURCHASE,
    fitted,
    pairs_of,
    pooled,
    priced,
)
from dse.calibration.spread import NORMAL_90
from dse.catalog.facts import day_of
from dse.catalog.price_spread import DAYS_PER_YEAR, Drift
from dse.catalog.rents import MARKET, RENT_CLASSES, rent, rented

# Names that stand for several boards, whose prices are those of the boards again.
UNCLEAR = ("NVIDIA A100", "NVIDIA V100")
SAME_TIME_DAYS = 183
ARCHIVE = "web.archive.org"
MEDIANS = Path(__file__).parents[1] / "data" / "rent_medians.csv"


class Price(NamedTuple):
    """A price of one accelerator. seller: the vendor, else the site that told it."""

    day: date
    usd: float
    seller: str


class Predicted(NamedTuple):
    """A price, what another one said of it, and how many years lie between them."""

    price: Price
    by: Price

    @property
    def years(self) -> float:
        """Between the two, at least 0."""
        return abs((self.price.day - self.by.day).days) / DAYS_PER_YEAR


def prices() -> dict[str, list[Price]]:
    """All purchases by accelerator, also of those that the catalogue lacks, oldest first."""
    found: defaultdict[str, set[Price]] = defaultdict(set)
    with OBSERVATIONS.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            name, day = row["accelerator"], day_of(row["date"])
            if row["kind"] != PURCHASE or day is None or _unclear(name):
                continue
            found[name].add(Price(day, float(row["usd"]), row["vendor"] or _site(row["source"])))
    return {name: list(_changes(sorted(rows))) for name, rows in found.items()}


def _unclear(name: str) -> bool:
    return name in UNCLEAR or name.lower().replace("google ", "").startswith(ESTIMATED)


def _site(url: str) -> str:
    """The host of a page, that of the page itself where an archive kept it."""
    host = urlsplit(url).netloc
    return urlsplit(url[url.rfind("http") :]).netloc if host == ARCHIVE else host or url


def _changes(rows: Iterable[Price]) -> Iterator[Price]:
    """Prices without those that their seller asked for before."""
    asked: dict[str, float] = {}
    for row in rows:
        if asked.get(row.seller) != row.usd:
            yield row
        asked[row.seller] = row.usd


def of_years_before(rows: list[Price]) -> list[Predicted]:
    """Every price from the newest of the years before: its own year is left out."""
    found = []
    for price in rows:
        before = [other for other in rows if other.day.year < price.day.year]
        if before:
            found.append(Predicted(price, max(before)))
    return found


def of_other_sellers(rows: list[Price]) -> list[Predicted]:
    """Every price from that of another seller which is nearest in time, within half a year."""
    found = []
    for price in rows:
        others = [
            (abs((other.day - price.day).days), other)
            for other in rows
            if other.seller != price.seller
        ]
        days, nearest = min(others, default=(SAME_TIME_DAYS + 1, price))
        if days <= SAME_TIME_DAYS:
            found.append(Predicted(price, nearest))
    return found


def line(name: str, judged: Mapping[str, list[Predicted]]) -> Line:
    """A line of what was predicted, by accelerator; the width of each is fitted to the others."""
    known = priced(PURCHASE)
    ratios, inside = [], []
    for accelerator, pairs in judged.items():
        drift = _without(known, accelerator)
        for pair in pairs:
            ratio = pair.by.usd / pair.price.usd
            ratios.append(ratio)
            inside.append(abs(np.log(ratio)) < NORMAL_90 * drift.log_spread(pair.years))
    return Line(name, "dse", np.array(ratios), np.array(inside))


def _without(known: Mapping[str, list[tuple[date, float]]], left_out: str) -> Drift:
    return fitted(pairs_of({name: rows for name, rows in known.items() if name != left_out}))


def rents(rent_class: str) -> Line:
    """A line of what each seller of a class asks, predicted by the median of the others; its width
    is that of the class without the accelerator."""
    ratios, inside = [], []
    for name in rented():
        found = rent(name, rent_class)
        asked = [one.usd_per_hour for one in found.current] if found else []
        for at in range(len(asked) if len(asked) > 1 else 0):
            ratio = float(np.median(asked[:at] + asked[at + 1 :])) / asked[at]
            ratios.append(ratio)
            inside.append(abs(np.log(ratio)) < NORMAL_90 * pooled(rent_class, name))
    name = f"rent on demand: a {rent_class}'s by the median of the others of its class"
    return Line(name, "dse", np.array(ratios), np.array(inside))


def counted_apart(rent_class: str) -> Line:
    """A line of the catalogue's price of a class of sellers, against their median as it was counted
    when the offers were collected: since September where a market has one, else of nine months."""
    ratios = []
    with MEDIANS.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["rent_class"] != rent_class or not (
                found := rent(row["accelerator"], rent_class)
            ):
                continue
            late = "_since_2026_09" * (int(row["sellers_since_2026_09"]) >= MARKET)
            ratios.append(found.usd_per_hour / float(row[f"usd_per_hour{late}"]))
    name = f"rent on demand: the price of {rent_class}s against their median, counted apart"
    return Line(name, "dse", np.array(ratios))


def lines() -> list[Line]:
    """Of purchase and of rent on demand."""
    found, by_name = [], prices()
    names = set(priced(PURCHASE))
    for how, pick in (
        ("the newest price of the years before", of_years_before),
        ("another seller's of the same half year", of_other_sellers),
    ):
        judged = {name: pick(rows) for name, rows in by_name.items() if name in names}
        about = f"price to buy: by {how}, accelerator left out of the width"
        found.append(line(about, judged))
    others = {name: rows for name, rows in by_name.items() if name not in names}
    judged = {name: of_years_before(rows) for name, rows in others.items()}
    about = "price to buy: by the newest price of the years before, boards never fitted on"
    classes = [*map(rents, RENT_CLASSES), *map(counted_apart, RENT_CLASSES)]
    return [*found, line(about, judged), *classes]
