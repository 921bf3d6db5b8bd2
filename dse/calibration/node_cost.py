"""Seconds of an allreduce on one node from the cost of one step; ranks may share cores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dse.model.aggregation.algorithms import ALGORITHMS
from dse.model.arrays import Array, ArrayLike
from dse.model.links import Exchange, StepCost, single_tier


def contention(ranks: ArrayLike, cores: int) -> Array:
    """How many ranks share the busiest core, ``max(1, n / cores)``.

    Everything measured is processor work (software, copies, reductions), so with more ranks than
    cores the ranks take turns: k times as long, with k the contention. On top, every
    step waits until each of the k ranks of a core has been switched in while the others poll:
    k (k - 1) switches. Fitted step costs are for a rank with its own core (k = 1).
    """
    return np.asarray(np.maximum(1.0, np.asarray(ranks, dtype=np.float64) / cores))


def allreduce_s(
    algorithm: str, ranks: ArrayLike, message_bytes: ArrayLike, step: Exchange, gamma: ArrayLike
) -> Array:
    """Seconds on one node without contention; all arguments broadcast."""
    network = single_tier(step, gamma)
    return ALGORITHMS[algorithm](ranks, ranks, message_bytes, network)


def step_cost(coefficients: Array, edges_bytes: Sequence[float]) -> StepCost:
    """The StepCost of coefficients: latency, a slope per regime, a jump per edge.

    ``coefficients`` of shape (columns,) gives floats; (draws, columns) gives arrays (draws, 1).
    """
    edges = tuple(edges_bytes)
    if coefficients.ndim == 1:
        columns: list[ArrayLike] = [float(value) for value in coefficients]
    else:
        columns = [column[:, None] for column in coefficients.T]
    slopes = 1 + len(edges)
    return StepCost(columns[0], tuple(columns[1 : 1 + slopes]), edges, tuple(columns[1 + slopes :]))


def switches(contention_factor: ArrayLike) -> Array:
    """Process switches that a step waits for, ``k (k - 1)``; 0 if every rank has its own core."""
    factor = np.asarray(contention_factor, dtype=np.float64)
    return np.asarray(factor * (factor - 1.0))


def on_cores_s(
    algorithm: str,
    ranks: ArrayLike,
    message_bytes: ArrayLike,
    factor: ArrayLike,
    step: Exchange,
    gamma: ArrayLike,
    switch_s: ArrayLike,
) -> Array:
    """Seconds on one node: ``k A(f, gamma) + k (k - 1) A(switch)``, with A the algorithm, f the
    step cost and k the ``factor`` of :func:`contention`; all arguments broadcast."""
    alone = allreduce_s(algorithm, ranks, message_bytes, step, gamma)
    switching = allreduce_s(algorithm, ranks, message_bytes, StepCost(switch_s, (0.0,)), 0.0)
    return np.asarray(factor * alone + switches(factor) * switching)
