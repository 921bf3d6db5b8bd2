"""Fits how far prices of one part lie apart: from seller to seller, and from year to year.

``python -m benchmarks.price_spread`` writes models/price_spread.yaml anew from
models/prices/observations.csv and rents.csv.

Rents differ from seller to seller within a class, as those of today do (:func:`pooled`), and
from year to year as those of one seller did. Two purchase prices of an accelerator that were asked
for ``t`` years apart differ by a logarithm of variance ``2 sellers^2 + root_year^2 t``: each has
the seller's error, and between them prices walk at random (a variogram with a nugget). Both
parameters are those under which the pairs are likeliest. Every
pair of an accelerator with ``n`` prices weighs ``1 / (n - 1)``, so that an accelerator weighs as
much as it has prices. A price without a date counts as old as the median of the dated
purchases in the price list.
"""

from __future__ import annotations

import csv
import datetime
import math
import statistics
from collections import defaultdict
from collections.abc import Mapping
from itertools import combinations, pairwise
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.optimize import minimize

from dse import catalog
from dse.catalog.facts import day_of
from dse.catalog.price_spread import DAYS_PER_YEAR, FILE, Drift, age_years
from dse.catalog.rents import RENT_CLASSES, SOURCE, rent, rented
from dse.model.arrays import Array

OUT = catalog.models_dir() / FILE
OBSERVATIONS = catalog.models_dir() / "prices" / "observations.csv"
PURCHASE, ON_DEMAND = "purchase", "on-demand"  # kinds of observations
START = np.log([0.15, 0.3])
# TPUs are not sold; what stands for their prices was estimated by one author, by one rule.
ESTIMATED = "tpu"
# Judged, not measured: a price from memory is off by up to a factor 1.8 nine times in ten.
UNCHECKED = 0.35

Price: TypeAlias = tuple[datetime.date, float]  # day, USD


class Pair(NamedTuple):
    """Two prices of one accelerator."""

    years: float
    log_ratio: float
    weight: float


def priced(kind: str) -> dict[str, list[Price]]:
    """The observations of one kind by accelerator of the catalogue."""
    found = defaultdict[str, list[Price]](list)
    with OBSERVATIONS.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            name, day = row["accelerator"], day_of(row["date"])
            known = name in catalog.names("accelerators") and not name.startswith(ESTIMATED)
            if row["kind"] == kind and known and day:
                found[name].append((day, float(row["usd"])))
    return {name: sorted(rows) for name, rows in found.items()}


def pairs_of(by_accelerator: Mapping[str, list[Price]]) -> list[Pair]:
    """All pairs of prices of one accelerator."""
    return [
        Pair(abs((a - b).days) / DAYS_PER_YEAR, float(np.log(x / y)), 1 / (len(rows) - 1))
        for rows in by_accelerator.values()
        for (a, x), (b, y) in combinations(rows, 2)
    ]


def fitted(found: list[Pair]) -> Drift:
    """The parameters under which the pairs are likeliest."""
    years, log_ratio, weight = (np.array(column) for column in zip(*found, strict=True))

    def unlikeliness(logs: Array) -> float:
        sellers, root_year = np.exp(logs)
        variance = 2 * sellers**2 + root_year**2 * years
        return float(np.sum(weight * (np.log(variance) + log_ratio**2 / variance)))

    sellers, root_year = np.exp(minimize(unlikeliness, START, method="Nelder-Mead").x)
    return Drift(round(float(sellers), 3), round(float(root_year), 3))


def of_one_seller() -> tuple[float, int]:
    """By how much a seller's rent of an accelerator changes in a year, and of how many changes.

    ``sqrt(sum(log ratio^2) / sum(years))``, of prices that follow one another.
    """
    asked = defaultdict[tuple[str, str], set[Price]](set)
    with OBSERVATIONS.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            day, name = day_of(row["date"]), row["accelerator"]
            if row["kind"] == ON_DEMAND and row["vendor"] and day and ESTIMATED not in name.lower():
                asked[name, row["vendor"]].add((day, float(row["usd"])))
    changes = [
        ((later[0] - first[0]).days / DAYS_PER_YEAR, float(np.log(later[1] / first[1])))
        for prices in asked.values()
        for first, later in pairwise(sorted(prices))
        if later[0] > first[0]
    ]
    years, logs = np.array(changes).T
    return round(float(np.sqrt(np.sum(logs**2) / np.sum(years))), 3), len(changes)


def pooled(rent_class: str, without: str = "") -> float:
    """Standard deviation of the logarithm from seller to seller of one accelerator, over all of a
    class with two sellers or more, but for one that is left out."""
    squares, freedom = 0.0, 0
    for name in rented():
        found = rent(name, rent_class) if name != without else None
        logs = [math.log(one.usd_per_hour) for one in found.current] if found else []
        if len(logs) > 1:
            squares += statistics.variance(logs) * (len(logs) - 1)
            freedom += len(logs) - 1
    return math.sqrt(squares / freedom)


def undated_years() -> float:
    """The median age of the dated purchases in the price list, on its day."""
    prices = catalog.default_prices()
    known = [fact for fact in prices.accelerator_usd.values() if fact.value is not None]
    ages = [age_years(fact, prices.as_of) for fact in known]
    return round(float(np.median([age for age in ages if age is not None])), 1)


def text() -> str:
    """The file of the parameters."""
    pairs = pairs_of(priced(PURCHASE))
    bought, (change, changes) = fitted(pairs), of_one_seller()
    detail = f"{len(pairs)} pairs of prices of one accelerator"
    rows = {
        "purchase": {
            "sellers": (bought.sellers, "epoch-prices", detail),
            "root_year": (bought.root_year, "epoch-prices", detail),
            "undated_years": (undated_years(),
                              "epoch-prices", "median age of the dated prices in the list"),
        },
        "hourly": {
            **{name: (round(pooled(name) / math.sqrt(2), 3), SOURCE,
                      "of accelerators with two sellers or more, over the root of 2")
               for name in RENT_CLASSES},
            "root_year": (change, "epoch-prices", f"{changes} changes of a seller's rent"),
        },
    }  # fmt: skip
    lines = [
        "# Written by python -m benchmarks.price_spread from models/prices/observations.csv and",
        "# rents.csv. sellers, and classes of sellers: standard deviation of the logarithm of a",
        "# price from seller to seller; root_year: of its change within a year; undated_years: how",
        "# old a price without a date counts; unchecked: of a price from memory, in addition.",
    ]
    for kind, parts in rows.items():
        lines.append(f"{kind}:")
        lines += [
            f"  {part}: {{value: {value:g}, source: {source}, status: derived, detail: '{said}'}}"
            for part, (value, source, said) in parts.items()
        ]
    lines.append(
        f"unchecked: {{value: {UNCHECKED:g}, source: recalled, status: unverified, "
        "detail: 'judged: a factor 1.8 either way, nine times in ten'}"
    )
    return "\n".join([*lines, ""]).replace("seller's", "seller''s")


if __name__ == "__main__":
    Path(OUT).write_text(text(), encoding="utf-8")
    print(OUT.read_text(encoding="utf-8"))
