"""Which points count: what the machines can do at all, and what the study demands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from dse.model.arrays import Array, ArrayLike, Mask, comparable
from dse.model.memory import DOUBT
from dse.model.normal import NORMAL_90
from dse.pricing.evaluation import Evaluation
from dse.study import IGNORED, Constraint, Study
from dse.study.expressions import Expression
from dse.study.quantities import EQUAL_BATCH

WHOLE_NODES = "whole nodes"
COMPUTABLE = "precision supported"
KNOWN = "facts known"
HOSTED = "colocated servers within workers"
FITS = "fits_memory"
SOLD = "sold new"
MIXED = "every workload of the mix"
RULE = "layout: "
_UNMET = {
    WHOLE_NODES: "the last node is only partly filled",
    COMPUTABLE: "the accelerator does not have this precision",
    KNOWN: "a price or a speed is unknown",
    SOLD: "the accelerator is no longer sold new (market: used admits it)",
    MIXED: "another workload of the mix cannot train there",
    HOSTED: "there are more colocated servers than workers",
    EQUAL_BATCH: "its global batch is not the baseline's",
    FITS: "the accelerator has too little memory (a smaller batch with accumulation, an optimizer "
    "with less state, 16-bit precision or a larger accelerator helps)",
}


def unmet(demand: str) -> str:
    """What to say of a point that does not meet a demand, by its name: that of a built-in one, or
    a constraint as the study writes it."""
    if demand.startswith(RULE):
        return f"there is such a layout only where {demand.removeprefix(RULE)}"
    return _UNMET.get(demand, f"{demand} is not met")


def counted_once(rejected: Mapping[str, int]) -> dict[str, int]:
    """Points that fail each demand, without those that do so only as a consequence of another.

    An accelerator without the precision has no speed in it either: such points count as that only.
    """
    counts = dict(rejected)
    unknown = counts.pop(KNOWN, 0) - counts.get(COMPUTABLE, 0)
    return {**counts, KNOWN: unknown} if unknown > 0 else counts


def reasons(missed: Iterable[str]) -> list[str]:
    """What to say of a point that does not meet these demands, each reason once."""
    return [unmet(name) for name in counted_once(Counter(missed))]


def met(evaluation: Evaluation, study: Study, shape: int | tuple[int, ...]) -> Mask:
    """Which points of this shape meet every demand."""
    passed = np.ones(shape, dtype=bool)
    for _, mask in demands(evaluation, study):
        passed &= mask
    return passed


def demands(evaluation: Evaluation, study: Study) -> Iterator[tuple[str, Mask]]:
    """(name, mask of the points that pass) for the built-in demands and every constraint.

    Masks broadcast to the points' shape and stay as small as what they depend on.
    """
    unpriced = evaluation.points.placement.unpriced
    known: ArrayLike = False if unpriced is None else unpriced
    for demand, mask in built_in(evaluation, study):
        # What has no step is judged by its memory alone.
        yield demand, mask if demand == FITS else mask | known
    for constraint, expression in _compared(study):
        yield constraint.text, np.asarray(expression.evaluate(evaluation)) | known


def built_in(evaluation: Evaluation, study: Study) -> Iterator[tuple[str, Mask]]:
    """What every point must meet, whatever the study says."""
    yield WHOLE_NODES, evaluation.whole_nodes()
    for rule, mask in evaluation.points.placement.rules.items():
        yield f"{RULE}{rule}", mask
    yield COMPUTABLE, evaluation.computable()
    yield KNOWN, evaluation.known(objective.name for objective in study.objectives)
    yield HOSTED, evaluation.points.hosted
    if (sold := evaluation.sold) is not None:
        yield SOLD, sold
    if evaluation.mix is not None:
        yield MIXED, evaluation["speedup"] != 0
    if _memory_counts(evaluation, study):
        yield FITS, ~evaluation.room.too_little


def compared(evaluation: Evaluation, study: Study) -> list[Array]:
    """The objectives as points are compared by them, each on the axes that it depends on: what is
    :func:`expected` of the gain, and numbers that are :func:`comparable`."""
    gain, *costs = (evaluation[objective.name] for objective in study.objectives)
    return [comparable(column) for column in (expected(gain, evaluation, study), *costs)]


def expected(gain: Array, evaluation: Evaluation, study: Study) -> Array:
    """A gain of points as they are compared by it; what does not fit gains nothing.

    P(fits) gain  where P(fits) < 95 %
    """
    if not may_not_fit(evaluation, study):
        return gain
    risk = evaluation.room.out_of_memory
    return np.asarray(np.where(risk > DOUBT, 1 - risk, 1.0) * gain)


def may_not_fit(evaluation: Evaluation, study: Study) -> bool:
    """Whether one of the points may not fit into memory, with more than :data:`DOUBT`."""
    counts = _memory_counts(evaluation, study)
    return counts and bool(np.any(evaluation.room.out_of_memory > DOUBT))


def _memory_counts(evaluation: Evaluation, study: Study) -> bool:
    """Whether points must fit: unless the study ignores memory, or the activations are unknown and
    what is known would fit everywhere, so that nothing can be judged."""
    return study.memory != IGNORED and not np.isnan(evaluation.room.over).all()


def _compared(study: Study) -> Iterator[tuple[Constraint, Expression]]:
    """The constraints that are comparisons; fits_memory, the only word, is a demand of its own."""
    for constraint in study.constraints:
        if constraint.expression is not None:
            yield constraint, constraint.expression


def violation(evaluation: Evaluation, study: Study) -> Array:
    """How far points are from feasible, >= 0, shape of the points: the sum over what they fail.

    Every constraint counts relative to its own bound; a built-in demand that fails counts 1, and
    memory besides as far as it is short.
    """
    total = _unmet_count(evaluation, study)
    if _memory_counts(evaluation, study):
        total = total + np.fmax(_past_memory(evaluation), 0.0)
    for _, expression in _compared(study):
        past = expression.violation(evaluation)
        total = total + np.where(np.isnan(past), 1.0, past)
    return total


def excesses(evaluation: Evaluation, study: Study) -> list[Array]:
    """How far points are past each limit, below 0 as far as they are within it; each of the points'
    shape or smaller.

    First how many built-in demands they fail, which knows no "within"; then memory, as
    :func:`_past_memory` says; then every comparison of the study (:meth:`.Expression.excess`).
    """
    memory: Array = np.zeros(())
    if _memory_counts(evaluation, study):
        memory = np.nan_to_num(_past_memory(evaluation), nan=-1.0)
    compared = [expression.excess(evaluation) for _, expression in _compared(study)]
    return [_unmet_count(evaluation, study), memory, *compared]


def _past_memory(evaluation: Evaluation) -> Array:
    """How far what is needed for certain is past the memory, in [-1, 1]: ``tanh`` of the logarithm
    of their ratio."""
    return np.tanh((evaluation.room.over - NORMAL_90) * evaluation.room.spread)


def limits(study: Study) -> int:
    """How many :func:`excesses` there are of a study."""
    return 2 + sum(1 for _ in _compared(study))


def _unmet_count(evaluation: Evaluation, study: Study) -> Array:
    total: Array = np.zeros(())
    for _, mask in built_in(evaluation, study):
        total = total + np.where(mask, 0.0, 1.0)
    return total
