"""Many candidates are ranked by what was learned; the model prices only the most promising.

Candidates descend from the front: neighbours, mutants, children of two. Those that promise much
have descendants of their own before anything is priced, so that changes of several axes at once are
found which only pay together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from dse.model.arrays import Array, Mask
from dse.search.guided.acquisition import Frame, front_of, losses_of, stale, wanted
from dse.search.guided.archive import Archive
from dse.search.guided.codes import Coded, Codes
from dse.search.guided.ideal import Ideal
from dse.search.guided.surrogate import FITTED, Features, Regression, Scales, regression

BLOCK = 48  # points priced at once
ROUNDS = 60  # a larger budget has larger blocks
LEARNED = 2000  # points the surrogate goes through, mostly those near the front
CANDIDATES = 1200  # per descent
DESCENTS = 3
PARENTS = 150  # of a descent
SAME = 1e-6  # an objective and a limit on it differ by a constant
REFIT = 6  # rounds between fits of the length scales
LEAST_ADDED = 0.01  # of a time, by communication: less is not told apart
Predict = Callable[[Codes], tuple[Array, Array]]


@dataclass
class Screen:
    """Refines the front of an archive until the budget is spent or nothing is gained."""

    archive: Archive
    coded: Coded
    ideal: Ideal
    rng: np.random.Generator
    _scales: list[Scales | None] = field(init=False)
    # limits on an objective, learned with it: (which, by how much they differ)
    _copies: dict[int, tuple[int, float]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._features = Features(self.coded.space)
        self._codes = np.zeros((0, self.coded.width))
        self._near: dict[bytes, Codes] = {}
        self._objectives = len(self.archive.problem.study.objectives)
        self._scales = [None] * (self._objectives + self.archive.excesses.shape[1])

    def run(self, budget: int, boldness: float = 1.0) -> None:
        """Price points until the archive has ``budget`` of them; see :meth:`.Frame.picked`."""
        if not len(self._features.groups):
            return
        block = max(BLOCK, (budget - len(self.archive)) // ROUNDS)
        fronts: list[Array] = []
        number = 0
        while len(self.archive) < budget and not stale(fronts, self._objectives):
            batch = self._next_points(number, min(block, budget - len(self.archive)), boldness)
            before = len(self.archive)
            self.archive.price(self.coded.points(batch))
            if len(self.archive) == before:
                return
            fronts.append(front_of(self.archive))
            number += 1

    def _next_points(self, number: int, count: int, boldness: float) -> Codes:
        fresh = self.archive.points[len(self._codes) :]
        self._codes = np.vstack([self._codes, self.coded.of(fresh)])
        numbers = self.archive.numbers
        losses, usable = losses_of(numbers, self.archive.excesses)
        free = self.ideal(self._codes)
        least, known_least = losses_of(free.numbers, free.excesses, numbers)
        usable &= known_least
        front = front_of(self.archive)
        if len(front) == 0 or np.count_nonzero(usable) < 3:
            return self.coded.spread_buildable(count, self.rng)
        frame = Frame(front, self._objectives)
        predict = self._learned(losses, least, usable, frame, number)
        centres = self._codes[self.archive.best()]
        known = {row.tobytes() for row in self._codes}
        pool = np.zeros((0, self.coded.width))
        floors = means = doubts = np.zeros((0, len(self._scales)))

        def outlook(hope: float) -> Array:
            hoped = floors + self._unscaled(means - hope * doubts)
            for column, (other, apart) in self._copies.items():
                hoped[:, column] = hoped[:, other] + apart
            return hoped

        parents = centres
        for descent in range(DESCENTS):
            candidates = self._candidates(centres if descent == 0 else None, parents)
            unseen = _unseen(candidates[self.coded.buildable(candidates)], known)
            free = self.ideal(unseen)
            kept = wanted(free, self.archive)
            pool = np.vstack([pool, unseen[kept]])
            if not len(pool):
                return pool
            least, _ = losses_of(free.numbers[kept], free.excesses[kept], numbers)
            mean, doubt = predict(unseen[kept])
            floors, means = np.vstack([floors, least]), np.vstack([means, mean])
            doubts = np.vstack([doubts, doubt])
            parents = np.vstack([centres, pool[frame.picked(outlook, PARENTS, boldness)]])
        return pool[frame.picked(outlook, count, boldness)]

    def _scaled(self, added: Array) -> Array:
        """What communication adds, as it is learned: of a time or a cost the logarithm of the share
        that it adds, which near the front is a small number of many digits."""
        scaled = added.copy()
        share = np.expm1(np.maximum(added[:, : self._objectives], 0.0))
        scaled[:, : self._objectives] = np.log(share + LEAST_ADDED)
        return scaled

    def _unscaled(self, scaled: Array) -> Array:
        """The inverse; shape (points, objectives + limits)."""
        added = scaled.copy()
        share = np.exp(scaled[:, : self._objectives]) - LEAST_ADDED
        added[:, : self._objectives] = np.log1p(np.maximum(share, 0.0))
        return added

    def _learned(
        self, losses: Array, least: Array, usable: Mask, frame: Frame, number: int
    ) -> Predict:
        shortfall = np.where(usable, frame.shortfall(losses), np.inf)
        ranking = np.argsort(shortfall, kind="stable")[: int(np.count_nonzero(usable))]
        close, far = np.split(ranking, [2 * LEARNED // 3])
        if len(far) > LEARNED - len(close):
            far = self.rng.choice(far, LEARNED - len(close), replace=False)
        used = np.concatenate([close, far])
        sample = self.rng.permutation(len(used))[:FITTED]
        features = self._features(self._codes[used])
        added = self._scaled(losses[used] - least[used])
        models: dict[int, Regression] = {}
        self._copies = {}
        for column in range(len(self._scales)):
            for other in range(self._objectives if column >= self._objectives else 0):
                apart = losses[used, column] - losses[used, other]
                if np.ptp(apart) < SAME:
                    self._copies[column] = other, float(apart.mean())
            if column not in self._copies:
                models[column], self._scales[column] = regression(
                    features, added[:, column], self._features.groups, sample,
                    self._scales[column], number % REFIT == 0,
                )  # fmt: skip

        def predict(codes: Codes) -> tuple[Array, Array]:
            seen = self._features(codes)
            means, doubts = np.zeros((2, len(codes), len(self._scales)))
            for column, model in models.items():
                means[:, column], doubts[:, column] = model(seen)
            return means, doubts

        return predict

    def _candidates(self, centres: Codes | None, parents: Codes) -> Codes:
        coded, rng = self.coded, self.rng
        found = []
        if centres is not None:
            rows = {row.tobytes(): row for row in centres}
            self._near = {
                key: self._near[key] if key in self._near else self.coded.neighbours(row)
                for key, row in rows.items()
            }
            near = np.vstack([*self._near.values()])
            if len(near) > CANDIDATES:
                near = near[rng.choice(len(near), CANDIDATES, replace=False)]
            found.append(near)
        draw = rng.integers(len(parents), size=(3, CANDIDATES))
        found.append(coded.mutants(parents[draw[0]], rng))
        third = CANDIDATES // 3
        found.append(coded.children(parents[draw[1, :third]], parents[draw[2, :third]], rng))
        found.append(coded.any(CANDIDATES // 10, rng))
        return np.vstack(found)


def _unseen(codes: Codes, known: set[bytes]) -> Codes:
    """The rows that are not known; they are from now on."""
    kept = []
    for at, row in enumerate(codes):
        key = row.tobytes()
        if key not in known:
            known.add(key)
            kept.append(at)
    return codes[kept]
