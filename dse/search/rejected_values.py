"""Machines, networks and aggregations of a study of which no point is feasible, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from dse.model.arrays import Array, Mask
from dse.pricing import constraints
from dse.pricing.evaluation import Evaluation
from dse.pricing.problem import Problem
from dse.search import bounds, exhaustive
from dse.search.feasible import WHOLE, WHOLE_PRICED
from dse.study.axes import LINKS, MACHINES
from dse.study.space import Box

AXES = (*MACHINES, *LINKS, "aggregation")  # people ask about these


@dataclass(frozen=True)
class RejectedValue:
    """A value of an axis that no feasible point has.

    demands: that its points fail, each with how many it rejects, the most first. nearest: of the
    first, where it rejects all of them and bounds one quantity, that quantity and its value in SI
    units at the point that misses it least.
    """

    axis: str
    label: str
    points: int
    demands: tuple[tuple[str, int], ...]
    nearest: tuple[str, float] | None


# Of points on a grid, along which axis and where on it a value is; None for all of them.
_Part: TypeAlias = tuple[int, int] | None


@dataclass
class _Counted:
    """Of the points with a value: which parts of the space have it, how many there are, whether any
    is feasible, how many each demand rejects, and by demand how far past it the nearest is, and
    what it has there."""

    parts: list[tuple[int, _Part]] = field(default_factory=list)
    points: int = 0
    feasible: bool = False
    rejected: Counter[str] = field(default_factory=Counter)
    least: dict[str, tuple[float, str, float]] = field(default_factory=dict)


def rejected_values(
    problem: Problem, feasible: Iterable[Mapping[str, str]] = ()
) -> tuple[RejectedValue, ...]:
    """The values of a study that no feasible point has: exact, and none where its space is too
    large to be counted again, or an axis is continuous. feasible: labels of points that are known
    to be, such as those of its front."""
    priced = bool(bounds.steps_decide(problem.study))
    if problem.points is None or problem.space.size > (WHOLE_PRICED if priced else WHOLE):
        return ()
    compared = [axis for axis in AXES if len(_labels(problem, axis)) > 1]
    known = {(axis, labels[axis]) for labels in feasible for axis in compared if axis in labels}
    keys = [(axis, label) for axis in compared for label in _labels(problem, axis)]
    counted = {key: _Counted() for key in keys if key not in known}
    for box in problem.space.boxes(exhaustive.BOX_POINTS) if counted else ():
        asked = [key for key, _ in _parts(problem, box, compared) if key in counted]
        for piece, evaluation in exhaustive.judged(problem, box) if asked else ():
            for key, part in _parts(problem, piece, compared):
                if key in counted:
                    counted[key].parts.append((piece.first, part))
                    _count(problem, evaluation, piece.shape, part, counted[key])
                    if counted[key].feasible:
                        del counted[key]
    return tuple(_described(*key, found) for key, found in _each_once(counted) if found.points)


def _each_once(
    counted: Mapping[tuple[str, str], _Counted],
) -> Iterator[tuple[tuple[str, str], _Counted]]:
    """Without those that have the same points as one before them, as the only network of a machine
    has."""
    told = list[list[tuple[int, _Part]]]()
    for key, found in counted.items():
        if found.parts not in told:
            told.append(found.parts)
            yield key, found


def _labels(problem: Problem, axis: str) -> dict[str, None]:
    """Those that the study chooses from."""
    study = problem.study
    values = [label for one in study.axes if one.name == axis for label in one.labels]
    values += [label for one in study.conditions if one.axis == axis for label in one.labels]
    return dict.fromkeys(values)


def _parts(problem: Problem, box: Box, axes: list[str]) -> Iterator[tuple[tuple[str, str], _Part]]:
    """(axis and label, which points of the box have it)."""
    slab = problem.space.slabs[box.slab]
    for axis in axes:
        if axis in slab.labels:
            yield (axis, slab.labels[axis]), None
    for at, data in enumerate(slab.axes):
        if data.name in axes:
            for place, label in enumerate(data.labels[box.slices[at]]):
                yield (data.name, label), (at, place) if box.shape[at] > 1 else None


def _taken(values: Array | Mask, shape: tuple[int, ...], part: _Part) -> Array:
    """Those of the points that have a value."""
    whole = np.broadcast_to(values, shape)
    return np.asarray(whole if part is None else whole.take(part[1], axis=part[0]))


def _count(
    problem: Problem,
    evaluation: Evaluation,
    shape: tuple[int, ...],
    part: _Part,
    found: _Counted,
) -> None:
    met: Mask = np.ones((), dtype=bool)
    for demand, mask in constraints.demands(evaluation, problem.study):
        met = met & mask
        if not np.all(mask):
            passed = _taken(mask, shape, part)
            found.rejected[demand] += passed.size - int(np.count_nonzero(passed))
    found.points += _taken(met, shape, part).size
    found.feasible |= bool(np.any(_taken(met, shape, part)))
    for demand, quantity, past in _misses(problem, evaluation):
        away = _taken(past, shape, part)
        first = int(np.nanargmin(away)) if not np.all(np.isnan(away)) else -1
        if first >= 0 and away.flat[first] < found.least.get(demand, (np.inf,))[0]:
            value = float(_taken(evaluation[quantity], shape, part).flat[first])
            found.least[demand] = (float(away.flat[first]), quantity, value)


def _misses(problem: Problem, evaluation: Evaluation) -> Iterator[tuple[str, str, Array]]:
    """(demand, quantity that it bounds, how far points are past it)."""
    yield constraints.FITS, "memory_slack", np.asarray(-evaluation["memory_slack"])
    for limit in problem.study.constraints:
        if limit.expression is not None and limit.limit is not None:
            yield limit.text, limit.limit.name, limit.expression.violation(evaluation)


def _described(axis: str, label: str, found: _Counted) -> RejectedValue:
    demands = constraints.counted_once(found.rejected)
    ordered = tuple(sorted(demands.items(), key=lambda one: -one[1]))
    first, count = ordered[0]
    nearest = found.least.get(first) if count == found.points else None
    return RejectedValue(axis, label, found.points, ordered, nearest[1:] if nearest else None)
