"""What a study is told of which no point meets every limit: why, and what comes nearest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from dse.errors import NoFeasiblePoint
from dse.pricing import constraints, memory_remedies
from dse.pricing.evaluation import Evaluation
from dse.pricing.problem import Problem
from dse.search import conflict
from dse.search.tally import Tally
from dse.study import Study, Value
from dse.study.quantities import QUANTITIES


def nothing_feasible(
    problem: Problem,
    tally: Tally,
    labels: Mapping[str, str],
    values: Mapping[str, Value | None],
    together: Sequence[conflict.Excluded],
) -> NoFeasiblePoint:
    """The error to raise. values: of the point that misses least; labels: the same as text;
    together: limits that exclude one another."""
    rejected = constraints.counted_once(tally.rejected)
    worst = max(rejected, key=lambda name: rejected[name])
    evaluation = problem.point(values)
    failed = Counter(
        name for name, mask in constraints.demands(evaluation, problem.study) if not mask.all()
    )
    short = memory_remedies.shortage(problem, values)
    missed = [
        _missed(evaluation, problem.study, name, short) for name in constraints.counted_once(failed)
    ]
    limits = {constraint.text for constraint in problem.study.constraints} - {constraints.FITS}
    loosen = "; loosen " + ("these limits" if len(limits & {*failed}) > 1 else "that limit")
    most = f"most ({rejected[worst]:,}) are rejected because {constraints.unmet(worst)}"
    if rejected.get(constraints.FITS) == tally.points:
        most = f"{problem.workload.name} fits on no accelerator of the space"
    if together:
        most = conflict.sentence(together)
    return NoFeasiblePoint(
        f"{problem.study.path}: none of {tally.points:,} points meets every constraint; {most}; "
        f"nearest is {_named(problem.study, labels)}, which {' and '.join(missed)}"
        f"{loosen * bool(limits & {*failed})}"
    )


def _named(study: Study, labels: Mapping[str, str]) -> str:
    """The values of a point that set it apart from others of the study; all that the study gives
    where it has one point."""
    given = {axis.name: axis for axis in study.axes}
    conditional = {condition.axis for condition in study.conditions}
    open_axes = {name for name, axis in given.items() if axis.continuous or len(axis.labels) > 1}
    shown = open_axes | conditional if open_axes else {*given}
    return ", ".join(f"{name}={label}" for name, label in labels.items() if label and name in shown)


def _missed(evaluation: Evaluation, study: Study, demand: str, short: str) -> str:
    """What a point does that misses a demand, and what it reaches instead.

    short: how much memory it lacks.
    """
    if demand == constraints.FITS:
        return f"does not fit into memory: {short}"
    constraint = next((c for c in study.constraints if c.text == demand), None)
    if constraint is None or constraint.expression is None:
        return f"is rejected because {constraints.unmet(demand)}"
    names = sorted(constraint.expression.names)
    reached = [QUANTITIES[name].text(_value(evaluation, name)) for name in names]
    said = [f"{name} is {text}" for name, text in zip(names, reached, strict=True)]
    it_is = f"it is {reached[0]}" if len(names) == 1 else " and ".join(said)
    return f"misses '{demand}': {it_is}"


def _value(evaluation: Evaluation, name: str) -> float:
    return float(np.ravel(evaluation[name])[0])
