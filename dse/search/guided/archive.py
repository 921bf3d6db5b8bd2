"""What a guided search has priced: a cache in front of the model, the front so far, and the numbers
of blocks of points as JSON for the log of a run."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dse.model.arrays import Array
from dse.pricing import constraints
from dse.pricing.evaluation import Evaluation
from dse.pricing.problem import Problem
from dse.search import pareto
from dse.search.guided.points import Point, Points
from dse.search.pareto import Front, Indices
from dse.study import Value

UNKNOWN = 1e9  # violation of a point that cannot be computed
UNSURE = 1.0  # excess over a limit where it is not known
LARGEST_INDEX = 2**62  # points of larger spaces are numbered as they come


@dataclass(frozen=True)
class Block:
    """Points priced together.

    values: the objectives by which points are compared, shape (points, objectives). violation (0:
    feasible): shape (points,). excesses: over every limit, negative within it, shape (points,
    limits), see :func:`.constraints.excesses`. rejected: reason -> how many of the points it
    rejects. of: which points, see :func:`name_of`; empty where nobody asks.
    """

    values: Array
    violation: Array
    excesses: Array
    rejected: dict[str, int]
    of: str = ""


@dataclass
class Archive:
    """Every point priced, in the order of pricing; each of them once, and of those that differ in
    axes without effect on their layout the first that an exhaustive search has.

    told: is given every new block. logged: blocks that an earlier run priced, by the name of their
    points: a search that goes on makes the same choices and finds their numbers here. priced: how
    many points this run priced. position: a point's index -> its place here.
    """

    problem: Problem
    space: Points
    told: Callable[[Block], None] = lambda _: None
    logged: dict[str, Block] = field(default_factory=dict)
    points: list[Point] = field(default_factory=list)
    rejected: dict[str, int] = field(default_factory=dict)
    position: dict[int, int] = field(default_factory=dict)
    priced: int = 0
    _numbers: list[list[float]] = field(default_factory=list)
    _excesses: list[list[float]] = field(default_factory=list)
    _index: list[int] = field(default_factory=list)
    _known: dict[Point, int] = field(default_factory=dict)
    _layouts: dict[Point, Mapping[str, Value]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.points)

    def __contains__(self, point: Point) -> bool:
        return self._settled(point) in self._known

    @property
    def numbers(self) -> Array:
        """Shape (points, objectives + 1): the objectives, then the violation."""
        columns = len(self.problem.study.objectives) + 1
        return np.array(self._numbers, dtype=np.float64).reshape(-1, columns)

    @property
    def excesses(self) -> Array:
        """Over every limit, shape (points, limits)."""
        columns = constraints.limits(self.problem.study)
        return np.array(self._excesses, dtype=np.float64).reshape(-1, columns)

    @property
    def feasible(self) -> int:
        """Number of points that meet every constraint."""
        return int(np.count_nonzero(self.numbers[:, -1] == 0))

    def price(self, points: Sequence[Point]) -> list[int]:
        """Positions of the points after pricing those not seen before, all in one block."""
        points = [*map(self._settled, points)]
        fresh = [p for p in dict.fromkeys(points) if p not in self._known]
        if fresh:
            logged = self.logged.get(name_of(fresh))
            block = logged or evaluated(self.problem, self.space, fresh)
            self._take(fresh, block)
            if logged is None:
                self.priced += len(fresh)
                self.told(block)
        return [self._known[point] for point in points]

    def _take(self, points: Sequence[Point], block: Block) -> None:
        finite = self.problem.points is not None and self.problem.points < LARGEST_INDEX
        rows = np.column_stack([block.values, block.violation]).tolist()
        self._excesses += block.excesses.tolist()
        for point, numbers in zip(points, rows, strict=True):
            at = len(self.points)
            self._known[point] = at
            self.points.append(point)
            self._numbers.append(numbers)
            index = at
            if finite:
                known = self._layout(point) or not self.problem.study.laid_out
                values = self.space.values(point)
                index = self.problem.space.index(values) if known else -1 - at
            self._index.append(index)
            self.position[index] = at
        for reason, count in block.rejected.items():
            self.rejected[reason] = self.rejected.get(reason, 0) + count

    def values(self, at: int) -> dict[str, Value | None]:
        """A point by its position, as the exhaustive engine has it: of a layout with the axes that
        have a single value or follow from others."""
        return {**self.space.values(self.points[at]), **self._layout(self.points[at])}

    def _layout(self, point: Point) -> Mapping[str, Value]:
        """The axes of a point's layout; none where it has no layout, or none that is one."""
        if not self.problem.study.laid_out:
            return {}
        if point not in self._layouts:
            values = self.space.values(point)
            table = self.problem.tables(values)
            found = (table.values(int(row)) for row in table.rows(values))
            self._layouts[point] = next(found, {})
        return self._layouts[point]

    def _settled(self, point: Point) -> Point:
        """The point as an exhaustive search has it."""
        layout = self._layout(point)
        named = zip(self.space.names, point, strict=True)
        return tuple(layout.get(name, value) for name, value in named) if layout else point

    def front(self) -> Front:
        """Front of the feasible points.

        Indices are those of the space, so that ties are named as the exhaustive engine names them;
        ``position`` leads back to ``points``. In a space without indices they are positions.
        """
        numbers = self.numbers
        feasible = np.flatnonzero(numbers[:, -1] == 0)
        if len(feasible) == 0:
            return pareto.empty_front()
        index: Indices = np.array(self._index, dtype=np.int64)[feasible]
        gain, cost, *other = numbers[feasible, :-1].T
        return pareto.front_of(gain, cost, index, *other)

    def best(self) -> list[int]:
        """Positions of the front's points by rising cost, else of the one nearest to feasible."""
        found = [self.position[int(index)] for index in self.front().best]
        if found or not self.points:
            return found
        return [int(np.argmin(self.numbers[:, -1]))]


