"""What points are worth by the rule of a recommendation, in every draw, and what is lost by the
wrong one.

The worth of point j in draw d is 0 where it misses a constraint in that draw, else

    cheapest               1 / cost
    fastest                gain
    speed-per-dollar       gain / cost; where some points cost nothing, (gain - the largest of
                           theirs) / cost, and theirs counts where no other point gains more
    cheapest-within-5%     1 / cost where its gain is at least 95 % of the largest, else 0

and its regret ``1 - worth / largest worth of the draw``: of the rule's own aim, the share that
whoever takes j does without. Where no point meets the constraints nothing is lost by any choice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dse.model.arrays import Array, Mask

NEAR_FASTEST = 0.05  # "within 5 % of the fastest"
CHEAPEST, FASTEST, SPEED_PER_DOLLAR = "cheapest", "fastest", "speed-per-dollar"
WITHIN = "cheapest-within-5%"
_LEAST = 1e-300


@dataclass(frozen=True)
class Priced:
    """Objectives of points, each in as many rows (draws, or prices): (rows, points).

    costs: of each quantity that is minimised. met: whether all constraints are met.
    """

    gain: Array
    costs: Sequence[Array]
    met: Mask


def worth(rule: str, priced: Priced) -> Array:
    """What every point is worth, (rows, points), at least 0; see the module."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = _WORTHS[rule](priced)
    usable = priced.met & np.isfinite(found)
    return np.where(usable, found, np.where(np.isposinf(found) & priced.met, np.inf, 0.0))


def by_worth(rule: str, objectives: Sequence[Array], met: Mask | None = None) -> NDArray[np.intp]:
    """Positions of points by falling worth, and of those worth the same the ones that gain most
    first, (..., points).

    objectives: gain, cost and, where there is one, the other cost, (..., points). met: whether
    points meet the constraints; all do if it is None. The other cost counts where it differs.
    """
    gain, cost, *others = (np.atleast_2d(column) for column in objectives)
    costs = [cost, *(other for other in others if np.ptp(other) > 0)]
    usable = np.ones(gain.shape, dtype=bool) if met is None else np.atleast_2d(met)
    worths = worth(rule, Priced(gain, costs, usable))
    found = np.lexsort((-gain, -worths), axis=-1)
    return found.reshape(np.shape(objectives[0]))


def gain_per_cost(gain: Array, cost: Array, met: Mask) -> Array:
    """What every point gains for its cost beyond what can be had for nothing, (rows, points).

    ``(gain - g) / cost`` with g the largest gain of the row's points that cost nothing, as hardware
    does that stands there already; 0 where there are none. Points that cost nothing are worth 0, or
    their gain where no other point of the row gains more than g.
    """
    free = met & (cost <= 0)
    if not free.any():
        return np.asarray(gain / cost)
    stands = np.where(free, gain, 0.0).max(axis=1, keepdims=True)
    added = np.where(met & (cost > 0), np.maximum(gain - stands, 0.0), 0.0)
    none = added.max(axis=1, keepdims=True) <= 0
    return np.where(free, np.where(none, gain, 0.0), added / np.where(cost > 0, cost, 1.0))


def above_nothing(cost: Array) -> Array:
    """Costs for a logarithmic scale: what costs nothing stands with the cheapest of the row that
    costs something, (rows, points)."""
    least = np.where(cost > 0, cost, np.inf).min(axis=-1, keepdims=True)
    return np.maximum(cost, np.where(np.isfinite(least), least, _LEAST))


def _within(priced: Priced) -> Array:
    gain = np.where(priced.met, priced.gain, -np.inf)
    enough = gain >= (1 - NEAR_FASTEST) * gain.max(axis=1, keepdims=True)
    return np.where(enough, 1 / priced.costs[0], 0.0)


_WORTHS: Mapping[str, Callable[[Priced], Array]] = {
    CHEAPEST: lambda priced: 1 / priced.costs[0],
    FASTEST: lambda priced: priced.gain,
    SPEED_PER_DOLLAR: lambda priced: gain_per_cost(priced.gain, priced.costs[0], priced.met),
    WITHIN: _within,
}


def best(worths: Array) -> NDArray[np.intp]:
    """The position of the best point of each row, the first where several are; -1 where no point is
    worth anything."""
    found = np.argmax(worths, axis=1)
    return np.where(worths.max(axis=1) > 0, found, -1)


def regret(worths: Array) -> Array:
    """Of the rule's aim the share that every point does without, (rows, points)."""
    most = worths.max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        shares = np.where(np.isposinf(most), np.where(np.isposinf(worths), 1.0, 0.0),
                          worths / np.where(most > 0, most, 1.0))  # fmt: skip
    return np.where(most > 0, 1 - shares, 0.0)
