"""Why no point of a study meets every limit: limits that cannot be met, one that no point meets or
several that exclude one another, and what comes nearest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from dse.errors import NoFeasiblePoint
from dse.model.arrays import Array, Mask
from dse.pricing import constraints, memory_remedies
from dse.pricing.evaluation import Evaluation
from dse.pricing.problem import Problem
from dse.spelling import enumerated
from dse.study import Constraint, Study, Value
from dse.study.quantities import QUANTITIES


@dataclass(frozen=True)
class Excluded:
    """A limit that keeps points from being feasible.

    name: the quantity that it bounds; None where it bounds no single one. value, alone: that
    quantity in SI units at the point that misses the limit least, of those that meet everything
    else, and of those that meet what is no limit; None where there is no such point. met: whether
    one of the latter meets the limit.
    """

    limit: Constraint
    name: str | None
    value: float | None
    alone: float | None
    met: bool


@dataclass
class _Nearest:
    """How far the nearest point is past a limit, and what it has of the quantity."""

    past: float = np.inf
    value: float | None = None

    def take(self, past: Array, quantity: Array | None) -> None:
        """Keep the nearest of these points, if it is nearer."""
        first = int(np.argmin(past))
        if past.flat[first] < self.past:
            self.past = float(past.flat[first])
            if quantity is not None:
                self.value = float(np.broadcast_to(quantity, past.shape).flat[first])


@dataclass
class _Limit:
    limit: Constraint
    within: _Nearest = field(default_factory=_Nearest)
    alone: _Nearest = field(default_factory=_Nearest)


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
    limits = {constraint.text for constraint in problem.study.constraints} - {constraints.FITS}
    loosen = "; loosen " + ("these limits" if len(limits & {*failed}) > 1 else "that limit")
    most = f"most ({rejected[worst]:,}) are rejected because {constraints.unmet(worst)}"
    if rejected.get(constraints.FITS) == points:
        most = f"{problem.workload.name} fits on no accelerator of the space"
    if said := _sentence(excluded(problem.study, evaluations)):
        most = said
    return NoFeasiblePoint(
        f"{problem.study.path}: none of {points:,} points meets every constraint; {most}; "
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


def excluded(study: Study, evaluations: Iterable[Evaluation]) -> list[Excluded]:
    """The limits that no point meets, or those that exclude one another, of a study of which no
    point is feasible.

    Limits exclude one another where each of them, dropped alone, leaves something feasible; a
    single such limit is excluded by the others together. Empty of a study with fewer than two
    limits, and where neither is so. evaluations: of all points, in parts.
    """
    limits = [_Limit(one) for one in study.constraints if one.expression is not None]
    if len(limits) < 2:
        return []
    texts = {one.limit.text for one in limits}
    for evaluation in evaluations:
        masks = dict(constraints.demands(evaluation, study))
        for one in limits:
            name = one.limit.limit.name if one.limit.limit else None
            quantity = None if name is None else evaluation[name]
            others = [mask for of, mask in masks.items() if of != one.limit.text]
            one.within.take(_past(one.limit, evaluation, others), quantity)
            no_limits = [mask for of, mask in masks.items() if of not in texts]
            one.alone.take(_past(one.limit, evaluation, no_limits), quantity)
    never = [one for one in limits if 0 < one.alone.past < np.inf]
    known = never or [one for one in limits if one.within.past < np.inf]
    return [
        Excluded(one.limit, one.limit.limit.name if one.limit.limit else None,
                 one.within.value, one.alone.value, one.alone.past == 0)
        for one in known
    ]  # fmt: skip


def _past(limit: Constraint, evaluation: Evaluation, others: Sequence[Mask]) -> Array:
    """How far points are past a limit; infinite where they miss another demand, or where nobody
    knows."""
    assert limit.expression is not None
    past = limit.expression.violation(evaluation)
    shape = np.broadcast_shapes(past.shape, *(mask.shape for mask in others))
    met = np.ones(shape, dtype=bool)
    for mask in others:
        met &= mask
    return np.asarray(np.where(met & ~np.isnan(past), past, np.inf))


def _sentence(found: Sequence[Excluded]) -> str:
    """What cannot be met and what could be, or what excludes what; empty where nothing does."""
    if not found:
        return ""
    if not all(one.met for one in found):
        return " and ".join(_never(one) for one in found)
    if len(found) == 1:
        (one,) = found
        within = f"{one.limit.text} is met by none that meets the other limits"
        if one.name is None or one.value is None:
            return within
        return f"{within}: the best is {QUANTITIES[one.name].text(one.value)}"
    texts = [one.limit.text for one in found]
    both = "both" if len(texts) == 2 else "all"
    reached = [
        f"with {enumerated([text for text in texts if text != one.limit.text])} the best "
        f"{one.name} is {QUANTITIES[one.name].text(one.value)}"
        for one in found
        if one.name is not None and one.value is not None
    ]
    best = f": {'; '.join(reached)}" if reached else ""
    return f"{enumerated(texts)} can each be met, but not {both} at once{best}"


def _never(one: Excluded) -> str:
    """``time_to_target <= 5 min is met by none: the best of all is 8.31 min, within the other
    limits 47.15 min``."""
    said = f"{one.limit.text} is met by none"
    if one.name is None or one.alone is None:
        return said
    said += f": the best of all is {QUANTITIES[one.name].text(one.alone)}"
    if one.value is None or one.value == one.alone:
        return said
    return f"{said}, within the other limits {QUANTITIES[one.name].text(one.value)}"
