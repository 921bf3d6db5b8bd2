"""Limits that exclude one another: each can be met, but not all of them by one point."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from dse.model.arrays import Array, Mask
from dse.pricing import constraints
from dse.pricing.evaluation import Evaluation
from dse.spelling import enumerated
from dse.study import Constraint, Study


@dataclass(frozen=True)
class Excluded:
    """A limit without which some points would be feasible.

    name, value: the quantity that it bounds, in SI units, at the one of those points that misses it
    least; None where it bounds no single quantity.
    """

    limit: Constraint
    name: str | None
    value: float | None


def excluded(study: Study, evaluations: Iterable[Evaluation]) -> list[Excluded]:
    """The limits that exclude one another, of a study of which no point is feasible.

    Empty unless there are at least two limits each of which, dropped alone, leaves something
    feasible. evaluations: of all points, in parts.
    """
    limits = [one for one in study.constraints if one.expression is not None]
    if len(limits) < 2:
        return []
    least = np.full(len(limits), np.inf)
    found: list[Excluded | None] = [None] * len(limits)
    for evaluation in evaluations:
        masks = dict(constraints.demands(evaluation, study))
        for at, limit in enumerate(limits):
            past = _past(limit, evaluation, [m for name, m in masks.items() if name != limit.text])
            first = int(np.argmin(past))
            if past.flat[first] < least[at]:
                least[at] = past.flat[first]
                name = limit.limit.name if limit.limit else None
                value = (
                    None if name is None
                    else float(np.broadcast_to(evaluation[name], past.shape).flat[first])
                )  # fmt: skip
                found[at] = Excluded(limit, name, value)
    known = [one for one in found if one is not None]
    return known if len(known) > 1 else []


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


def sentence(found: Sequence[Excluded], quantity: Callable[[str, float], str]) -> str:
    """What excludes what, and what each limit would have to be; empty where nothing does.

    quantity: a value of a quantity with its unit.
    """
    if not found:
        return ""
    texts = [one.limit.text for one in found]
    both = "both" if len(texts) == 2 else "all"
    reached = [
        f"{one.name} {quantity(one.name, one.value)}"
        for one in found
        if one.name is not None and one.value is not None
    ]
    best = f": within the other limits, the best is {enumerated(reached)}" if reached else ""
    return f"{enumerated(texts)} can each be met, but not {both} at once{best}"
