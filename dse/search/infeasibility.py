"""Why no point of a study meets every limit: what comes nearest, and which limit to move."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping

import numpy as np

from dse.errors import NoFeasiblePoint
from dse.model.arrays import scalar
from dse.pricing import constraints, memory_remedies
from dse.pricing.evaluation import Evaluation
from dse.pricing.problem import Problem
from dse.study import Study, Value
from dse.study.quantities import QUANTITIES


def nothing_feasible(
    problem: Problem,
    points: int,
    rejected: Mapping[str, int],
    labels: Mapping[str, str],
    values: Mapping[str, Value | None],
    evaluations: Iterable[Evaluation],
) -> NoFeasiblePoint:
    """The error to raise. points: that were judged; rejected: demand -> of these, those that fail
    it. values: of the point that misses least; labels: the same as text;
    evaluations: of all points, in parts."""
    rejected = constraints.counted_once(rejected)
    worst = max(rejected, key=lambda name: rejected[name])
    evaluation = problem.point(values)
    failed = Counter(
        name for name, mask in constraints.demands(evaluation, problem.study) if not mask.all()
    )
    short = memory_remedies.shortage(problem, values)
    missed = [
        _missed(evaluation, problem.study, name, short) for name in constraints.counted_once(failed)
    ]
    most = f"most ({rejected[worst]:,}) are rejected because {constraints.unmet(worst)}"
    if rejected.get(constraints.FITS) == points:
        most = f"{problem.workload.name} fits on no accelerator of the space"
    advice = _advice(problem.study, failed, *reached(problem.study, evaluations))
    return NoFeasiblePoint(
        f"{problem.study.path}: none of {points:,} points meets every constraint; {most}; "
        f"nearest is {_named(problem.study, labels)}, which {' and '.join(missed)}"
        f"{f'; {advice}' if advice else ''}"
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
    reached = [QUANTITIES[name].text(scalar(evaluation[name])) for name in names]
    said = [f"{name} is {text}" for name, text in zip(names, reached, strict=True)]
    it_is = f"it is {reached[0]}" if len(names) == 1 else " and ".join(said)
    return f"misses '{demand}': {it_is}"


def reached(
    study: Study, evaluations: Iterable[Evaluation]
) -> tuple[dict[str, float], dict[str, float]]:
    """How near the points come to each limit: by its text, the quantity that it bounds, in SI.

    First of those that meet every other constraint, so that moving this limit alone is enough; then
    of all that meet what is no limit, where none of them meets this one. Without limits that bound
    several quantities. evaluations: of all points, in parts.
    """
    texts = {one.text for one in study.constraints if one.expression is not None}
    limits = [one for one in study.constraints if one.text in texts and one.limit]
    found = [dict.fromkeys((one.text for one in limits), (np.inf, np.nan)) for _ in range(2)]
    for evaluation in evaluations:
        masks = dict(constraints.demands(evaluation, study))
        for one in limits:
            assert one.expression is not None
            assert one.limit is not None
            past, quantity = one.expression.violation(evaluation), evaluation[one.limit.name]
            for nearest, left_out in zip(found, ({one.text}, texts), strict=True):
                met = [mask for text, mask in masks.items() if text not in left_out]
                far, reaches, *met = np.broadcast_arrays(past, quantity, *met)
                far = np.where(np.logical_and.reduce(met) & ~np.isnan(far), far, np.inf)
                at = int(np.argmin(far))
                if far.flat[at] < nearest[one.text][0]:
                    nearest[one.text] = float(far.flat[at]), float(reaches.flat[at])
    within, of_all = ({text: value for text, (past, value) in nearest.items() if 0 < past < np.inf}
                      for nearest in found)  # fmt: skip
    return within, of_all


def _advice(
    study: Study, failed: Collection[str], within: Mapping[str, float], of_all: Mapping[str, float]
) -> str:
    """``loosen speedup >= 4 to 3.21, or capital <= 50 kUSD to 61,000 USD``; where no limit alone is
    enough, those that the nearest point fails, with the best of all points."""
    bounded = {one.text: one.limit.name for one in study.constraints if one.limit}
    told = {text: QUANTITIES[bounded[text]].text(value)
            for text, value in (within or of_all).items()}  # fmt: skip
    if within:
        return f"loosen {', or '.join(f'{text} to {value}' for text, value in told.items())}"
    each = [f"{one.text} (the best of all is {told[one.text]})" if one.text in told else one.text
            for one in study.constraints if one.expression and one.text in failed]  # fmt: skip
    return f"loosen {' and '.join(each)}" if each else ""
