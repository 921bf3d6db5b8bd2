"""At which measured value of a number the rule recommends something else.

A number that one could measure, such as the logarithm of how far a rate is off, is a sum of
standard normals, ``x = w n``, of which other numbers share some. Whoever measures x then expects
``E(n | x) = w x / (w w)`` of them, so that a rate tells of other accelerators what they have in
common. Points near the front are priced at these means over the 90 % interval of x, all else at its
best estimate, and the value nearest to the estimate is told on each side from which on the rule
picks another purchase.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dse.model.arrays import Array, Mask
from dse.pricing.drawn_points import DrawnQuantities, drawn_quantities
from dse.pricing.draws import Variation, normal
from dse.pricing.uncertainty import INTERVAL
from dse.search.certainty.flips import picks, same_machines
from dse.search.certainty.sensitivity import DEAD
from dse.search.certainty.sources import names_behind
from dse.search.certainty.study_draws import StudyDraws
from dse.search.certainty.usefulness import Priced
from dse.study import Value

Rows: TypeAlias = NDArray[np.intp]
MEASURABLE = ("compute", "comm", "step")  # seconds of a step; the first that moves is told
LEAST_LIKELY = 0.05  # another answer that is less likely is not told
_VALUES = 200  # on each side of the estimate
_EXACT = 1e-6  # of its spread, by what a number may be off the sum of its normals


@dataclass(frozen=True)
class Turned:
    """A price or a time from which on another purchase is recommended.

    factor: of what it is by the best estimate. at: position of the other purchase's best point; -1
    where nothing meets the limits. until: the factor at which yet another is recommended, or the
    first one again; None where it is that to the end of the interval. likely: the probability that
    a time is between the two; None of a price.
    """

    factor: float
    at: int
    until: float | None = None
    likely: float | None = None


@dataclass(frozen=True)
class TurningPoints:
    """What to measure, and what it decides.

    quantity: of :data:`MEASURABLE`. at: position of the point of which it is measured; None for the
    baseline. estimate: seconds of it by the best estimate. slower, faster: None where no such value
    within the interval changes the answer, or hardly ever does.
    """

    quantity: str
    at: int | None
    estimate: float
    slower: Turned | None
    faster: Turned | None


def turning_points(
    found: StudyDraws, name: str, own: int, among: Sequence[int]
) -> TurningPoints | None:
    """Of a number that the record has; None where no value within its interval changes the answer,
    where it is no sum of normals or nothing that can be timed depends on it, and where the rule
    picks another purchase to begin with.

    own: position of the recommended point. among: of those that may be picked.
    """
    x, study = found.record.noted[name], found.problem.study
    weights = _weights(found, name)
    if weights is None:
        return None
    low, high = np.percentile(x, INTERVAL)
    values = np.concatenate(
        [np.linspace(0, max(high, 0), _VALUES), np.linspace(0, min(low, 0), _VALUES)]
    )
    total = sum(float(np.sum(of**2)) for of in weights.values())
    given = {one: np.multiply.outer(values, of / total) for one, of in weights.items()}
    points = [found.near.points[at] for at in among]
    priced = _priced_at(found, [*points, study.baseline.values], given, len(values))
    place = list(among).index(own)
    gain, *costs = (priced[one.name][:, :-1] for one in study.objectives)
    picked, other = picks(
        found.rule, Priced(gain, costs, priced.meets_all[:, :-1]), found.purchases[[*among]],
        place, same_machines(points, place), study.resolution,
    )  # fmt: skip
    if other[0]:
        return None
    # The row from which on another purchase is picked, and from which on yet another.
    spans = [span for side in np.split(np.arange(len(values)), 2)
             if (span := _first(side, other, found.purchases[[*among]][picked]))]  # fmt: skip
    to = [int(picked[row]) for row, _ in spans if picked[row] >= 0]
    told = _told(priced, [place, *to, len(points)]) if spans else None
    if told is None:
        return None
    quantity, carrier = told
    seconds, turned = priced[quantity][:, carrier], {}
    for row, end in spans:
        past = np.abs(x) >= abs(values[row])
        past &= np.sign(x) == np.sign(values[row])
        if end is not None:
            past &= np.abs(x) < abs(values[end])
        factor, at, likely = float(seconds[row] / seconds[0]), int(picked[row]), np.mean(past)
        if likely >= LEAST_LIKELY:
            turned[factor > 1] = Turned(
                factor,
                among[at] if at >= 0 else -1,
                None if end is None else float(seconds[end] / seconds[0]),
                float(likely),
            )
    measured = among[carrier] if carrier < len(points) else None
    return TurningPoints(quantity, measured, float(seconds[0]), turned.get(True), turned.get(False))


def _first(side: Rows, other: Mask, purchases: Rows) -> tuple[int, int | None] | None:
    """The first row of a side on which another purchase is picked, and the next on which that is
    not, each None for none. side: rows, going away from the estimate."""
    first = np.flatnonzero(other[side])
    if not len(first):
        return None
    from_on = side[first[0] :]
    again = np.flatnonzero(~other[from_on] | (purchases[from_on] != purchases[from_on[0]]))
    return int(from_on[0]), int(from_on[again[0]]) if len(again) else None


def _weights(found: StudyDraws, name: str) -> Mapping[str, Array] | None:
    """By the name of its normals, with what weight a number has each, () or (columns,); None where
    it is not their sum."""
    x, columns = found.record.noted[name], found.record.asked
    names = sorted(names_behind(name, columns) & columns.keys())
    if not names:
        return None
    drawn = [normal(one, len(x), columns[one]).reshape(len(x), -1) for one in names]
    every = np.concatenate(drawn, axis=1)
    weights, *_ = np.linalg.lstsq(every, x)
    off = float(np.abs(every @ weights - x).max())
    if not np.any(weights) or off > _EXACT * float(np.std(x)):
        return None
    ends = np.cumsum([of.shape[1] for of in drawn])[:-1]
    return {
        one: of if columns[one] is not None else of[0]
        for one, of in zip(names, np.split(weights, ends), strict=True)
    }


def _priced_at(
    found: StudyDraws,
    points: Sequence[Mapping[str, Value | None]],
    given: Mapping[str, Array],
    count: int,
) -> DrawnQuantities:
    """All that is weighed, limited or measured, with all else at its best estimate."""
    names = [*(one.name for one in found.problem.study.objectives), *MEASURABLE]
    variation = Variation(alone=frozenset(), given=given)
    return drawn_quantities(found.problem, points, names, variation, count)


def _told(priced: DrawnQuantities, carriers: Sequence[int]) -> tuple[str, int] | None:
    """Which quantity of which point to measure: of the first that depends on the number."""
    for carrier in carriers:
        for quantity in MEASURABLE:
            seconds = priced[quantity][:, carrier]
            if np.all(seconds > 0) and np.ptp(np.log(seconds)) > DEAD:
                return quantity, carrier
    return None
