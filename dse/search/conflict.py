"""Limits that cannot be met: one that no point meets, or several that exclude one another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from dse.model.arrays import Array, Mask
from dse.pricing import constraints
from dse.pricing.evaluation import Evaluation
from dse.spelling import enumerated
from dse.study import Constraint, Study
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
        """Of these points, if one is nearer."""
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


def sentence(found: Sequence[Excluded]) -> str:
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
        f"{one.name} {QUANTITIES[one.name].text(one.value)}"
        for one in found
        if one.name is not None and one.value is not None
    ]
    best = f": within the other limits, the best is {enumerated(reached)}" if reached else ""
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
