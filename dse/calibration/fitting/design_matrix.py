"""Allreduce times as linear functions of the cost of one step: the matrix that is fitted.

The matrix is built by pricing unit step costs with the functions of
:mod:`dse.model.aggregation.algorithms`, so the code that predicts is the code that was fitted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from dse.calibration.experiment import Measurement
from dse.calibration.node_cost import allreduce_s, contention, switches, unit_costs
from dse.model.aggregation.algorithms import ALGORITHMS, node_count
from dse.model.arrays import Array, ArrayLike, Mask
from dse.model.links import FREE


@dataclass(frozen=True)
class Rows:
    """Measurements as columns, all of shape (rows,).

    algorithm: names. run: which start of the ranks. ranks, ranks_per_node, message_bytes, seconds
    (median). noise: standard error of the median over the median. contention: see
    :func:`contention`. link_bytes_per_s: of a node's link to others, NaN where unknown.
    """

    algorithm: np.ndarray[tuple[int], np.dtype[np.str_]]
    run: Array
    ranks: Array
    ranks_per_node: Array
    message_bytes: Array
    seconds: Array
    noise: Array
    contention: Array
    link_bytes_per_s: Array

    @property
    def nodes(self) -> Array:
        """Nodes of each row."""
        return node_count(self.ranks, self.ranks_per_node)

    def take(self, index: ArrayLike) -> Rows:
        """The rows of a mask or an index array."""
        return Rows(*(getattr(self, column.name)[index] for column in fields(self)))


def rows_of(samples: Sequence[Measurement], cores: int) -> Rows:
    """The verified samples as columns, one row per run."""
    kept = [s for s in samples if s.verified]

    def column(values: Iterable[float]) -> Array:
        return np.array(list(values), dtype=np.float64)

    local = column(s.ranks_per_node for s in kept)
    return Rows(
        algorithm=np.array([s.algorithm for s in kept]),
        run=column(s.run for s in kept),
        ranks=column(s.ranks for s in kept),
        ranks_per_node=local,
        message_bytes=column(s.bytes for s in kept),
        seconds=column(s.median_s for s in kept),
        noise=column((s.median_error_s or 0.0) / s.median_s for s in kept),
        contention=contention(local, cores),
        link_bytes_per_s=column(s.link_bytes_per_s or np.nan for s in kept),
    )


def over_runs(rows: Rows) -> Rows:
    """One row per (algorithm, ranks, bytes): the median over its runs.

    noise: standard error of that median over it. Of several runs it is the larger of the noise
    inside them and their spread (in logs, over the root of their number), because two starts of
    the same thing differ more than the repetitions of one.
    """
    # By key, then by time: the median of a group is then at its middle.
    link = np.nan_to_num(rows.link_bytes_per_s)
    names = np.unique(rows.algorithm, return_inverse=True)[1]
    keys = np.stack([rows.message_bytes, link, rows.ranks_per_node, rows.ranks, names])
    order = np.lexsort((rows.seconds, *keys))
    rows, keys = rows.take(order), keys[:, order]
    new = np.ones(rows.ranks.size, dtype=bool)
    new[1:] = np.any(keys[:, 1:] != keys[:, :-1], axis=0)
    first = np.flatnonzero(new)
    count = np.diff(first, append=rows.ranks.size)
    median = (rows.seconds[first + (count - 1) // 2] + rows.seconds[first + count // 2]) / 2
    log = np.log(rows.seconds)
    mean = np.add.reduceat(log, first) / count
    square = np.add.reduceat((log - np.repeat(mean, count)) ** 2, first) / count
    inside = np.sqrt(np.add.reduceat(rows.noise**2, first)) / count
    kept = rows.take(first)
    return replace(kept, seconds=median, noise=np.maximum(inside, np.sqrt(square / count)))


@dataclass(frozen=True)
class Designed:
    """Rows to be fitted, with their part of a design that is computed once for all.

    designs: of all rows, for some edges: seconds per unit of every coefficient, (rows, columns),
    and seconds that need no fit, (rows,). at: positions of these rows among all, (rows,).
    """

    rows: Rows
    designs: Callable[[tuple[float, ...]], tuple[Array, Array]]
    at: NDArray[np.intp]

    @classmethod
    def of(
        cls, rows: Rows, designs: Callable[[tuple[float, ...]], tuple[Array, Array]]
    ) -> Designed:
        """All rows; however often some edges are tried, their design is computed once."""
        return cls(rows, cache(designs), np.arange(rows.ranks.size))

    def take(self, which: Mask) -> Designed:
        """Some of these rows."""
        return Designed(self.rows.take(which), self.designs, self.at[which])

    def design(self, edges: tuple[float, ...]) -> tuple[Array, Array]:
        """Of these rows."""
        matrix, known = self.designs(edges)
        return matrix[self.at], known[self.at]


def design_matrix(rows: Rows, edges_bytes: Sequence[float]) -> Array:
    """Seconds of every row per unit of every coefficient, contention included.

    edges_bytes: where the cost of a step changes its slope.

    Shape (rows, columns + 1): the columns of :func:`unit_costs`, then seconds per switch.
    """
    basis, cut = unit_costs(edges_bytes), 2 + 2 * len(edges_bytes)
    matrix = np.empty((rows.ranks.size, cut + 1))
    for name in np.unique(rows.algorithm):
        mine = rows.algorithm == name
        seconds = allreduce_s(name, rows.ranks[mine], rows.message_bytes[mine], basis, 0.0)
        matrix[mine, :cut] = seconds.T
    steps = matrix[:, 0].copy()  # a unit of latency counts the steps
    matrix[:, :cut] *= rows.contention[:, None]
    matrix[:, cut] = steps * switches(rows.contention)
    return matrix


def reduction_s(rows: Rows, gamma_s_per_byte: float) -> Array:
    """Seconds of every row that go into the reduction itself, contention included: (rows,)."""
    seconds = np.empty(rows.ranks.size)
    for name in np.unique(rows.algorithm):
        mine = rows.algorithm == name
        n, m = rows.ranks[mine], rows.message_bytes[mine]
        seconds[mine] = allreduce_s(name, n, m, FREE, gamma_s_per_byte)
    return seconds * rows.contention


def designed(rows: Rows, gamma_s_per_byte: float) -> Designed:
    """The rows with their :func:`design_matrix` and :func:`reduction_s`."""
    known = reduction_s(rows, gamma_s_per_byte)
    return Designed.of(rows, lambda edges: (design_matrix(rows, edges), known))


def step_bytes(rows: Rows) -> Array:
    """Bytes of the smallest and largest step of each row: (2, rows).

    Of an algorithm that the library chose itself, which is unknown: halving-doubling's, the widest.
    """
    found = np.zeros((2, len(rows.ranks)))
    for name in np.unique(rows.algorithm):
        mine = rows.algorithm == name
        n, m = rows.ranks[mine], rows.message_bytes[mine]
        ran = ALGORITHMS.get(str(name), ALGORITHMS["halving-doubling"])
        found[:, mine] = ran.step_bytes(n, m)
    return found
