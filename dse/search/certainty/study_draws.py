"""The points near the front in every draw: the arrays that all statements on certainty rest on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dse.model.aggregation.library_rules import AUTO
from dse.model.arrays import Array, Mask
from dse.pricing.drawn_points import DrawnQuantities, drawn_quantities
from dse.pricing.draws import Variation
from dse.pricing.problem import Problem
from dse.pricing.uncertainty import INTERVAL
from dse.search.certainty.near_front import NearFront, near_front
from dse.search.certainty.usefulness import Priced, best, regret, worth
from dse.search.run import Outcome, labels_of
from dse.study import AggregationName, Value
from dse.study.axes import HARDWARE
from dse.study.choices import alike


@dataclass(frozen=True)
class StudyDraws:
    """Points near the front, priced once per draw.

    rule: by which they are compared. drawn: their quantities, (draws, points). purchases: of each
    point which purchase it is, (points,): points that differ in software alone share one. asked:
    every name that was drawn.
    """

    problem: Problem
    near: NearFront
    rule: str
    drawn: DrawnQuantities
    purchases: NDArray[np.intp]
    asked: frozenset[str]

    @property
    def drawn_front(self) -> Mapping[str, Array]:
        """The quantities of the points of the front that are among these, (draws, front)."""
        count = len(self.near.front)
        return {name: drawn[:, :count] for name, drawn in self.drawn.quantities.items()}

    @cached_property
    def priced(self) -> Priced:
        """The objectives, (draws, points)."""
        return _priced(self.problem, self.drawn)

    @cached_property
    def worths(self) -> Array:
        """By the rule, (draws, points)."""
        return worth(self.rule, self.priced)

    @cached_property
    def regrets(self) -> Array:
        """The expected regret of each point's purchase, (points,): its software is chosen when it
        stands there, at no cost, so that of a purchase the best software of a draw counts."""
        return np.asarray(regret(self.worths_of_purchases).mean(axis=0)[self.purchases])

    @cached_property
    def regrets_alone(self) -> Array:
        """The expected regret of each point if its software stays, (points,)."""
        return np.asarray(regret(self.worths).mean(axis=0))

    def by_regret(self, among: Iterable[int]) -> list[int]:
        """Positions by the rising regret of their purchases, and of one purchase by their own."""
        return sorted(among, key=lambda at: (self.regrets[at], self.regrets_alone[at]))

    @cached_property
    def worths_of_purchases(self) -> Array:
        """With the best software for it in each draw, (draws, purchases)."""
        each = [self.worths[:, self.purchases == one].max(axis=1) for one in self._each]
        return np.asarray(np.stack(each, axis=1))

    @property
    def _each(self) -> range:
        return range(int(self.purchases.max()) + 1)

    @cached_property
    def best(self) -> Array:
        """The probability of each purchase to be the best by the rule, (purchases,); they sum to 1
        but for the draws in which no point meets the constraints."""
        found = best(self.worths_of_purchases)
        counts = np.bincount(found[found >= 0], minlength=len(self._each))
        return np.asarray(counts / len(found))

    @cached_property
    def on_front(self) -> Array:
        """The probability of each purchase to be on the front, (purchases,)."""
        every = on_front(self.priced)
        return np.array([every[:, self.purchases == one].any(axis=1).mean() for one in self._each])

    @cached_property
    def _estimates(self) -> DrawnQuantities:
        """The objectives at the best estimate, (1, points)."""
        names = [objective.name for objective in self.problem.study.objectives]
        alone = Variation(alone=frozenset())
        return drawn_quantities(self.problem, self.near.points, names, alone, 1)

    def choice(self, at: int) -> Mask:
        """Which purchases are the same choice as that of a point, (purchases,): its own, and those
        with a point that meets every limit and differs from it by no more than the study's
        resolution in every objective, by the best estimate."""
        found = self._estimates
        same, resolution = found.meets_all[0].copy(), self.problem.study.resolution
        for objective in self.problem.study.objectives:
            values = found[objective.name][0]
            same &= alike(values, values[at], resolution) & (resolution > 0)
        same[at] = True
        return np.isin(self._each, self.purchases[same])

    def as_the_library_does(self, at: int) -> int:
        """The position of the point of the same purchase that leaves the algorithm to the library,
        where the 90 % interval of its gain over that of point ``at`` holds 1; else ``at``.

        Software that ties is chosen by what takes no setting.
        """
        gain, *_ = (self.drawn[one.name] for one in self.problem.study.objectives)
        found = []
        for other in np.flatnonzero(self.purchases[: self.near.feasible] == self.purchases[at]):
            name = self.near.points[other].get("aggregation")
            low, high = np.percentile(gain[:, other] / gain[:, at], INTERVAL)
            if isinstance(name, AggregationName) and name.algorithm == AUTO and low <= 1 <= high:
                found.append(int(other))
        if at in found:
            return at
        return min(found, key=lambda one: self.regrets_alone[one], default=at)

    def best_choice(self, at: int) -> float:
        """The probability that one of the purchases of a point's choice is the best."""
        return min(float(self.best[self.choice(at)].sum()), 1.0)

    def beats(self, at: int, purchase: int) -> float:
        """In which share of the draws the choice of a point is worth more than another purchase, of
        those in which they are not worth the same, as they are where both miss a limit; 0.5 where
        they never differ. So no choice is the best more often than it beats another."""
        won, lost = self._won_and_lost(at, purchase)
        return won / (won + lost) if won + lost else 0.5

    def differ(self, at: int, purchase: int) -> float:
        """The share of the draws in which they are not worth the same."""
        return sum(self._won_and_lost(at, purchase))

    def _won_and_lost(self, at: int, purchase: int) -> tuple[float, float]:
        mine = self.worths_of_purchases[:, self.choice(at)].max(axis=1)
        theirs = self.worths_of_purchases[:, purchase]
        return float(np.mean(mine > theirs)), float(np.mean(mine < theirs))