def evaluated(problem: Problem, space: Points, points: Sequence[Point]) -> Block:
    """Price points in one block."""
    rows = problem.rows([space.values(point) for point in points])
    return replace(block_of(problem, len(points), rows), of=name_of(points))


def name_of(points: Sequence[Point]) -> str:
    """What points are told from others by."""
    return hashlib.sha256(repr(points).encode()).hexdigest()


def block_of(problem: Problem, count: int, rows: Iterable[tuple[Indices, Evaluation]]) -> Block:
    """Points with what was evaluated of them, by their positions. count: of the points."""
    study = problem.study
    values, violation = np.zeros((count, len(study.objectives))), np.zeros(count)
    excesses = np.zeros((count, constraints.limits(study)))
    rejected: dict[str, int] = {}
    for where, evaluation in rows:
        passed = np.ones(len(where), dtype=bool)
        for reason, mask in constraints.demands(evaluation, study):
            failed = len(where) - int(np.count_nonzero(np.broadcast_to(mask, passed.shape)))
            passed &= mask
            if failed:
                rejected[reason] = rejected.get(reason, 0) + failed
        past = np.nan_to_num(constraints.violation(evaluation, study), nan=UNKNOWN, posinf=UNKNOWN)
        violation[where] = np.where(passed, 0.0, np.maximum(past, 1e-9))
        for column, past in enumerate(constraints.excesses(evaluation, study)):
            excesses[where, column] = np.nan_to_num(
                past, nan=UNSURE, posinf=UNKNOWN, neginf=-UNKNOWN
            )
        for column, numbers in enumerate(constraints.compared(evaluation, study)):
            values[where, column] = numbers
    return Block(values, violation, excesses, rejected)


def block_record(block: Block) -> dict[str, Any]:
    """A block as JSON; floats survive unchanged."""
    return {
        name: part.tolist() if isinstance(part, np.ndarray) else part
        for name, part in vars(block).items()
    }


def block_from(record: Mapping[str, Any]) -> Block:
    """The inverse."""
    values, violation, excesses = (
        np.array(record[name], dtype=np.float64) for name in ("values", "violation", "excesses")
    )
    return Block(values, violation, excesses, record["rejected"], record["of"])
