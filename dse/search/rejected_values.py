"""Machines, networks and aggregations of a study of which no point is feasible, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from dse.model.arrays import Mask
from dse.pricing import constraints
from dse.pricing.evaluation import Evaluation
from dse.pricing.problem import Problem
from dse.search import bounds, exhaustive
from dse.search.feasible import WHOLE, WHOLE_PRICED
from dse.study.axes import LINKS, MACHINES
from dse.study.space import Box

AXES = (*MACHINES, *LINKS, "aggregation")  # people ask about these

Key: TypeAlias = tuple[str, str]  # axis and label


@dataclass
class RejectedValue:
    """A value of an axis that no feasible point has. points: with it; demands: how many of these
    each one rejects."""

    points: int = 0
    feasible: int = 0
    demands: Counter[str] = field(default_factory=Counter)


def rejected_values(
    problem: Problem, feasible: Iterable[Mapping[str, str]] = ()
) -> dict[Key, RejectedValue]:
    """By axis and label the values of a study that no feasible point has: exact, and none where its
    space is too large to be counted again, or an axis is continuous. feasible: labels of points
    that are known to be, such as those of its front."""
    priced = bool(bounds.steps_decide(problem.study))
    if problem.points is None or problem.space.size > (WHOLE_PRICED if priced else WHOLE):
        return {}
    compared = [axis for axis in AXES if len(_labels(problem, axis)) > 1]
    known = {(axis, labels[axis]) for labels in feasible for axis in compared if axis in labels}
    keys = ((axis, label) for axis in compared for label in _labels(problem, axis))
    counted = {key: RejectedValue() for key in keys if key not in known}
    for box in problem.space.boxes(exhaustive.BOX_POINTS) if counted else ():
        if any(key in counted for keys, _ in _values(problem, box, compared) for key in keys):
            for piece, evaluation in exhaustive.judged(problem, box):
                _count(problem, evaluation, piece, compared, counted)
    return {key: one for key, one in counted.items() if one.points and not one.feasible}


def _labels(problem: Problem, axis: str) -> dict[str, None]:
    """Those that the study chooses from."""
    study = problem.study
    values = [label for one in study.axes if one.name == axis for label in one.labels]
    values += [label for one in study.conditions if one.axis == axis for label in one.labels]
    return dict.fromkeys(values)


def _values(
    problem: Problem, box: Box, compared: Iterable[str]
) -> Iterator[tuple[list[Key], int | None]]:
    """Of each axis the values that points of a box have, and which axis of the box that is; None
    where all points have the same."""
    slab = problem.space.slabs[box.slab]
    places = {data.name: at for at, data in enumerate(slab.axes)}
    for axis in compared:
        at = places.get(axis)
        if at is not None:
            yield [(axis, label) for label in slab.axes[at].labels[box.slices[at]]], at
        elif axis in slab.labels:
            yield [(axis, slab.labels[axis])], None


def _count(
    problem: Problem,
    evaluation: Evaluation,
    box: Box,
    compared: Iterable[str],
    counted: Mapping[Key, RejectedValue],
) -> None:
    """Count the points of a box."""
    met: Mask = np.ones(box.shape, dtype=bool)
    failed = {}
    for demand, mask in constraints.demands(evaluation, problem.study):
        met &= mask
        failed[demand] = ~np.broadcast_to(mask, box.shape)
    for keys, at in _values(problem, box, compared):
        others = tuple(axis for axis in range(len(box.shape)) if axis != at)
        feasible = np.count_nonzero(met, axis=others).reshape(-1)
        rejected = {demand: np.count_nonzero(mask, axis=others).reshape(-1)
                    for demand, mask in failed.items()}  # fmt: skip
        for place, key in enumerate(keys):
            if key in counted:
                counted[key].points += met.size // len(keys)
                counted[key].feasible += int(feasible[place])
                counted[key].demands.update({demand: int(count[place])
                                             for demand, count in rejected.items()
                                             if count[place]})  # fmt: skip
