"""Which points count: what the machines can do at all, and what the study demands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dse.model.arrays import Array, Mask
from dse.search.columns import Evaluation
from dse.study import Constraint

WHOLE_NODES = "whole nodes"
COMPUTABLE = "precision supported"


def checks(evaluation: Evaluation, constraints: Sequence[Constraint]) -> Iterator[tuple[str, Mask]]:
    """(reason, mask of the points that pass) for the built-in demands and every constraint.

    Masks broadcast to the points' shape and stay as small as what they depend on.
    """
    yield WHOLE_NODES, evaluation.whole_nodes()
    yield COMPUTABLE, evaluation.computable()
    for constraint in constraints:
        yield constraint.text, satisfied(constraint, evaluation)


def satisfied(constraint: Constraint, evaluation: Evaluation) -> Mask:
    """The points that meet one constraint. What is NaN (unknown) does not."""
    if constraint.expression is None:  # fits_memory, the only word
        return np.asarray(evaluation["memory_slack"] >= 0)
    return np.asarray(constraint.expression.evaluate(evaluation))


def violation(evaluation: Evaluation, constraints: Sequence[Constraint]) -> Array:
    """How far points are from feasible, >= 0, shape of the points: the sum over what they fail.

    Every constraint counts relative to its own bound; a built-in demand that fails counts 1.
    """
    total: Array = np.zeros(())
    for mask in (evaluation.whole_nodes(), evaluation.computable()):
        total = total + np.where(mask, 0.0, 1.0)
    for constraint in constraints:
        if constraint.expression is None:
            slack = evaluation["memory_slack"]
            needed = np.abs(slack) + 1.0
            past = np.where(slack >= 0, 0.0, -slack / needed)
        else:
            past = constraint.expression.violation(evaluation)
        total = total + np.where(np.isnan(past), 1.0, past)
    return total
