"""The exact front of two or three objectives, with its ties.

A point is dominated if another is at least as good in all objectives and better in one. Points that
are equal in all are ties: the front keeps one entry for them, with how many there are and the
lowest indices among them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dse.model.arrays import Array, Mask

Indices = NDArray[np.int64]
Ranks = NDArray[np.intp]
# The objectives of points: gain, cost and, where a study minimises two, the other cost.
Values: TypeAlias = Sequence[Array]

LINES = 256  # of the table of an attainment surface, along either cost
KEPT_TIES = 64  # indices kept per front point; the count is always exact


class AttainmentSurface:
    """How much a point must gain at its costs, so that none of some others is as good in all.

        bar(c, o) = max { gain_j : cost_j <= c and other_j <= o },  -inf where there is no such j

    gain, cost, other: shape (points,), finite, at least one point. A coarse table over ranks
    answers most questions; the points between its lines are looked at one by one.

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


@dataclass(frozen=True)
class Front:
    """Non-dominated points by rising cost, then by rising other; arrays of shape (front,).

    gain: the maximised objective. cost: the minimised one. other: the second minimised one, 0 where
    there is none. ties: how many points have exactly these values. indices: per front point its
    lowest point indices, ascending, at most KEPT_TIES.
    """

    gain: Array
    cost: Array
    other: Array
    ties: Indices
    indices: tuple[Indices, ...]

    def __len__(self) -> int:
        return len(self.gain)

    @property
    def best(self) -> Indices:
        """The lowest index of each front point."""
        return np.array([indices[0] for indices in self.indices], dtype=np.int64)

    @cached_property
    def attainment(self) -> AttainmentSurface:
        """What a point must gain to be dominated by none of the front."""
        return AttainmentSurface(self.gain, self.cost, self.other)


def empty_front() -> Front:
    """The front of no points."""
    nothing = np.zeros(0)
    return Front(nothing, nothing, nothing, np.zeros(0, dtype=np.int64), ())


def nondominated(gain: Array, cost: Array, other: Array | None = None) -> Indices:
    """Positions of the non-dominated, ties included, by rising cost, then other.

    gain, cost, other: shape (points,), finite. Where ``other`` is the same for all it decides
    nothing.
    """
    import moocore  # takes 0.1 s

    if other is None or len(other) == 0 or other.min() == other.max():
        other = np.zeros(len(gain))
        columns = [-gain, cost]
    else:
        columns = [-gain, cost, other]
    kept = np.flatnonzero(moocore.is_nondominated(np.column_stack(columns), keep_weakly=True))
    order = np.lexsort((-gain[kept], other[kept], cost[kept]))
    return np.asarray(kept[order], dtype=np.int64)


def front_of(gain: Array, cost: Array, indices: Indices, other: Array | None = None) -> Front:
    """The front of points given one by one; all arrays of shape (points,)."""
    other = np.zeros(len(gain)) if other is None else other
    ties = np.ones(len(gain), dtype=np.int64)
    return _front(gain, cost, other, ties, lambda equals: _lowest([indices[equals]]))


def merge(fronts: list[Front]) -> Front:
    """The front of the points of several fronts, in any order; their indices are disjoint."""
    fronts = [front for front in fronts if len(front)]
    if len(fronts) < 2:
        return fronts[0] if fronts else empty_front()
    gain, cost, other, ties = (
        np.concatenate([getattr(front, name) for front in fronts])
        for name in ("gain", "cost", "other", "ties")
    )
    indices = [entry for front in fronts for entry in front.indices]
    return _front(gain, cost, other, ties, lambda equals: _lowest([indices[at] for at in equals]))


