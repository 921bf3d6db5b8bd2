"""How much a point would add to a front, and which of many to price."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from dse.model.arrays import Array, Mask
from dse.search.guided.archive import Archive

STALE = 8  # rounds that gain less than this share of hypervolume, all together
LEAST_GAIN = 1e-6
INFEASIBLE = 0.3  # of the front's extent, per unit of log(1 + violation)
# A part of the points is picked by each: (deviations that a point is hoped to be better than
# expected, how far it must be from all that is known, in units of the front's extent).
HOPES = ((0.0, 1e-4), (0.5, 1e-3), (1.5, 1e-3))
LAST = 100.0  # added to the shortfall of what is taken last
HOPELESS = 1e6  # violations beyond are not told apart


class Frame:
    """The front's extent, in which distances are counted.

    front: shape (points, objectives + 1), the last column its violation: where nothing feasible is
    known, points fall short by theirs alone.
    """

    def __init__(self, front: Array) -> None:
        self._nothing_feasible = bool(front[:, -1].any())
        front = front[:, :-1]
        self._low = front.min(axis=0)
        self._extent = np.maximum(np.ptp(front, axis=0), 1e-6)
        self._front = (front - self._low) / self._extent

    def shortfall(self, losses: Array) -> Array:
        """How much each point must gain in some objective to be on the front; < 0: it is beyond.

        losses: shape (points, objectives + 1).
        """
        if self._nothing_feasible:
            return np.asarray(losses[:, -1])
        return _behind(self._placed(losses), self._front)

    def _placed(self, losses: Array) -> Array:
        """In units of the front's extent, shape (objectives, points).

        What is infeasible loses more in all of them.
        """
        placed = (losses[:, :-1] - self._low) / self._extent
        return np.ascontiguousarray((placed + INFEASIBLE * np.maximum(losses[:, -1:], 0.0)).T)

    def picked(self, losses: Array, doubts: Array, count: int) -> NDArray[np.int64]:
        """Positions of the points to take, each the one that is furthest beyond the front and
        those taken before it; last those that are expected where another is.

        doubts: standard deviations of the losses, by which the later ones are hoped to be better.
        """
        if self._nothing_feasible:
            return np.argsort(self.shortfall(losses), kind="stable")[:count]
        count = min(count, len(losses))
        expected, doubts = self._placed(losses), (doubts[:, :-1] / self._extent).T
        taken: list[int] = []
        for turn, (hope, alike) in enumerate(HOPES, 1):
            placed = expected - hope * doubts
            behind = np.full(len(losses), -np.inf)
            last = np.zeros(len(losses), dtype=bool)
            for point in (*self._front, *expected[:, taken].T):
                _reckon(behind, last, placed, expected, point, alike)
            while len(taken) < turn * count // len(HOPES):
                score = np.where(last, behind + LAST, behind)
                score[taken] = np.inf
                taken.append(int(score.argmin()))
                _reckon(behind, last, placed, expected, expected[:, taken[-1]], alike)
        return np.array(taken, dtype=np.int64)


def _behind(placed: Array, front: Iterable[Array]) -> Array:
    behind = np.full(placed.shape[1], -np.inf)
    for point in front:
        np.maximum(behind, _beyond(placed, point), out=behind)
    return behind


def _beyond(placed: Array, point: Array) -> Array:
    """The least that a point loses to another; placed: (objectives, points)."""
    return np.asarray((placed - point[:, None]).min(axis=0))


def _reckon(
    behind: Array, last: Mask, placed: Array, expected: Array, point: Array, alike: float
) -> None:
    """Count in one more point of the front; last: what is expected where a known point is."""
    np.maximum(behind, _beyond(placed, point), out=behind)
    last |= np.abs(expected - point[:, None]).max(axis=0) < alike


def front_of(archive: Archive) -> Array:
    """Losses of the archive's front, shape (points, objectives + 1)."""
    losses, usable = losses_of(archive.numbers)
    return np.asarray(losses[[at for at in archive.best() if usable[at]]])


def stale(fronts: list[Array]) -> bool:
    """Whether the last rounds gained next to nothing; a front that is not feasible never has."""
    import moocore

    if len(fronts) <= STALE or not len(fronts[-1]) or fronts[-1][:, -1].any():
        return False
    now, then = fronts[-1][:, :-1], fronts[-1 - STALE][:, :-1]
    low, extent = now.min(axis=0), np.maximum(np.ptp(now, axis=0), 1e-6)
    before, after = (
        float(moocore.hypervolume((front - low) / extent, ref=[1.1] * now.shape[1]))
        for front in (then, now)
    )
    return after - before < LEAST_GAIN * after


def losses_of(numbers: Array) -> tuple[Array, Mask]:
    """(what to have little of, which rows are usable), from objectives and violation.

    Objectives by logarithm, and violations, which begin at 0, by log(1 + x). A cost of nothing, of
    hardware that is owned, counts as a tenth of the least that is not.
    """
    values, violation = numbers[:, :-1].copy(), numbers[:, -1]
    for cost in values.T[1:]:
        least = np.min(cost[cost > 0], initial=np.inf)
        cost[cost == 0] = least / 10 if np.isfinite(least) else 1.0
    usable = np.all(np.isfinite(values) & (values > 0), axis=1)
    losses = np.log(np.where(usable[:, None], values, 1.0))
    losses[:, 0] *= -1.0  # the one to have much of
    past = np.where(usable, np.log1p(np.clip(violation, 0.0, HOPELESS)), np.log1p(HOPELESS))
    return np.column_stack([losses, past]), usable
