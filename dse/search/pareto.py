"""The exact front of two objectives, with its ties.

A point is dominated if another is at least as good in both objectives and better in one. Points
that are equal in both are ties: the front keeps one entry for them, with how many there are and
the lowest indices among them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dse.model.arrays import Array, Mask

Indices = NDArray[np.int64]

KEPT_TIES = 64  # indices kept per front point; the count is always exact


@dataclass(frozen=True)
class Front:
    """Non-dominated points by rising cost; arrays of shape (front,).

    gain: the maximised objective. cost: the minimised one. ties: how many points have exactly these
    values. indices: per front point its lowest point indices, ascending, at most KEPT_TIES.
    """

    gain: Array
    cost: Array
    ties: Indices
    indices: tuple[Indices, ...]

    def __len__(self) -> int:
        return len(self.gain)

    @property
    def best(self) -> Indices:
        """The lowest index of each front point."""
        return np.array([indices[0] for indices in self.indices], dtype=np.int64)


def empty_front() -> Front:
    """The front of no points."""
    nothing = np.zeros(0)
    return Front(nothing, nothing, np.zeros(0, dtype=np.int64), ())


def nondominated(gain: Array, cost: Array) -> Indices:
    """Positions of the non-dominated among (gain, cost), ties included, by rising cost.

    gain, cost: shape (points,), finite. Sort by cost, then by falling gain: a point survives if no
    cheaper or equally cheap point before it gains as much, unless it equals the survivor before it.
    """
    order = np.lexsort((-gain, cost))
    sorted_gain, sorted_cost = gain[order], cost[order]
    before = np.concatenate(([-np.inf], np.maximum.accumulate(sorted_gain)[:-1]))
    fresh = sorted_gain > before
    # A tie follows its equal directly in this order, so it belongs to the last fresh point.
    group = np.cumsum(fresh) - 1
    leaders = np.flatnonzero(fresh)
    if len(leaders) == 0:
        return np.zeros(0, dtype=np.int64)
    leader = leaders[np.maximum(group, 0)]
    equal = (sorted_gain == sorted_gain[leader]) & (sorted_cost == sorted_cost[leader])
    return np.asarray(order[equal & (group >= 0)], dtype=np.int64)


def front_of(gain: Array, cost: Array, indices: Indices) -> Front:
    """The front of points given one by one; all arrays of shape (points,)."""
    keep = nondominated(gain, cost)
    if len(keep) == 0:
        return empty_front()
    starts = _group_starts(gain[keep], cost[keep])
    groups = np.split(indices[keep], starts[1:])
    return Front(
        gain[keep[starts]],
        cost[keep[starts]],
        np.diff(np.append(starts, len(keep))).astype(np.int64),
        tuple(np.sort(group)[:KEPT_TIES] for group in groups),
    )


def _group_starts(gain: Array, cost: Array) -> Indices:
    """Where runs of equal (gain, cost) begin."""
    change = (np.diff(gain) != 0) | (np.diff(cost) != 0)
    return np.flatnonzero(np.concatenate(([True], change))).astype(np.int64)


def merge(fronts: list[Front]) -> Front:
    """The front of the points of several fronts, in any order; their indices are disjoint."""
    fronts = [front for front in fronts if len(front)]
    if not fronts:
        return empty_front()
    gain = np.concatenate([front.gain for front in fronts])
    cost = np.concatenate([front.cost for front in fronts])
    ties = np.concatenate([front.ties for front in fronts])
    indices = [entry for front in fronts for entry in front.indices]
    keep = nondominated(gain, cost)
    starts = _group_starts(gain[keep], cost[keep])
    stops = [*starts[1:].tolist(), len(keep)]
    members = keep.tolist()
    return Front(
        gain[keep[starts]],
        cost[keep[starts]],
        np.add.reduceat(ties[keep], starts),
        tuple(
            _lowest([indices[position] for position in members[start:stop]])
            for start, stop in zip(starts.tolist(), stops, strict=True)
        ),
    )


def _lowest(parts: list[Indices]) -> Indices:
    if len(parts) == 1:  # nearly always: nothing to sort or cut
        return parts[0]
    return np.sort(np.concatenate(parts))[:KEPT_TIES]


def box_front(
    gain: Array, cost: Array, mask: Mask, number: Callable[[Indices], Indices], rival: Front
) -> Front:
    """The points of a grid that may enter the front, given the front so far.

    gain, cost, mask broadcast to the grid's shape; number: positions in the grid (C order) ->
    indices of points. Axes on which the cost does not depend are reduced by their maximum first:
    among points of equal cost only the best and its equals can survive. That is one pass over the
    grid; everything after it works on the few cells that are left.
    """
    masked = np.where(mask, gain, -np.inf)
    shape = masked.shape
    costs = np.asarray(cost)
    costs = costs.reshape((1,) * (masked.ndim - costs.ndim) + costs.shape)
    free = tuple(axis for axis in range(masked.ndim) if costs.shape[axis] == 1)
    best = masked.max(axis=free, keepdims=True) if free else masked
    flat_gain = best.ravel()
    flat_cost = np.broadcast_to(costs, best.shape).ravel()
    cells = np.flatnonzero(flat_gain > -np.inf)
    cells = cells[may_enter(flat_gain[cells], flat_cost[cells], rival)]
    cells = cells[nondominated(flat_gain[cells], flat_cost[cells])]
    if len(cells) == 0:
        return empty_front()
    # All points that reach their cell's best, in one more pass; few survive.
    bar = np.full(best.size, np.inf)
    bar[cells] = flat_gain[cells]
    reached = np.flatnonzero(masked >= bar.reshape(best.shape))
    at = np.unravel_index(reached, shape)
    kept = [np.zeros_like(a) if axis in free else a for axis, a in enumerate(at)]
    cell = np.ravel_multi_index(kept, best.shape) if shape else reached
    return front_of(flat_gain[cell], flat_cost[cell], number(reached.astype(np.int64)))


def may_enter(gain: Array, cost: Array, rival: Front) -> Mask:
    """Points not strictly dominated by the rival front; its ties stay."""
    if not len(rival):
        return np.ones(len(gain), dtype=bool)
    # rival is by rising cost and rising gain; at[k] is the dearest rival not above the cost.
    at = np.searchsorted(rival.cost, cost, side="right") - 1
    reached = np.where(at >= 0, rival.gain[np.maximum(at, 0)], -np.inf)
    same = (at >= 0) & (rival.cost[np.maximum(at, 0)] == cost)
    return np.where(same, gain >= reached, gain > reached)
