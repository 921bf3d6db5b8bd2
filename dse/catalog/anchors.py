"""What laws and rows of work leave of measured training, as learned from published rates.

``log(measured / modelled seconds)`` of a row is a sum of effects, one of each component: of its
family of networks, of the family in its format on its generation of accelerators, of the family
under its stack, of the accelerator, of the network, of its size and sequence length, and of who
published it. Effects are normal around 0 with a deviation for each component, so that what few rows
tell is shrunk (partial pooling). The file holds their posterior; ``python -m benchmarks.anchors``
makes it anew.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dse.catalog.facts import Fact
from dse.catalog.reader import Entry, of_catalogue

ANCHORS, EFFECTS = "anchors.yaml", "anchors.csv"


@dataclass(frozen=True, eq=False)
class Anchors:
    """Effects on the logarithm of a step's seconds.

    deviations: of the effects of each component, before any row is seen. noise: of a row. scatter:
    by what effects and noise are multiplied, by family; 1 of those not named. effects: component
    and level -> position in mean, (effects,), and covariance, (effects, effects). facts: the
    numbers of the file, of how many rows and when they were fitted among them. faster: share of its
    deviation that an effect of a component has towards shorter steps while nobody knows it, by
    component; 1 of those not named.
    """

    deviations: Mapping[str, float]
    noise: float
    scatter: Mapping[str, float]
    effects: Mapping[tuple[str, str], int]
    mean: NDArray[np.float64]
    covariance: NDArray[np.float64]
    facts: tuple[Fact, ...]
    faster: Mapping[str, float] = field(default_factory=dict)


@of_catalogue(ANCHORS)
def anchors(entry: Entry) -> Anchors:
    """Those of the catalogue."""
    entry.positive("rows", "count")  # what it was fitted on, and when: a fact to show
    noise = entry.positive("noise", "count")
    deviations, scatter, faster = map(entry.known_numbers, ("deviations", "scatter", "faster"))
    with entry.path.with_name(EFFECTS).open(newline="", encoding="utf-8") as file:
        _, *rows = csv.reader(file)
    numbers = np.array([[float(cell) for cell in row[2:]] for row in rows])
    effects = {(row[0], row[1]): number for number, row in enumerate(rows)}
    mean, covariance = numbers[:, 0], numbers[:, 1:]
    for array in (mean, covariance):
        array.setflags(write=False)
    return Anchors(
        deviations, noise, scatter, effects, mean, covariance, tuple(entry.facts), faster
    )
