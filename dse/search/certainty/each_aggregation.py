"""For the hardware of given points, the best point of the space with each aggregation."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

import numpy as np

from dse.model.arrays import Array, Mask
from dse.pricing import constraints
from dse.pricing.evaluation import Evaluation
from dse.pricing.problem import Problem
from dse.search import cells
from dse.search.bounds import OF_THE_STEP
from dse.search.certainty.usefulness import by_worth
from dse.study import AggregationName, Study, Value
from dse.study.axes import HARDWARE
from dse.study.space import Box, Slab

# Points that are priced, at most: the least promising hardware beyond that is left out. It takes
# some seconds; a structure, which is priced at once, takes as long as so many points at least.
MOST_POINTS = 250_000
OF_A_STRUCTURE = 1_000
# Of what the best aggregation gains on the same hardware; one that gains less is the best there in
# hardly any draw.
LEAST_GAIN = 0.5
# By which factor, as its logarithm, limits on what communication decides are cleared: the best
# point by the estimate may miss them in many draws, and the best of these is then another.
CLEARED = (0.0, 0.2, 0.5)
# Hardware of which aggregations are priced whose framework fuses tensors by itself: that takes a
# hundred times as long.
MOST_FUSED = 4
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


def best_of_each(problem: Problem, rule: str, points: Iterable[Values]) -> list[Values]:
    """The best feasible points with each aggregation on the hardware of given points, the best of
    all first.

    rule: see :mod:`.usefulness`; of points that are as good by it the fastest counts. Where the
    study limits what communication decides, also the best that clear these limits (CLEARED). Left
    out is what comes nowhere near the best aggregation of its hardware, and what needs more
    machines than others on the same hardware, as for parameter servers, since that is another
    purchase. points: the most promising first, see MOST_POINTS and MOST_FUSED.
    """
    if problem.points is None:
        return []
    slabs = [*enumerate(problem.space.slabs)]
    wanted = [*dict.fromkeys(map(hardware_of, points))]
    wanted = wanted[: _affordable(len(wanted), [slab for _, slab in slabs])]
    found: dict[tuple[Hardware, Value | None, float], list[_Candidate]] = {}
    for number, slab in slabs if wanted else ():
        here = wanted[:MOST_FUSED] if fuses(slab.fixed) else wanted
        for hardware, cleared, candidate in _best_of_slab(problem, rule, number, here):
            key = hardware, slab.fixed.get("aggregation"), cleared
            found.setdefault(key, []).append(candidate)
    by_hardware: dict[Hardware, list[_Candidate]] = {}
    for (hardware, _, _), several in found.items():
        by_hardware.setdefault(hardware, []).append(_best(several, rule)[0])
    near = [one for several in by_hardware.values() for one in _near_the_best(several)]
    return [problem.space.point(one.index) for one in _best(near, rule)]


def _affordable(count: int, slabs: Sequence[Slab]) -> int:
    """Of how much hardware MOST_POINTS allow to price every software."""
    sizes = np.array([
        math.prod(len(axis.values) for axis in slab.axes if axis.name not in HARDWARE)
        for slab in slabs
    ], dtype=np.float64)  # fmt: skip
    while count and np.maximum(count * sizes, OF_A_STRUCTURE).sum() > MOST_POINTS:
        count -= 1
    return count


@dataclass(frozen=True)
class _Candidate:
    """A point with its objectives and what is bought for it."""

    objectives: tuple[float, ...]
    capital_usd: float
    index: int


def _best(candidates: Sequence[_Candidate], rule: str) -> list[_Candidate]:
    """By falling worth, each point once."""
    if not candidates:
        return []
    order = by_worth(rule, [*np.array([one.objectives for one in candidates]).T])
    return list({candidates[at].index: candidates[at] for at in order}.values())


def _near_the_best(candidates: Sequence[_Candidate]) -> Iterator[_Candidate]:
    """Those of one hardware that need no further machines and gain enough."""
    least = _least(np.array([one.capital_usd for one in candidates]))
    candidates = [one for one, mask in zip(candidates, least, strict=True) if mask]
    most = max(one.objectives[0] for one in candidates)
    return (one for one in candidates if one.objectives[0] >= LEAST_GAIN * most)


def _best_of_slab(
    problem: Problem, rule: str, number: int, wanted: Sequence[Hardware]
) -> Iterator[tuple[Hardware, float, _Candidate]]:
    """The best feasible point of a slab on each hardware that has one there, and by how much it
    clears the limits."""
    slab = problem.space.slabs[number]
    placed = {place: one for one in wanted if (place := _place(slab, one)) is not None}
    if not placed:
        return
    firsts = {slab.first + int(np.dot(place, slab.strides)): one for place, one in placed.items()}
    axes = [at for at, axis in enumerate(slab.axes) if axis.name in HARDWARE]
    positions = np.array([*placed], dtype=np.intp).reshape(len(placed), len(slab.axes)).T
    box = Box(number, slab.first, tuple(slice(0, n) for n in slab.shape), slab.strides)
    names = [*(objective.name for objective in problem.study.objectives), "capital"]
    for part in cells.listed(slab, box, axes, positions):
        evaluation = part.evaluation(problem)
        met = constraints.met(evaluation, problem.study, part.shape)
        limits = _past(evaluation, problem.study)
        met, past, *columns = (
            # One row for each hardware: (cells, grid).
            np.broadcast_to(column, part.shape).reshape(-1, part.shape[-1]).T
            for column in (met, limits, *(evaluation[name] for name in names))
        )
        able = met.astype(bool) & _least(columns[-1])
        rows = np.arange(part.shape[-1])
        for cleared in CLEARED if limits.ndim else CLEARED[:1]:
            usable = able & (past <= -cleared)
            at = by_worth(rule, columns[:-1], usable)[:, 0]
            indices = part.index(at * len(at) + rows)
            for row in np.flatnonzero(usable[rows, at]):
                *objectives, capital = (float(column[row, at[row]]) for column in columns)
                found = _Candidate(tuple(objectives), capital, int(indices[row]))
                yield firsts[int(part.base[row])], cleared, found


def _past(evaluation: Evaluation, study: Study) -> Array:
    """By how much points are past the limits on what communication decides, the largest as its
    logarithm; of no dimension where there are none."""
    limits = [c.expression for c in study.constraints if c.expression]
    past = [one.excess(evaluation) for one in limits if one.names & OF_THE_STEP]
    return np.asarray(reduce(np.maximum, past)) if past else np.asarray(-np.inf)


def _least(capital: Array) -> Mask:
    """Where it is the least of its row, or not known."""
    return np.asarray(~(capital > np.fmin.reduce(capital, axis=-1, keepdims=True) * (1 + _EQUAL)))


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
