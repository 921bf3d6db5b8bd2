"""Machines, networks and aggregations of a study of which no point is feasible, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from dse.pricing.problem import Problem
from dse.search import bounds
from dse.search.feasible import WHOLE, WHOLE_PRICED, Feasible, feasible
from dse.study.axes import LINKS, MACHINES

AXES = (*MACHINES, *LINKS, "aggregation")  # people ask about these

Key: TypeAlias = tuple[str, str]  # axis and label


def rejected_values(
    problem: Problem, front: Sequence[Mapping[str, str]] = ()
) -> dict[Key, Feasible]:
    """By axis and label the values of a study that no feasible point has: exact, and none where its
    space is too large to be counted again, or an axis is continuous. front: labels of points that
    are known to be feasible. A conditional axis is left out."""
    priced = bool(bounds.steps_decide(problem.study))
    if problem.points is None or problem.space.size > (WHOLE_PRICED if priced else WHOLE):
        return {}
    found = {}
    for axis in problem.study.axes:
        if axis.name not in AXES or len(axis.values) < 2:
            continue
        known = {labels.get(axis.name) for labels in front}
        for value, label in zip(axis.values, axis.labels, strict=True):
            if label not in known:
                part = problem.narrowed({axis.name: [value]})
                part.__dict__ |= {"tables": problem.tables}  # which several machines decide
                judged = feasible(part)
                if judged.points and not judged.feasible:
                    found[axis.name, label] = judged
    return found
