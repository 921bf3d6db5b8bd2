"""With what probability points meet what a study demands, by the draws of their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dse.model.arrays import Array
from dse.pricing.coordinates import columns_of
from dse.pricing.evaluation import Evaluation
from dse.pricing.problem import Problem
from dse.study import Value

_SPEEDUP = "speedup"


def of_meeting_all(problem: Problem, points: Sequence[Mapping[str, Value | None]]) -> Array:
    """The share of draws in which a point meets every constraint of the study, (points,).

    Draws are common to all points and to the baseline, so that what slows both cancels in a
    speedup. What a draw cannot price does not meet a constraint. A study without constraints is
    met for certain. Memory is no matter of chance: who asks has left out what does not fit.
    """
    found = np.ones(len(points))
    expressions = [c.expression for c in problem.study.constraints if c.expression is not None]
    if not expressions or not points:
        return found
    sampled = problem.sampled
    baseline = np.ravel(sampled.baseline["throughput"])
    for where, evaluation in sampled.scattered(columns_of(points), speedup=False):
        met = np.ones((len(baseline), len(where)), dtype=bool)
        for expression in expressions:
            columns = {name: _drawn(evaluation, name, baseline) for name in expression.names}
            met &= expression.evaluate(columns)
        found[where] = met.mean(axis=0)
    return found


def _drawn(evaluation: Evaluation, name: str, baseline: Array) -> Array:
    """A quantity in every draw, (draws, points), or what broadcasts to that."""
    if name == _SPEEDUP:
        return np.asarray(evaluation["throughput"] / baseline[:, np.newaxis])
    return evaluation[name]
