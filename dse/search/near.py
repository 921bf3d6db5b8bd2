"""Runners-up: feasible points that a front point beats by little, the nearest ones of each.

A point is within w of front point f if it costs at most ``(1 + w) cost_f`` and gains at least
``(1 - w) gain_f``. Its distance from f is the larger of both shortfalls,
``max(cost / cost_f - 1, 1 - gain / gain_f)``; it counts as a runner-up of the nearest f. Of points
that gain and cost the same the first stands for all.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from dse.model.arrays import Array, Mask
from dse.search import bounds, cells, screening
from dse.search.pareto import Front, Indices
from dse.search.problem import Problem
from dse.study.space import Box

MOST = 5  # kept per front point


@dataclass(frozen=True)
class Near:
    """Runners-up of a front, by front point and distance; arrays of shape (points,).

    of: position of the front point. index: of the design point. all_points: how many points are
    within the share of some front point, kept or not, equals included.
    """

    of: Indices
    distance: Array
    gain: Array
    cost: Array
    index: Indices
    all_points: int


class Nearest:
    """Collects the nearest points of each front point; memory does not grow with what is added."""

    def __init__(self, front: Front, share: float, most: int = MOST) -> None:
        self.front, self.share, self.most = front, share, most
        nothing = np.zeros(0)
        none = np.zeros(0, dtype=np.int64)
        self.found = Near(none, nothing, nothing, nothing, none, 0)

    def wanted(self, gain: Array, cost: Array) -> Mask:
        """Whether points are within the share of a front point; those on the front are, too."""
        return np.asarray(self._first(cost) <= self._last(gain))

    def _first(self, cost: Array) -> Indices:
        """The cheapest front point that is dear enough."""
        return np.searchsorted(self.front.cost * (1 + self.share), cost)

    def _last(self, gain: Array) -> Indices:
        """The fastest front point that is slow enough; -1 if none is."""
        return np.searchsorted(self.front.gain * (1 - self.share), gain, side="right") - 1

    def add(self, gain: Array, cost: Array, index: Indices) -> None:
        """Points that are wanted; (points,) each. Those on the front are left out."""
        of, distance = self._nearest(gain, cost)
        found, behind = self.found, distance > 0
        every = found.all_points + int(np.count_nonzero(behind))
        behind &= distance <= self._farthest()[of]  # the others would be dropped below
        of, distance, gain, cost, index = (
            np.concatenate([old, new[behind]])
            for old, new in (
                (found.of, of), (found.distance, distance), (found.gain, gain),
                (found.cost, cost), (found.index, index),
            )
        )  # fmt: skip
        order = np.lexsort((index, cost, gain, distance, of))
        keys = np.stack([of[order].astype(np.float64), gain[order], cost[order]])
        order = order[np.any(np.diff(keys, prepend=np.nan) != 0, axis=0)]  # equals count as one
        starts = np.searchsorted(of[order], np.arange(len(self.front)))
        rank = np.arange(len(order)) - starts[of[order]]
        kept = order[rank < self.most]
        self.found = Near(of[kept], distance[kept], gain[kept], cost[kept], index[kept], every)

    def _farthest(self) -> Array:
        """Distance beyond which nothing is kept, by front point."""
        farthest = np.full(len(self.front), np.inf)
        at, count = np.unique(self.found.of, return_counts=True)
        full = at[count == self.most]
        ends = np.searchsorted(self.found.of, full, side="right") - 1
        farthest[full] = self.found.distance[ends]
        return farthest

    def _nearest(self, gain: Array, cost: Array) -> tuple[Indices, Array]:
        """Position of the nearest front point, and the distance.

        Along the front the shortfall of cost falls and that of gain rises: the larger of both is
        least where they cross, which halving finds.
        """
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
        return np.asarray(cost / self.front.cost[at] - 1)


def near(
    problem: Problem, boxes: Iterable[Box], front: Front, share: float, most: int = MOST
) -> Near:
    """The runners-up among the points of boxes; share: 0.05 for 5 %."""
    nearest = Nearest(front, share, most)
    for box in boxes:
        for part in _cells(problem, box, nearest):
            nearest.add(*screening.wanted_points(problem, part, nearest.wanted))
    return nearest.found


def _cells(problem: Problem, box: Box, nearest: Nearest) -> Iterable[cells.Cells]:
    if bounds.screens(problem, box):
        return screening.wanted_cells(problem, box, nearest.wanted)[1]
    return (cells.whole(problem, piece) for piece in box.pieces(cells.PRICED_POINTS))
