"""How much a point would add to a front, and which of many to price."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dse.model.arrays import Array, Mask
from dse.search import pareto
from dse.search.guided.archive import Archive
from dse.search.guided.ideal import Bounds

STALE = 8  # rounds that gain less than this share of hypervolume, all together
LEAST_GAIN = 1e-6
INFEASIBLE = 1.0  # of the front's extent, per unit that a limit is exceeded by
# A part of the points is picked by each: (deviations that a point is hoped to be better than
# expected, how far it must be from all that is known, in units of the front's extent).
HOPES = ((0.0, 1e-4), (0.2, 1e-3), (0.7, 1e-3))
LAST = 100.0  # added to the shortfall of what is taken last
# Losses that points have if they turn out so many deviations better than expected; shape (points,
# objectives + limits).
Outlook: TypeAlias = Callable[[float], Array]
HOPELESS = 14.0  # excesses beyond, either way, are not told apart


class Frame:
    """The front's extent, in which distances are counted.

    front: shape (points, objectives + limits), see :func:`losses_of`; where nothing feasible is
    known, points fall short by how far they are past limits alone.
    """

    def __init__(self, front: Array, objectives: int) -> None:
        self._objectives = objectives
        self.nothing_feasible = bool(self._past(front).any())
        front = front[:, :objectives]
        self._low = front.min(axis=0)
        self._extent = np.maximum(np.ptp(front, axis=0), 1e-6)
        self._front = (front - self._low) / self._extent

    def shortfall(self, losses: Array) -> Array:
        """How much each point must gain in some objective to be on the front; < 0: it is beyond.

        losses: shape (points, objectives + limits).
        """
        if self.nothing_feasible:
            return self._past(losses)
        placed = self._placed(losses)
        behind = np.full(placed.shape[1], -np.inf)
        for point in self._front:
            np.maximum(behind, _beyond(placed, point), out=behind)
        return behind

    def _past(self, losses: Array) -> Array:
        """Past limits, altogether, shape (points,)."""
        return np.asarray(np.maximum(losses[:, self._objectives :], 0.0).sum(axis=1))

    def _placed(self, losses: Array) -> Array:
        """In units of the front's extent, shape (objectives, points).

        What is infeasible loses more in all of them.
        """
        placed = (losses[:, : self._objectives] - self._low) / self._extent
        return np.ascontiguousarray((placed + INFEASIBLE * self._past(losses)[:, None]).T)

    def picked(self, outlook: Outlook, count: int, boldness: float = 1.0) -> NDArray[np.int64]:
        """Positions of the points to take, each the one that is furthest beyond the front and
        those taken before it; last those that are expected where another is.

        boldness: by how much more than usual the later ones are hoped to be better than expected.
        """
        losses = outlook(0.0)
        if self.nothing_feasible:
            return np.argsort(self.shortfall(losses), kind="stable")[:count]
        count = min(count, len(losses))
        expected = self._placed(losses)
        taken: list[int] = []
        for turn, (hope, alike) in enumerate(HOPES, 1):
            placed = self._placed(outlook(boldness * hope))
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
    """Losses of the archive's front, shape (points, objectives + limits)."""
    losses, usable = losses_of(archive.numbers, archive.excesses)
    return np.asarray(losses[[at for at in archive.best() if usable[at]]])


def wanted(bounds: Bounds, archive: Archive) -> Mask:
    """Which points may be on the front, by their bounds, shape (points,)."""
    _, usable = losses_of(bounds.numbers, bounds.excesses, archive.numbers)
    front = archive.front()
    if not len(front):
        return usable
    kept = usable & bounds.possible
    kept[kept] = pareto.may_enter([*bounds.numbers[kept, :-1].T], front)
    return kept


def stale(fronts: list[Array], objectives: int) -> bool:
    """Whether the last rounds gained next to nothing; a front that is not feasible never has."""
    import moocore

    if len(fronts) <= STALE or not len(fronts[-1]) or (fronts[-1][:, objectives:] > 0).any():
        return False
    now, then = fronts[-1][:, :objectives], fronts[-1 - STALE][:, :objectives]
    low, extent = now.min(axis=0), np.maximum(np.ptp(now, axis=0), 1e-6)
    before, after = (
        float(moocore.hypervolume((front - low) / extent, ref=[1.1] * now.shape[1]))
        for front in (then, now)
    )
    return after - before < LEAST_GAIN * after


def losses_of(numbers: Array, excesses: Array, known: Array | None = None) -> tuple[Array, Mask]:
    """(what to have little of, which rows are usable), from what an archive knows.

    The objectives by logarithm, then the excesses. A cost of nothing, of hardware that is owned,
    counts as a tenth of the least that is not: any number below all others keeps the order of
    costs, so that dominance and the front are those of the numbers, and a tenth adds but a
    decade below the cheapest point that is known. As cheaper points are found it falls, which
    :func:`stale` may take for a gain: the search then ends later, never earlier. known: the numbers
    that these costs are among; by default the same.
    """
    values = numbers[:, :-1].copy()
    others = numbers if known is None else known
    for cost, priced in zip(values.T[1:], others.T[1:-1], strict=True):
        least = np.min(priced[priced > 0], initial=np.inf)
        cost[cost == 0] = least / 10 if np.isfinite(least) else 1.0
    usable = np.all(np.isfinite(values) & (values > 0), axis=1)
    losses = np.log(np.where(usable[:, None], values, 1.0))
    losses[:, 0] *= -1.0  # the one to have much of
    past = np.clip(excesses, -HOPELESS, HOPELESS)
    past[~usable] = HOPELESS
    return np.column_stack([losses, past]), usable
