"""How far points are behind a front: by how much they fall short of the nearest front point.

A point falls short of front point f by its largest relative loss in any objective:
``max(cost / cost_f - 1, 1 - gain / gain_f)``, and with a second cost ``other / other_f - 1``.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from dse.model.arrays import Array, Mask
from dse.search.attainment import AttainmentSurface
from dse.search.pareto import Front, Indices, Values

PAIRS = 1 << 21  # of a point and a front point, looked at in one go


class FrontDistance(Protocol):
    """Distances from a front."""

    def within(self, values: Values) -> Mask:
        """Whether points are within the share of a front point; those on the front are, too."""
        ...

    def nearest(self, values: Values) -> tuple[Indices, Array]:
        """Position of the nearest front point, and the distance; of points that are within."""
        ...


class TwoObjectives:
    """Along a front of two objectives the shortfall of cost falls and that of gain rises."""

    def __init__(self, front: Front, share: float) -> None:
        self.front, self.share = front, share

    def within(self, values: Values) -> Mask:
        """See :class:`FrontDistance`."""
        gain, cost = values
        return np.asarray(self._first(cost) <= self._last(gain))

    def _first(self, cost: Array) -> Indices:
        """The cheapest front point that is dear enough."""
        return np.searchsorted(self.front.cost * (1 + self.share), cost)

    def _last(self, gain: Array) -> Indices:
        """The fastest front point that is slow enough; -1 if none is."""
        return np.searchsorted(self.front.gain * (1 - self.share), gain, side="right") - 1

    def nearest(self, values: Values) -> tuple[Indices, Array]:
        """The larger of both shortfalls is least where they cross, which halving finds."""
        gain, cost = values
        low, high = self._first(cost), self._last(gain)
        below, above = low - 1, high  # the crossing is after ``below``, at ``above`` at the latest
        while np.any(above - below > 1):
            middle = (below + above) // 2
            crossed = self._behind(gain, middle) >= self._over(cost, middle)
            parted = above - below > 1
            above = np.where(parted & crossed, middle, above)
            below = np.where(parted & ~crossed, middle, below)
        before = np.maximum(above - 1, low)
        there, here = (
            np.maximum(self._behind(gain, at), self._over(cost, at)) for at in (before, above)
        )
        return np.where(there <= here, before, above), np.minimum(there, here)

    def _behind(self, gain: Array, at: Indices) -> Array:
        return np.asarray(1 - gain / self.front.gain[at])

    def _over(self, cost: Array, at: Indices) -> Array:
        return _over(cost, self.front.cost[at])


class ThreeObjectives:
    """A front of three objectives has no order: every pair of points is looked at."""

    def __init__(self, front: Front, share: float) -> None:
        self.front = front
        # Whether some f has gain_f (1 - w) <= gain, cost_f (1 + w) >= cost and other likewise is
        # the question that a bar answers, with every sign turned round.
        most = 1 + share
        self._bar = AttainmentSurface(
            -(front.gain * (1 - share)), -(front.cost * most), -(front.other * most)
        )

    def within(self, values: Values) -> Mask:
        """See :class:`FrontDistance`."""
        gain, cost, other = values
        return np.asarray(self._bar(-gain, -cost, -other) >= -gain)

    def nearest(self, values: Values) -> tuple[Indices, Array]:
        """See :class:`FrontDistance`."""
        front, count = self.front, len(values[0])
        of, distance = np.zeros(count, dtype=np.int64), np.zeros(count)
        run = max(1, PAIRS // len(front))
        for begin in range(0, count, run):
            part = slice(begin, begin + run)
            gain, cost, other = (column[part, None] for column in values)
            short = np.maximum(_over(cost, front.cost), _over(other, front.other))
            np.maximum(short, 1 - gain / front.gain, out=short)
            of[part] = short.argmin(axis=1)
            distance[part] = short.min(axis=1)
        return of, distance


def _over(cost: Array, of: Array) -> Array:
    """By which share a cost is more than another; nothing is less than any share of something."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(of > 0, cost / of - 1, np.where(cost > 0, np.inf, 0.0))
