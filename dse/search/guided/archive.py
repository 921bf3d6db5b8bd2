"""What a guided search has priced: a cache in front of the model, and the front so far."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from dse.model.arrays import Array
from dse.search import feasibility, pareto
from dse.search.guided.points import Point, Points
from dse.search.objectives import by_goal
from dse.search.pareto import Front, Indices
from dse.search.problem import Problem

UNKNOWN = 1e9  # violation of a point that cannot be computed
LARGEST_INDEX = 2**62  # points of larger spaces are numbered as they come


@dataclass(frozen=True)
class Block:
    """Points priced together. gain, cost, violation (0: feasible): shape (points,).

    rejected: reason -> how many of them it rejects.
    """

    points: Sequence[Point]
    gain: Array
    cost: Array
    violation: Array
    rejected: dict[str, int]


@dataclass
class Archive:
    """Every point priced, in the order of pricing; each of them once.

    told: is given every new block. priced: how many points this run priced; the others came from
    the log of an earlier one. position: a point's index -> its place here.
    """

    problem: Problem
    space: Points
    told: Callable[[Block], None] = lambda _: None
    points: list[Point] = field(default_factory=list)
    rejected: dict[str, int] = field(default_factory=dict)
    position: dict[int, int] = field(default_factory=dict)
    priced: int = 0
    _numbers: list[tuple[float, float, float]] = field(default_factory=list)
    _index: list[int] = field(default_factory=list)
    _known: dict[Point, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.points)

    def __contains__(self, point: object) -> bool:
        return point in self._known

    @property
    def numbers(self) -> Array:
        """Shape (points, 3): gain, cost, violation."""
        return np.array(self._numbers, dtype=np.float64).reshape(-1, 3)

    @property
    def feasible(self) -> int:
        """Number of points that meet every constraint."""
        return int(np.count_nonzero(self.numbers[:, 2] == 0))

    def price(self, points: Sequence[Point]) -> list[int]:
        """Positions of the points after pricing those not seen before, all in one block."""
        fresh = [p for p in dict.fromkeys(points) if p not in self._known]
        if fresh:
            block = evaluated(self.problem, self.space, fresh)
            self.take(block)
            self.priced += len(fresh)
            self.told(block)
        return [self._known[point] for point in points]

    def take(self, block: Block) -> None:
        """Add points that are already priced; those known are passed over."""
        finite = self.problem.points is not None and self.problem.points < LARGEST_INDEX
        rows = zip(block.points, block.gain, block.cost, block.violation, strict=True)
        for point, gain, cost, violation in rows:
            if point in self._known:
                continue
            at = len(self.points)
            self._known[point] = at
            self.points.append(point)
            self._numbers.append((float(gain), float(cost), float(violation)))
            index = self.problem.space.index(self.space.values(point)) if finite else at
            self._index.append(index)
            self.position[index] = at
        for reason, count in block.rejected.items():
            self.rejected[reason] = self.rejected.get(reason, 0) + count

    def front(self) -> Front:
        """Front of the feasible points.

        Indices are those of the space, so that ties are named as the exhaustive engine names them;
        ``position`` leads back to ``points``. In a space without indices they are positions.
        """
        numbers = self.numbers
        feasible = np.flatnonzero(numbers[:, 2] == 0)
        if len(feasible) == 0:
            return pareto.empty_front()
        index: Indices = np.array(self._index, dtype=np.int64)[feasible]
        return pareto.front_of(numbers[feasible, 0], numbers[feasible, 1], index)

    def best(self) -> list[int]:
        """Positions of the front's points by rising cost, else of the one nearest to feasible."""
        found = [self.position[int(index)] for index in self.front().best]
        if found or not self.points:
            return found
        return [int(np.argmin(self.numbers[:, 2]))]


def evaluated(problem: Problem, space: Points, points: Sequence[Point]) -> Block:
    """Price points in one block."""
    study = problem.study
    most, least = by_goal(study.objectives)
    numbers = np.zeros((3, len(points)))
    rejected: dict[str, int] = {}
    for where, evaluation in problem.rows([space.values(point) for point in points]):
        passed = np.ones(len(where), dtype=bool)
        for reason, mask in feasibility.checks(evaluation, study):
            failed = len(where) - int(np.count_nonzero(np.broadcast_to(mask, passed.shape)))
            passed &= mask
            if failed:
                rejected[reason] = rejected.get(reason, 0) + failed
        past = np.nan_to_num(feasibility.violation(evaluation, study), nan=UNKNOWN, posinf=UNKNOWN)
        past = np.where(passed, 0.0, np.maximum(past, 1e-9))
        numbers[0, where] = evaluation[most.name]
        numbers[1, where] = evaluation[least.name]
        numbers[2, where] = past
    return Block(points, numbers[0], numbers[1], numbers[2], rejected)
