"""Allreduce times as linear functions of the cost of one step: the matrix that is fitted.

The matrix is built by pricing unit step costs with the functions of ``dse.model.collectives``,
so the code that predicts is the code that was fitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dse.calibration.experiment import Measurement
from dse.model.arrays import Array, ArrayLike
from dse.model.collectives import ALGORITHMS
from dse.model.links import FREE, Exchange, StepCost, single_tier


@dataclass(frozen=True)
class Rows:
    """Measurements as columns, all of shape (rows,).

    algorithm: names. ranks, message_bytes, seconds (median), noise (standard error of the median
    over the median). contention: see :func:`contention`.
    """

    algorithm: np.ndarray[tuple[int], np.dtype[np.str_]]
    ranks: Array
    message_bytes: Array
    seconds: Array
    noise: Array
    contention: Array

    def take(self, index: ArrayLike) -> Rows:
        """The rows of a mask or an index array."""
        return Rows(
            self.algorithm[index],
            self.ranks[index],
            self.message_bytes[index],
            self.seconds[index],
            self.noise[index],
            self.contention[index],
        )


def contention(ranks: ArrayLike, cores: int) -> Array:
    """How many ranks share the busiest core, ``max(1, n / cores)``.

    All that was measured is work of a processor (software, copies, reductions), so with more
    ranks than cores it is done in turns. Fitted coefficients are for a rank with its own core.
    """
    return np.asarray(np.maximum(1.0, np.asarray(ranks, dtype=np.float64) / cores))


def rows_of(samples: Sequence[Measurement], cores: int) -> Rows:
    """The verified samples on one node as columns."""
    kept = [s for s in samples if s.verified and s.nodes == 1]
    ranks = np.array([s.ranks for s in kept], dtype=np.float64)
    return Rows(
        algorithm=np.array([s.algorithm for s in kept]),
        ranks=ranks,
        message_bytes=np.array([s.bytes for s in kept], dtype=np.float64),
        seconds=np.array([s.median_s for s in kept]),
        noise=np.array([s.median_error_s / s.median_s for s in kept]),
        contention=contention(ranks, cores),
    )


def allreduce_s(
    algorithm: str, ranks: ArrayLike, message_bytes: ArrayLike, step: Exchange, gamma: ArrayLike
) -> Array:
    """Seconds on one node without contention; all arguments broadcast."""
    network = single_tier(step, gamma)
    return ALGORITHMS[algorithm](ranks, ranks, message_bytes, network)


def unit_costs(edges_bytes: Sequence[float]) -> StepCost:
    """Every basis step cost at once, coefficients of shape (columns, 1).

    Columns: latency, one slope per regime, one jump per edge: ``1 + (E + 1) + E``.
    """
    edges = tuple(edges_bytes)
    unit = np.eye(2 + 2 * len(edges))[:, :, None]
    slopes = 1 + len(edges)
    return StepCost(unit[0], tuple(unit[1 : 1 + slopes]), edges, tuple(unit[1 + slopes :]))


def step_cost(coefficients: Array, edges_bytes: Sequence[float]) -> StepCost:
    """The StepCost of coefficients in the order of :func:`unit_costs`.

    ``coefficients`` of shape (columns,) gives floats; (draws, columns) gives arrays (draws, 1).
    """
    edges = tuple(edges_bytes)
    if coefficients.ndim == 1:
        columns: list[ArrayLike] = [float(value) for value in coefficients]
    else:
        columns = [column[:, None] for column in coefficients.T]
    slopes = 1 + len(edges)
    return StepCost(columns[0], tuple(columns[1 : 1 + slopes]), edges, tuple(columns[1 + slopes :]))


def design_matrix(rows: Rows, edges_bytes: Sequence[float]) -> Array:
    """Seconds of every row per unit of every coefficient, contention included: (rows, columns)."""
    basis = unit_costs(edges_bytes)
    matrix = np.empty((rows.ranks.size, 2 + 2 * len(edges_bytes)))
    for name in np.unique(rows.algorithm):
        mine = rows.algorithm == name
        seconds = allreduce_s(name, rows.ranks[mine], rows.message_bytes[mine], basis, 0.0)
        matrix[mine] = seconds.T
    return matrix * rows.contention[:, None]


def reduction_s(rows: Rows, gamma_s_per_byte: float) -> Array:
    """Seconds of every row that go into the reduction itself, contention included: (rows,)."""
    seconds = np.empty(rows.ranks.size)
    for name in np.unique(rows.algorithm):
        mine = rows.algorithm == name
        n, m = rows.ranks[mine], rows.message_bytes[mine]
        seconds[mine] = allreduce_s(name, n, m, FREE, gamma_s_per_byte)
    return seconds * rows.contention


def step_bytes(rows: Rows) -> Array:
    """Bytes of the smallest and largest step of each row: (2, rows).

    Ring: m/n. Recursive doubling: m. Halving-doubling: from m/p to m/2, with p the largest power
    of two in n, or to m where ranks beyond p take part.
    """
    n, m = rows.ranks, rows.message_bytes
    power = 2.0 ** np.floor(np.log2(n))
    ring, doubling = rows.algorithm == "ring", rows.algorithm == "recursive-doubling"
    low = np.where(ring, m / n, np.where(doubling, m, m / power))
    largest = np.where(n > power, m, m / 2)
    return np.stack([low, np.where(ring, m / n, np.where(doubling, m, largest))])