def _priced(problem: Problem, drawn: DrawnQuantities) -> Priced:
    gain, *costs = (drawn[one.name] for one in problem.study.objectives)
    return Priced(gain, costs, drawn.meets_all)


def study_draws(outcome: Outcome, rule: str, named: Sequence[int] = ()) -> StudyDraws:
    """Price the points near the front of an outcome once per draw.

    rule: one of :mod:`.usefulness`. named: positions of front points that must be among them.
    """
    problem, near = outcome.problem, near_front(outcome, rule, named)
    objectives = (one.name for one in problem.study.objectives)
    names = {*objectives, *problem.sure_of, "throughput"}
    asked = set[str]()
    drawn = drawn_quantities(problem, near.points, sorted(names), Variation(asked=asked))
    bought = purchases(problem, near.points)
    return StudyDraws(problem, near, rule, drawn, bought, frozenset(asked))


def purchases(problem: Problem, points: Sequence[Mapping[str, Value | None]]) -> NDArray[np.intp]:
    """Which purchase each point is, (points,), numbered as they come: what is bought, and for how
    much."""
    capital = problem.numbers(points, ["capital"])["capital"]
    numbers: dict[tuple[str, ...], int] = {}
    found = []
    for values, usd in zip(points, capital, strict=True):
        labels, idle = labels_of(problem, values), problem.points_at(values).immaterial()
        key = (*(labels.get(axis, "") if axis not in idle else "" for axis in HARDWARE),
               f"{usd:.6g}")  # fmt: skip
        found.append(numbers.setdefault(key, len(numbers)))
    return np.array(found, dtype=np.intp)


def on_front(priced: Priced) -> Mask:
    """Which points no other dominates, of those that meet the constraints, (rows, points)."""
    import moocore

    found = np.zeros(priced.met.shape, dtype=bool)
    columns = np.stack([-priced.gain, *priced.costs], axis=-1)
    ties = len(priced.costs) > 1  # are all on it; in two objectives the first stands for them
    for row in np.flatnonzero(priced.met.any(axis=1)):
        met = priced.met[row]
        found[row, met] = moocore.is_nondominated(columns[row, met], keep_weakly=ties)
    return found
