"""Runners-up: feasible points that a front point beats by little, the nearest ones of each.

A point is within w of front point f if it costs at most ``(1 + w) cost_f``, of each cost where
there are two, and gains at least ``(1 - w) gain_f``. Its distance from f is the largest shortfall,
``max(cost / cost_f - 1, 1 - gain / gain_f)``; it counts as a runner-up of the nearest f. Of points
that gain and cost the same the first stands for all.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from dse.model.arrays import Array, Mask
from dse.pricing.problem import Problem
from dse.search import bounds, cells, screening
from dse.search.pareto import AttainmentSurface, Front, Indices, Values
from dse.study.space import Box

PAIRS = 1 << 21  # of a point and a front point, looked at in one go


@dataclass(frozen=True)
class NearestPoints:
    """Runners-up of a front, by front point and distance; arrays of shape (points,).

    of: position of the front point. values: gain, cost and, where there is one, the other cost.
    index: of the design point.
    """

    of: Indices
    distance: Array
    values: Values
    index: Indices


class Collector:
    """Collects the nearest points of each front point; memory does not grow with what is added.

    objectives: how many the study has.
    """

    def __init__(self, front: Front, share: float, most: int, objectives: int = 2) -> None:
        self.front, self.most = front, most
        # Whether some f has gain_f (1 - w) <= gain, cost_f (1 + w) >= cost and other likewise is
        # the question that a bar answers, with every sign turned round.
        dearest = 1 + share
        self._bar = AttainmentSurface(
            -(front.gain * (1 - share)), -(front.cost * dearest), -(front.other * dearest)
        )
        nothing = np.zeros(0)
        none = np.zeros(0, dtype=np.int64)
        self.found = NearestPoints(none, nothing, (nothing,) * objectives, none)

    def wanted(self, values: Values) -> Mask:
        """Whether points are within the share of a front point; those on the front are, too."""
        gain, cost, *other = values
        return np.asarray(self._bar(-gain, -cost, -other[0] if other else cost * 0) >= -gain)

    def add(self, values: Values, index: Indices) -> None:
        """Points that are wanted; (points,) each. Those on the front are left out."""
        of, distance = self._nearest(values)
        found, behind = self.found, distance > 0
        behind &= distance <= self._farthest()[of]  # the others would be dropped below
        of, distance, index, *columns = (
            np.concatenate([old, new[behind]])
            for old, new in (
                (found.of, of), (found.distance, distance), (found.index, index),
                *zip(found.values, values, strict=True),
            )
        )  # fmt: skip
        order = np.lexsort((index, *reversed(columns), distance, of))
        keys = np.stack([of[order].astype(np.float64), *(column[order] for column in columns)])
        order = order[np.any(np.diff(keys, prepend=np.nan) != 0, axis=0)]  # equals count as one
        starts = np.searchsorted(of[order], np.arange(len(self.front)))
        rank = np.arange(len(order)) - starts[of[order]]
        kept = order[rank < self.most]
        nearest = tuple(column[kept] for column in columns)
        self.found = NearestPoints(of[kept], distance[kept], nearest, index[kept])

    def _nearest(self, values: Values) -> tuple[Indices, Array]:
        """Position of the nearest front point, the first of several, and the distance."""
        front, count = self.front, len(values[0])
        of, distance = np.zeros(count, dtype=np.int64), np.zeros(count)
        run = max(1, PAIRS // len(front))
        for begin in range(0, count, run):
            part = slice(begin, begin + run)
            gain, *costs = (column[part, None] for column in values)
            short = 1 - gain / front.gain
            for cost, of_front in zip(costs, (front.cost, front.other), strict=False):
                np.maximum(short, _over(cost, of_front), out=short)
            of[part], distance[part] = short.argmin(axis=1), short.min(axis=1)
        return of, distance

    def _farthest(self) -> Array:
        """Distance beyond which nothing is kept, by front point."""
        farthest = np.full(len(self.front), np.inf)
        at, count = np.unique(self.found.of, return_counts=True)
        full = at[count == self.most]
        ends = np.searchsorted(self.found.of, full, side="right") - 1
        farthest[full] = self.found.distance[ends]
        return farthest


def _over(cost: Array, of: Array) -> Array:
    """By which share a cost is more than another; nothing is less than any share of something."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(of > 0, cost / of - 1, np.where(cost > 0, np.inf, 0.0))


def nearest_points(
    problem: Problem, boxes: Iterable[Box], front: Front, share: float, most: int
) -> NearestPoints:
    """The runners-up among the points of boxes; share: 0.05 for 5 %."""
    nearest = Collector(front, share, most, len(problem.study.objectives))
    for box in boxes:
        for part in _cells(problem, box, nearest):
            nearest.add(*screening.wanted_points(problem, part, nearest.wanted))
    return nearest.found


def _cells(problem: Problem, box: Box, nearest: Collector) -> Iterable[cells.Cells]:
    if bounds.screens(problem, box):
        return screening.wanted_cells(problem, box, nearest.wanted)[1]
    return (cells.whole(problem, piece) for piece in box.pieces(cells.PRICED_POINTS))
