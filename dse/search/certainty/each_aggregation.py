"""For the hardware of given points, the best point of the space with each aggregation."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from dse.model.arrays import Array, Mask
from dse.pricing import constraints
from dse.pricing.problem import Problem
from dse.search import cells
from dse.search.certainty.usefulness import by_worth
from dse.study import AggregationName, Value
from dse.study.axes import HARDWARE
from dse.study.space import Box, Slab

# Points that are priced, at most: hardware beyond that is left out. It takes a second or two.
MOST_POINTS = 250_000
# Of what the best aggregation gains on the same hardware; one that gains less is not the best there
# in any draw.
LEAST_GAIN = 0.5
_EQUAL = 1e-9  # sums that differ by less are one

Values: TypeAlias = Mapping[str, Value | None]
Hardware: TypeAlias = tuple[Value | None, ...]


def hardware_of(values: Values) -> Hardware:
    """The hardware of a point."""
    return tuple(values.get(axis) for axis in HARDWARE)


def fuses(values: Values) -> bool:
    """Whether the framework of a point fuses tensors by itself."""
    name = values.get("aggregation")
    return isinstance(name, AggregationName) and bool(name.approach)


def best_of_each(
    problem: Problem, rule: str, points: Iterable[Values], before: Callable[[], None]
) -> Mapping[Hardware, Sequence[Values]]:
    """By hardware its best feasible point with each aggregation that comes near the best one.

    rule: see :mod:`.usefulness`; of points that are as good by it the fastest counts. Left out are
    points that need more machines than others on the same hardware, as for parameter servers, since
    those are another purchase; and aggregations whose framework fuses tensors by itself, since it
    takes a hundred times as long to price them. before: called before each piece of the work, and
    may raise to end it.
    """
    if problem.points is None:
        return {}
    slabs = [*enumerate(problem.space.slabs)]
    slabs = [(number, slab) for number, slab in slabs if not fuses(slab.fixed)]
    each = sum(math.prod(_shape(slab, hardware=False)) for _, slab in slabs)
    wanted = [*dict.fromkeys(map(hardware_of, points))][: MOST_POINTS // max(each, 1)]
    found: dict[Hardware, list[_Candidate]] = {}
    for number, _ in slabs:
        before()
        for hardware, candidate in _best_of_slab(problem, rule, number, wanted):
            found.setdefault(hardware, []).append(candidate)
    return {
        hardware: [problem.space.point(index) for index in _near_the_best(candidates, rule)]
        for hardware, candidates in found.items()
    }


@dataclass(frozen=True)
class _Candidate:
    """A point with its objectives and what is bought for it."""

    aggregation: Value | None
    objectives: tuple[float, ...]
    capital_usd: float
    index: int


def _near_the_best(candidates: Sequence[_Candidate], rule: str) -> Iterator[int]:
    """Of one hardware the best points with each aggregation."""
    least = _least(np.array([one.capital_usd for one in candidates]))
    candidates = [one for one, mask in zip(candidates, least, strict=True) if mask]
    most = max(one.objectives[0] for one in candidates)
    for name in dict.fromkeys(one.aggregation for one in candidates):
        mine = [one for one in candidates if one.aggregation == name]
        best = mine[by_worth(rule, [*np.array([one.objectives for one in mine]).T])[0]]
        if best.objectives[0] >= LEAST_GAIN * most:
            yield best.index


def _best_of_slab(
    problem: Problem, rule: str, number: int, wanted: Sequence[Hardware]
) -> Iterator[tuple[Hardware, _Candidate]]:
    """The best feasible point of a slab on each hardware that has one there."""
    slab = problem.space.slabs[number]
    placed = {place: one for one in wanted if (place := _place(slab, one)) is not None}
    if not placed:
        return
    firsts = {slab.first + int(np.dot(place, slab.strides)): one for place, one in placed.items()}
    alive = np.zeros(_shape(slab, hardware=True), dtype=bool)
    alive[tuple(np.array([*placed]).T)] = True
    box = Box(number, slab.first, tuple(slice(0, n) for n in slab.shape), slab.strides)
    names = [*(objective.name for objective in problem.study.objectives), "capital"]
    for part in cells.listed(slab, box, alive):
        evaluation = part.evaluation(problem)
        met, *columns = (
            # One row for each hardware: (cells, grid).
            np.broadcast_to(column, part.shape).reshape(-1, part.shape[-1]).T
            for column in (
                constraints.met(evaluation, problem.study, part.shape),
                *(evaluation[name] for name in names),
            )
        )
        usable = met.astype(bool) & _least(columns[-1])
        at = by_worth(rule, columns[:-1], usable)[:, 0]
        rows = np.arange(len(at))
        indices = part.index(at * len(at) + rows)
        for row in np.flatnonzero(usable[rows, at]):
            *objectives, capital = (float(column[row, at[row]]) for column in columns)
            name = slab.fixed.get("aggregation")
            found = _Candidate(name, tuple(objectives), capital, int(indices[row]))
            yield firsts[int(part.base[row])], found


def _least(capital: Array) -> Mask:
    """Where it is the least of its row, or not known."""
    return np.asarray(~(capital > np.fmin.reduce(capital, axis=-1, keepdims=True) * (1 + _EQUAL)))


def _shape(slab: Slab, hardware: bool) -> list[int]:
    """Values per data axis of hardware, or else of software; 1 on the others."""
    return [len(a.values) if (a.name in HARDWARE) == hardware else 1 for a in slab.axes]


def _place(slab: Slab, hardware: Hardware) -> tuple[int, ...] | None:
    """Where hardware lies on the data axes of a slab, 0 on those of software; None if it does
    not."""
    values = dict(zip(HARDWARE, hardware, strict=True))
    if any(values[axis] != value for axis, value in slab.fixed.items() if axis in values):
        return None
    if any(values[axis.name] not in axis.values for axis in slab.axes if axis.name in values):
        return None
    return tuple(
        axis.values.index(values[axis.name]) if axis.name in values else 0 for axis in slab.axes
    )
