"""How much a point must gain at its costs, so that none of some other points is as good in all.

    bar(c, o) = max { gain_j : cost_j <= c and other_j <= o },  -inf where there is no such j

A coarse table over ranks answers most questions; the points between its lines are looked at one by
one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dse.model.arrays import Array

Ranks = NDArray[np.intp]

LINES = 256  # of the table, along either cost


class AttainmentSurface:
    """The bar that points set. gain, cost, other: shape (points,), finite, at least one point.

    Points are ranked by either cost, every ``run`` of ranks makes a line of the table, and
    ``table[i, j]`` is the largest gain among the first ``i * run`` by cost that are also among the
    first ``j * run`` by other.
    """

    def __init__(self, gain: Array, cost: Array, other: Array) -> None:
        count = len(gain)
        self._run = -(-count // LINES)
        by_cost, by_other = np.argsort(cost, kind="stable"), np.argsort(other, kind="stable")
        self._cost, self._gain_by_cost = cost[by_cost], gain[by_cost]
        self._other_by_cost = other[by_cost]
        self._other, self._gain_by_other = other[by_other], gain[by_other]
        self._cost_by_other = cost[by_other]
        place = np.arange(count) // self._run + 1
        line, column = np.empty_like(place), np.empty_like(place)
        line[by_cost], column[by_other] = place, place
        lines = int(place[-1]) + 1
        self._table = np.full((lines, lines), -np.inf)
        np.maximum.at(self._table, (line, column), gain)
        for axis in (0, 1):
            np.maximum.accumulate(self._table, axis=axis, out=self._table)

    def __call__(self, gain: Array, cost: Array, other: Array) -> Array:
        """The bar at some points, shape (points,), exact wherever their gain reaches it.

        Where a gain is below the bar, what is returned is above that gain and at most the bar.
        """
        below = np.searchsorted(self._cost, cost, side="right")
        below_other = np.searchsorted(self._other, other, side="right")
        found = np.asarray(self._table[below // self._run, below_other // self._run])
        close = np.flatnonzero(gain >= found)
        if self._run > 1 and len(close):
            found[close] = self._between(
                found[close], below[close], below_other[close], cost[close], other[close]
            )
        return found

    def _between(
        self, found: Array, below: Ranks, below_other: Ranks, cost: Array, other: Array
    ) -> Array:
        """The bar, from the table's entry and the points between its lines and these."""
        last = len(self._cost) - 1
        for step in range(1, self._run):
            at = below - below % self._run + step - 1
            within = (at < below) & (self._other_by_cost[np.minimum(at, last)] <= other)
            gain = self._gain_by_cost[np.minimum(at, last)]
            found = np.where(within & (gain > found), gain, found)
            at = below_other - below_other % self._run + step - 1
            within = (at < below_other) & (self._cost_by_other[np.minimum(at, last)] <= cost)
            gain = self._gain_by_other[np.minimum(at, last)]
            found = np.where(within & (gain > found), gain, found)
        return found
