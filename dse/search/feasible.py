"""How many points of a space meet every constraint, and what rejects the others, before a search.

A small space is counted whole. Of a large one, or a continuous one, a random sample tells about how
many, drawn the same way every time.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from dse.pricing.coordinates import columns_of
from dse.pricing.evaluation import Evaluation
from dse.pricing.problem import Problem
from dse.search import bounds, exhaustive
from dse.search.screening import counted
from dse.study import Value
from dse.study.space import Space

WHOLE = 1 << 20  # points that are counted, where none needs its communication
WHOLE_PRICED = 1 << 17  # the same where all do
SAMPLE = 1_000
SEED = 20261125
SURE = 1.96  # standard deviations on either side that hold 95 %


@dataclass(frozen=True)
class Feasible:
    """points: that were judged. feasible: of them. rejected: demand -> points that fail it, as a
    :class:`.Tally` has them. whole: whether these are all points of the space."""

    points: int
    feasible: int
    rejected: Mapping[str, int]
    whole: bool

    @property
    def share(self) -> float:
        """The share of feasible points in the space, as far as is known."""
        return self.feasible / self.points

    @property
    def share_between(self) -> tuple[float, float]:
        """Where the share of all points lies in 95 of 100 samples."""
        if self.whole:
            return self.share, self.share
        return share_between(self.feasible, self.points)


def share_between(found: int, drawn: int) -> tuple[float, float]:
    """Where the share of all is in 95 of 100 samples that have so many (Wilson's interval)."""
    share, z2 = found / drawn, SURE**2
    middle = (share + z2 / (2 * drawn)) / (1 + z2 / drawn)
    half = SURE * math.sqrt(share * (1 - share) / drawn + z2 / (4 * drawn**2)) / (1 + z2 / drawn)
    return max(middle - half, 0.0), min(middle + half, 1.0)


def feasible(problem: Problem) -> Feasible:
    """Count the feasible points of a study, of a sample where its space is too large."""
    priced = bool(bounds.steps_decide(problem.study))
    whole = problem.points is not None and problem.points <= (WHOLE_PRICED if priced else WHOLE)
    points, passed, rejected = 0, 0, Counter[str]()
    for evaluation, shape in _whole(problem, priced) if whole else _sampled(problem):
        found = counted(evaluation, problem, shape)
        points += math.prod(shape)
        passed += found.feasible
        rejected.update(found.rejected)
    return Feasible(points, passed, rejected, whole)


def _whole(problem: Problem, priced: bool) -> Iterator[tuple[Evaluation, tuple[int, ...]]]:
    """Every point; without its communication where that decides nothing."""
    for box in problem.space.boxes(exhaustive.BOX_POINTS):
        placed = problem.placed(box)
        if not priced and placed.bounded():
            yield bounds.ideal(placed), box.shape
            continue
        for piece, evaluation in exhaustive.judged(problem, box):
            yield evaluation, piece.shape


def _sampled(problem: Problem) -> Iterator[tuple[Evaluation, tuple[int, ...]]]:
    """Points at random."""
    for where, evaluation in problem.scattered(columns_of(_drawn(problem))):
        yield evaluation, where.shape


def _drawn(problem: Problem) -> list[dict[str, Value | None]]:
    """Points at random, each as likely as any other; likewise the numbers of a continuous axis."""
    from dse.search.guided.points import at_fraction  # with all of the guided engine; few need it

    draw, study = random.Random(SEED), problem.study
    axes = (*study.axes, *study.defaults)
    # A continuous axis as one of a single value.
    finite = [replace(a, values=a.ends[:1], labels=("",)) if a.continuous else a for a in axes]
    space = Space(finite, study.conditions)
    points = [space.point(at) for at in sorted(draw.randrange(space.size) for _ in range(SAMPLE))]
    for axis in (axis for axis in axes if axis.continuous):
        for point in points:
            point[axis.name] = at_fraction(axis, draw.random())
    return points
