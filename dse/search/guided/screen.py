"""Many candidates are ranked by what was learned; the model prices only the most promising.

Candidates descend from the front: neighbours, mutants, children of two. Those that rank high have
descendants of their own before anything is priced, so that changes of several axes at once are
found which only pay together. They are ranked by how far they should fall short of the front, best
first within each stretch of the front, or within each value of an axis, in turn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from dse.model.arrays import Array, Mask
from dse.search.guided.archive import Archive
from dse.search.guided.points import Point
from dse.search.guided.surrogate import FITTED, Features, Groups, Scales, regression

BLOCK = 64  # points priced at once
ROUNDS = 80  # a larger budget has larger blocks
LEARNED = 700  # points the surrogate goes through, mostly those near the front
CANDIDATES = 1000  # per descent
DESCENTS = 4
REFIT = 6  # rounds between fits of the length scales
STRETCHES = 24  # of the front, along either objective
STALE = 6  # rounds that gain less than this share of hypervolume, all together
LEAST_GAIN = 1e-5
INFEASIBLE = 0.3  # of the front's extent, per unit of log(1 + violation)
HOPELESS = 1e6  # violations beyond are not told apart
_NOWHERE = 1_000_000


@dataclass
class Screen:
    """Refines the front of an archive until the budget is spent or nothing is gained."""

    archive: Archive
    rng: np.random.Generator
    _scales: list[Scales | None] = field(default_factory=lambda: [None] * 3)

    def run(self, budget: int) -> None:
        """Price points until the archive has ``budget`` of them."""
        self._features = Features(self.archive.space)
        if not len(self._features.groups):
            return
        block = max(BLOCK, (budget - len(self.archive)) // ROUNDS)
        fronts: list[Array] = []
        number = 0
        while len(self.archive) < budget and not _stale(fronts):
            chosen = self._chosen(number, min(block, budget - len(self.archive)))
            if not chosen:
                return
            self.archive.price(chosen)
            fronts.append(self._front())
            number += 1

    def _front(self) -> Array:
        losses, usable = losses_of(self.archive.numbers)
        return losses[[at for at in self.archive.best() if usable[at]]]

    def _chosen(self, number: int, count: int) -> list[Point]:
        losses, usable = losses_of(self.archive.numbers)
        front = self._front()
        if len(front) == 0 or np.count_nonzero(usable) < 3:
            return self.archive.space.spread(count, self.rng)
        frame = Frame(front)
        predict = self._learned(losses, usable, frame, number)
        centres = [self.archive.points[at] for at in self.archive.best()]
        pool: list[Point] = []
        guesses = np.zeros((0, 3))
        order = np.zeros(0, dtype=np.int64)
        parents = centres
        for descent in range(DESCENTS):
            fresh = self._candidates(centres if descent == 0 else [], parents, set(pool))
            if not fresh:
                break
            pool += fresh
            guesses = np.vstack([guesses, predict(fresh)])
            score = frame.shortfall(guesses)
            groups = frame.stretches(guesses) if number % 2 else self._values(pool)
            order = ranked(score, groups)
            parents = centres + [pool[at] for at in order[: 2 * len(centres) + 100]]
        return [pool[at] for at in order[:count]]

    def _learned(
        self, losses: Array, usable: Mask, frame: Frame, number: int
    ) -> Callable[[list[Point]], Array]:
        near = np.where(usable, frame.shortfall(losses), np.inf)
        ranking = np.argsort(near, kind="stable")[: int(np.count_nonzero(usable))]
        close, far = np.split(ranking, [2 * LEARNED // 3])
        if len(far) > LEARNED - len(close):
            far = self.rng.choice(far, LEARNED - len(close), replace=False)
        used = np.concatenate([close, far])
        sample = self.rng.permutation(len(used))[:FITTED]
        features = self._features([self.archive.points[at] for at in used])
        models = []
        for column in range(3):
            model, self._scales[column] = regression(
                features, losses[used, column], self._features.groups, sample,
                self._scales[column], number % REFIT == 0,
            )  # fmt: skip
            models.append(model)

        def predict(points: list[Point]) -> Array:
            seen = self._features(points)
            return np.column_stack([model(seen) for model in models])

        return predict

    def _candidates(
        self, centres: list[Point], parents: list[Point], taken: set[Point]
    ) -> list[Point]:
        space, rng = self.archive.space, self.rng
        found = [near for centre in centres for near in space.neighbours(centre)]
        if len(found) > CANDIDATES // 2:
            kept = rng.choice(len(found), CANDIDATES // 2, replace=False)
            found = [found[at] for at in kept]
        while len(found) < CANDIDATES:
            parent = parents[int(rng.integers(len(parents)))]
            draw = rng.random()
            if draw < 0.65:
                found.append(space.mutant(parent, rng, int(rng.choice([1, 2, 2, 3]))))
            elif draw < 0.9:
                other = parents[int(rng.integers(len(parents)))]
                found.append(space.child(parent, other, rng))
            else:
                found.append(space.any(rng))
        return [p for p in dict.fromkeys(found) if p not in self.archive and p not in taken]

    def _values(self, points: list[Point]) -> list[Groups]:
        """Per axis, which of its values points have."""
        found = []
        for at in range(len(self.archive.space.names)):
            seen: dict[object, int] = {}
            found.append(np.array([seen.setdefault(p[at], len(seen)) for p in points]))
        return [groups for groups in found if 1 < groups.max() + 1 <= STRETCHES]


def _stale(fronts: list[Array]) -> bool:
    """Whether the last rounds gained next to nothing; a front that is not feasible never has."""
    import moocore

    if len(fronts) <= STALE or not len(fronts[-1]) or fronts[-1][:, 2].any():
        return False
    now, then = fronts[-1][:, :2], fronts[-1 - STALE][:, :2]
    low, extent = now.min(axis=0), np.maximum(np.ptp(now, axis=0), 1e-6)
    before, after = (
        float(moocore.hypervolume((front - low) / extent, ref=[1.1, 1.1])) for front in (then, now)
    )
    return after - before < LEAST_GAIN * after


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
        """How much each point must gain in some objective to be on the front; < 0: it is beyond."""
        objectives = self._front.shape[1]
        if self._nothing_feasible:
            return losses[:, objectives]
        placed = (losses[:, :objectives] - self._low) / self._extent
        behind = (placed[:, None, :] - self._front[None]).min(axis=2).max(axis=1)
        return np.asarray(behind + INFEASIBLE * np.maximum(losses[:, objectives], 0.0))

    def stretches(self, losses: Array) -> list[Groups]:
        """Per objective, in which stretch of the front points are."""
        objectives = self._front.shape[1]
        placed = (losses[:, :objectives] - self._low) / self._extent
        return [
            np.clip(np.floor(column * STRETCHES), -1, STRETCHES).astype(np.int64)
            for column in placed.T
        ]


def losses_of(numbers: Array) -> tuple[Array, Mask]:
    """(what to have little of, which rows are usable), from gain, cost, violation.

    Objectives by logarithm, and violations, which begin at 0, by log(1 + x).
    """
    gain, cost, violation = numbers.T
    usable = np.isfinite(gain) & (gain > 0) & np.isfinite(cost) & (cost > 0)
    return np.column_stack(
        [
            -np.log(np.where(usable, gain, 1.0)),
            np.log(np.where(usable, cost, 1.0)),
            np.where(usable, np.log1p(np.clip(violation, 0.0, HOPELESS)), np.log1p(HOPELESS)),
        ]
    ), usable


def ranked(score: Array, groupings: list[Groups]) -> Groups:
    """Positions in the order of turns: the best of every group first, then the second best ..."""
    turn = np.full(len(score), _NOWHERE)
    by_score = np.argsort(score, kind="stable")
    for groups in groupings:
        inside = groups[by_score]
        order = np.argsort(inside, kind="stable")
        starts = np.flatnonzero(np.concatenate(([True], np.diff(inside[order]) != 0)))
        place = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
        turn[by_score[order]] = np.minimum(turn[by_score[order]], place)
    return np.lexsort((score, turn))
