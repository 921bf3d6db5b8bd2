"""How many points of a space meet every constraint, and what rejects the others, before a search.

A small space is counted whole. Of a large one a random sample tells about how many, drawn the same
way every time.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from dse.pricing import constraints
from dse.pricing.coordinates import columns_of
from dse.pricing.evaluation import Evaluation
from dse.pricing.problem import Problem
from dse.search import bounds, exhaustive

WHOLE = 1 << 20  # points that are counted, where none needs its communication
WHOLE_PRICED = 1 << 17  # the same where all do
SAMPLE = 1_000
SEED = 20261125
SURE = 1.96  # standard deviations on either side that hold 95 %


@dataclass(frozen=True)
class Feasible:
    """points: that were judged. feasible: of them. rejected: reason -> points that it rejects, of
    which some are rejected by several. whole: whether these are all points of the space."""

    points: int
    feasible: int
    rejected: Mapping[str, int]
    whole: bool

    @property
    def share(self) -> float:
        """Of the points of the space, as far as is known."""
        return self.feasible / self.points

    @property
    def share_between(self) -> tuple[float, float]:
        """Where the share of all points lies in 95 of 100 samples (Wilson's interval)."""
        if self.whole:
            return self.share, self.share
        n, z2 = self.points, SURE**2
        middle = (self.share + z2 / (2 * n)) / (1 + z2 / n)
        half = SURE * math.sqrt(self.share * (1 - self.share) / n + z2 / (4 * n**2)) / (1 + z2 / n)
        return max(middle - half, 0.0), min(middle + half, 1.0)


def feasible(problem: Problem) -> Feasible | None:
    """Of a study; None where an axis is continuous."""
    if problem.points is None:
        return None
    priced = bool(bounds.steps_decide(problem.study))
    whole = problem.space.size <= (WHOLE_PRICED if priced else WHOLE)
    counted, passed, rejected = 0, 0, Counter[str]()
    for evaluation, shape in _whole(problem, priced) if whole else _sampled(problem):
        meets = np.ones((), dtype=bool)
        for demand, mask in constraints.demands(evaluation, problem.study):
            if not mask.all():
                failing = np.broadcast_to(~mask, shape)
                rejected[demand] += int(np.count_nonzero(failing))
                meets = meets & mask
        counted += math.prod(shape)
        passed += int(np.count_nonzero(np.broadcast_to(meets, shape)))
    return Feasible(counted, passed, constraints.counted_once(rejected), whole)


def _whole(problem: Problem, priced: bool) -> Iterator[tuple[Evaluation, tuple[int, ...]]]:
    """Every point; without its communication where that decides nothing."""
    for box in problem.space.boxes(exhaustive.BOX_POINTS):
        placed = problem.placed(box)
        if not priced and placed.bounded():
            yield bounds.ideal(placed), box.shape
            continue
        for piece, evaluation in exhaustive.judged(problem, box):
            yield evaluation, piece.shape


def _sampled(problem: Problem) -> Iterable[tuple[Evaluation, tuple[int, ...]]]:
    draw = np.random.default_rng(SEED)
    chosen = draw.integers(problem.space.size, size=SAMPLE)
    points = [problem.space.point(int(at)) for at in np.sort(chosen)]
    for where, evaluation in problem.scattered(columns_of(points)):
        yield evaluation, where.shape