def _front(
    gain: Array, cost: Array, other: Array, ties: Indices, lowest: Callable[[list[int]], Indices]
) -> Front:
    """The front of entries that stand for ``ties`` points each, (entries,). lowest: the indices to
    keep of entries that are equal in all objectives."""
    keep = nondominated(gain, cost, other)
    if len(keep) == 0:
        return empty_front()
    change = [np.diff(column[keep]) != 0 for column in (gain, cost, other)]
    starts = np.flatnonzero(np.concatenate(([True], np.logical_or.reduce(change))))
    first, members = keep[starts], keep.tolist()
    ends = pairwise([*starts.tolist(), len(keep)])
    return Front(
        gain[first], cost[first], other[first], np.add.reduceat(ties[keep], starts),
        tuple(lowest(members[start:end]) for start, end in ends),
    )  # fmt: skip


def _lowest(parts: list[Indices]) -> Indices:
    if len(parts) == 1 and len(parts[0]) == 1:  # nearly always: nothing to sort or cut
        return parts[0]
    return np.sort(np.concatenate(parts))[:KEPT_TIES]


def box_front(
    values: Values, mask: Mask, number: Callable[[Indices], Indices], rival: Front
) -> Front:
    """The points of a grid that may enter the front, given the front so far.

    values, mask broadcast to the grid's shape; number: positions in the grid (C order) -> indices
    of points. Axes on which no cost depends are reduced by their maximum first: among points of
    equal costs only the best and its equals can survive. That is one pass over the grid; everything
    after it works on the few cells that are left.
    """
    gain, *costs = values
    masked = np.where(mask, gain, -np.inf)
    shape = masked.shape
    costs = [cost.reshape((1,) * (masked.ndim - cost.ndim) + cost.shape) for cost in costs]
    free = tuple(
        axis for axis in range(masked.ndim) if all(cost.shape[axis] == 1 for cost in costs)
    )
    best = masked.max(axis=free, keepdims=True) if free else masked
    flat = [best.ravel(), *(np.broadcast_to(cost, best.shape).ravel() for cost in costs)]
    cells = np.flatnonzero(flat[0] > -np.inf)
    cells = cells[may_enter([column[cells] for column in flat], rival)]
    cells = cells[nondominated(*(column[cells] for column in flat))]
    if len(cells) == 0:
        return empty_front()
    # All points that reach their cell's best, in one more pass; few survive.
    bar = np.full(best.size, np.inf)
    bar[cells] = flat[0][cells]
    reached = np.flatnonzero(masked >= bar.reshape(best.shape))
    at = np.unravel_index(reached, shape)
    kept = [np.zeros_like(a) if axis in free else a for axis, a in enumerate(at)]
    cell = np.ravel_multi_index(kept, best.shape) if shape else reached
    found, first, *second = number(reached.astype(np.int64)), *(column[cell] for column in flat)
    return front_of(first, second[0], found, *second[1:])


def may_enter(values: Values, rival: Front) -> Mask:
    """Points not strictly dominated by the rival front; its ties stay. values: (points,) each."""
    gain, cost, *more = values
    if not len(rival):
        return np.ones(len(gain), dtype=bool)
    if more:
        return _may_enter_three(gain, cost, more[0], rival)
    # rival is by rising cost and rising gain; at[k] is the dearest rival not above the cost.
    at = np.searchsorted(rival.cost, cost, side="right") - 1
    reached = np.where(at >= 0, rival.gain[np.maximum(at, 0)], -np.inf)
    same = (at >= 0) & (rival.cost[np.maximum(at, 0)] == cost)
    return np.where(same, gain >= reached, gain > reached)


def _may_enter_three(gain: Array, cost: Array, other: Array, rival: Front) -> Mask:
    bar = rival.attainment(gain, cost, other)
    mask = np.asarray(gain > bar)
    # What just reaches the bar is dominated, unless it is a point of the front itself, of which no
    # two cost the same in both ways; complex numbers compare both at once.
    level = np.flatnonzero(gain == bar)
    if len(level):
        mask[level] = np.isin(cost[level] + 1j * other[level], rival.cost + 1j * rival.other)
    return mask
