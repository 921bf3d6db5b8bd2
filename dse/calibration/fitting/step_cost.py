"""Fits the cost of one step to measurements, with its uncertainty and its held-out error.

Allreduce times are linear functions of that cost, but for pipelines. Their matrix is what the
functions of :mod:`dse.model.aggregation.algorithms` add for a unit of each coefficient, so the code
that predicts is the code that was fitted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, partial
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from dse.calibration.experiment import Measurement
from dse.calibration.files import rounded
from dse.calibration.node_cost import contention, on_cores_s, step_cost
from dse.calibration.profile import Fit
from dse.model.aggregation.algorithms import ALGORITHMS, node_count
from dse.model.arrays import Array, ArrayLike, Mask

CANDIDATE_EDGES_BYTES = tuple(4.0**k for k in range(5, 12))  # 1 KiB .. 4 MiB
MAX_EDGES = 3
MIN_GAIN = 0.05  # an edge must cut the cross-validated error by this share
SIZE_FOLDS = 3
HUBER = 1.345  # residuals beyond this many scales lose weight (95 % efficient: Huber 1981)
ROUNDS = 20
BENDS = 6  # fits of pipelines, each with the chunks of the one before
TANGENT_STEP = 1e-5  # of a row's seconds
DRAWS = 100
SEED = 20240


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


Price = Callable[[Rows, tuple[float, ...], Array], Array]


@dataclass(frozen=True)
class Designed:
    """Rows to be fitted, with the design of all rows, which is computed once for all.

    price: seconds of rows for some edges and coefficients, (k, columns) -> (k, rows): linear in the
    latter, but for pipelines. designs: of all rows, for some edges: seconds per unit of every
    coefficient, (rows, columns), and seconds that need no fit, (rows,). at: positions of these rows
    among all, (rows,). pipelined: whether the price of one has as many chunks as is fastest.
    """

    rows: Rows
    price: Price
    designs: Callable[[tuple[float, ...]], tuple[Array, Array]]
    at: NDArray[np.intp]
    pipelined: bool

    @classmethod
    def of(cls, rows: Rows, price: Price, per_edge: int) -> Designed:
        """All rows. per_edge: columns that an edge adds to the three without any.

        The coefficients are told apart beside a latency of a second: a step takes as long as its
        slowest message, and beside that one others, whose cost is known, take none.
        """

        @cache
        def designs(edges: tuple[float, ...]) -> tuple[Array, Array]:
            units = np.eye(3 + per_edge * len(edges))
            *ones, base = price(rows, edges, np.vstack([units[0] + units, units[:1]]))
            matrix = np.maximum(np.array(ones) - base, 0.0).T
            return matrix, base - matrix[:, 0]

        bent = any(ALGORITHMS[str(name)].pipelined for name in np.unique(rows.algorithm))
        return cls(rows, price, designs, np.arange(rows.ranks.size), bent)

    def take(self, which: Mask) -> Designed:
        """Some of these rows."""
        return replace(self, rows=self.rows.take(which), at=self.at[which])

    def design(self, edges: tuple[float, ...], near: Array | None = None) -> tuple[Array, Array]:
        """Of these rows; of pipelines the tangent at the coefficients ``near``."""
        matrix, known = self.designs(edges)
        matrix, known = matrix[self.at], known[self.at]
        if near is None or not self.pipelined:
            return matrix, known
        share = np.max(matrix / self.rows.seconds[:, None], axis=0)
        step = np.divide(TANGENT_STEP, share, out=np.ones_like(share), where=share > 0)
        *moved, base = self.price(self.rows, edges, np.vstack([near + np.diag(step), near]))
        tangent = np.maximum((np.array(moved) - base) / step[:, None], 0.0).T
        return tangent, base - tangent @ near


def price_on_node(
    gamma_s_per_byte: float, rows: Rows, edges_bytes: Sequence[float], coefficients: Array
) -> Array:
    """Seconds of the rows, contention included: (k, rows).

    coefficients, (k, columns): those of :func:`step_cost`, then seconds per switch.
    """
    seconds = np.empty((len(coefficients), rows.ranks.size))
    cost, switch_s = step_cost(coefficients[:, :-1], edges_bytes), coefficients[:, -1:]
    for name in np.unique(rows.algorithm):
        at = rows.algorithm == name
        n, m, k = rows.ranks[at], rows.message_bytes[at], rows.contention[at]
        seconds[:, at] = on_cores_s(str(name), n, m, k, cost, gamma_s_per_byte, switch_s)
    return seconds


def designed(rows: Rows, gamma_s_per_byte: float) -> Designed:
    """The rows of one node with their design."""
    return Designed.of(rows, partial(price_on_node, gamma_s_per_byte), per_edge=2)


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


def relative_nnls(given: Designed, edges_bytes: tuple[float, ...]) -> Array:
    """Non-negative coefficients that minimise a Huber loss of relative residuals.

    ``min sum_i huber((X c + reduction - t)_i / t_i)``, c >= 0, by iteratively reweighted NNLS
    (Lawson & Hanson 1974, ch. 23). A median whose standard error is above a tenth of it loses
    weight. Of pipelines by the tangent at the coefficients before. Returns (columns,).
    """
    rows, found = given.rows, None
    for _ in range(BENDS if given.pipelined else 1):
        matrix, known = given.design(edges_bytes, found)
        found = robust_nnls(matrix, rows.seconds, known, rows.noise)
    assert found is not None
    return found


def robust_nnls(matrix: Array, seconds: Array, known: Array, noise: Array) -> Array:
    """The coefficients of :func:`relative_nnls` for a given matrix: (columns,).

    matrix: seconds per unit of a coefficient, (rows, columns). seconds: measured. known: seconds
    that need no fit. noise: relative standard error of ``seconds``. All three (rows,).
    """
    relative = matrix / seconds[:, None]
    target = np.maximum(seconds - known, 0.0) / seconds
    # Columns differ by ten orders of magnitude (s against s/byte): scale, solve, scale back.
    scale = np.max(relative, axis=0)
    scale[scale == 0] = np.inf
    relative = relative / scale
    trust = 1.0 / np.sqrt(1.0 + (noise / 0.1) ** 2)
    weights, best = trust, np.zeros(matrix.shape[1])
    for _ in range(ROUNDS):
        previous = best
        best = nnls(relative * weights[:, None], target * weights)[0]
        residual = np.abs(relative @ best - target) * trust
        spread = max(_median(residual) / 0.6745, 1e-6)
        weights = trust * np.sqrt(np.minimum(1.0, HUBER * spread / np.maximum(residual, 1e-12)))
        if np.abs(best - previous).max() <= 1e-4 * best.max():
            break
    return np.asarray(best / scale)


def _median(values: Array) -> float:
    """That of numpy, which takes longer to look at few numbers than to sort them."""
    rising = np.sort(values)
    return float(rising[(rising.size - 1) // 2] + rising[rising.size // 2]) / 2


def predict_rows(given: Designed, coefficients: Array, edges_bytes: tuple[float, ...]) -> Array:
    """Seconds of every row as these coefficients predict them: (rows,)."""
    matrix, known = given.design(edges_bytes, coefficients)
    return np.asarray(matrix @ coefficients + known)


def fitted_s(train: Designed, test: Designed, edges_bytes: tuple[float, ...]) -> Array:
    """Seconds of the rows of ``test`` as predicted by a fit on ``train``: (rows,)."""
    return predict_rows(test, relative_nnls(train, edges_bytes), edges_bytes)


class Columns(Protocol):
    """Rows to be fitted."""

    def take(self, which: Mask) -> Self: ...


Kept = TypeVar("Kept", bound=Columns)


def held_out_s(given: Kept, groups: Array, fit_and_predict: Callable[[Kept, Kept], Array]) -> Array:
    """Seconds of every group as a fit on all others predicts them: (rows,).

    A lone group is predicted by its own fit. groups: the group of each row, (rows,).
    fit_and_predict: fits the rows of its first argument, and predicts the seconds of those of its
    second.
    """
    result, names = np.empty(groups.size), np.unique(groups)
    for name in names:
        test = groups == name
        train = ~test if names.size > 1 else test
        result[test] = fit_and_predict(given.take(train), given.take(test))
    return result


def relative_error(predicted: Array, measured: Array) -> Array:
    """|predicted - measured| / measured, in the shape of both."""
    return np.asarray(np.abs(predicted - measured) / measured)


def error_quantiles(predicted: Array, measured: Array) -> tuple[float, float]:
    """The median of the relative errors and the one below which nine of ten lie, as files have
    them; 0 where nothing was predicted."""
    errors = relative_error(predicted, measured)
    known = errors[np.isfinite(errors)] if np.any(np.isfinite(errors)) else np.zeros(1)
    return rounded(float(np.median(known)), 4), rounded(float(np.quantile(known, 0.9)), 4)


def significant(values: Iterable[Any], digits: int = 5) -> tuple[float, ...]:
    """Fitted values as files have them."""
    return tuple(rounded(float(value), digits) for value in values)


def size_folds(rows: Rows) -> Array:
    """Which of SIZE_FOLDS groups a row belongs to, by its size: (rows,)."""
    order = np.unique(rows.message_bytes, return_inverse=True)[1]
    return np.asarray(order % SIZE_FOLDS, dtype=np.float64)


def choose_edges(
    given: Designed,
    groups: Array | None = None,
    candidates: Sequence[float] = CANDIDATE_EDGES_BYTES,
    min_gain: float = MIN_GAIN,
    most: float = np.inf,
) -> tuple[float, ...]:
    """At most MAX_EDGES edges by forward selection on the error of groups left out.

    groups: of each row, (rows,); rank counts where None. most: of the logarithm of an error. An
    edge is added only if it cuts the mean error by ``min_gain``, so never where all steps lie on
    one side of it. The error that decides is also the one that is reported.
    """
    left_out = given.rows.ranks if groups is None else groups

    def error(edges: tuple[float, ...]) -> float:
        predicted = held_out_s(given, left_out, lambda a, b: fitted_s(a, b, edges))
        logs = np.abs(np.log(np.maximum(predicted, 1e-12) / given.rows.seconds))
        return float(np.mean(np.minimum(logs, most)))

    known: tuple[float, ...] = ()
    best = error(known)
    while len(known) < MAX_EDGES:
        more = [tuple(sorted((*known, edge))) for edge in candidates if edge not in known]
        found, edges = min((error(option), option) for option in more)
        if not found < (1.0 - min_gain) * best:
            break
        best, known = found, edges
    return known


def fit_step(rows: Rows, gamma_s_per_byte: float, group: str = "ranks") -> tuple[Fit, Rows, Array]:
    """Fit one step cost on ``rows`` (one per run); held-out errors by ``group`` (a column of Rows),
    or by sizes in place of a single rank count.

    Also returns what was fitted, one row per (algorithm, ranks, bytes), and these as predicted by
    a fit without their group, (rows,). The edges are chosen anew for every held-out group, so that
    its error is not flattered.
    """

    typical = over_runs(rows)
    by_sizes = np.unique(typical.ranks).size == 1

    def folds(one: Designed) -> Array:
        return size_folds(one.rows) if by_sizes else one.rows.ranks

    def whole(train: Designed, test: Designed) -> Array:
        return fitted_s(train, test, choose_edges(train, folds(train)))

    given = designed(typical, gamma_s_per_byte)
    edges = choose_edges(given, folds(given))
    found = relative_nnls(given, edges)
    groups = folds(given) if group == "ranks" else getattr(typical, group)
    held_out = held_out_s(given, groups, whole)
    error = error_quantiles(held_out, typical.seconds)
    textbook = error_quantiles(held_out_s(given, folds(given), _textbook), typical.seconds)
    values, slopes = significant(found), 2 + len(edges)
    fit = Fit(
        latency_s=values[0],
        s_per_byte=values[1:slopes],
        edges_bytes=edges,
        jump_s=values[slopes:-1],
        switch_s=values[-1],
        error=error[0],
        error_p90=error[1],
        textbook_error=textbook[0],
        textbook_error_p90=textbook[1],
        residual=error_quantiles(predict_rows(given, found, edges), typical.seconds)[0],
        draws=tuple(
            significant(draw, 4)
            for draw in bootstrap(designed(rows, gamma_s_per_byte), edges, found)
        ),
    )
    return fit, typical, held_out


def bootstrap(given: Designed, edges: tuple[float, ...], found: Array) -> Array:
    """Coefficients refitted on resampled runs: (DRAWS, columns).

    ``given`` has one row per run. Per rank count its runs are drawn with replacement and combined
    as in the fit; then rows are drawn with replacement within (algorithm, ranks), and every time is
    moved by its own noise. found: the coefficients of all rows.
    """
    random = np.random.default_rng(SEED)
    matrix, known = given.design(edges, found)
    result = np.empty((DRAWS, matrix.shape[1]))
    for draw in range(DRAWS):
        picked = _resampled_runs(given.rows, random)
        # Runs are no longer told apart, so that the column has room for the row drawn.
        drawn = over_runs(replace(given.rows.take(picked), run=picked.astype(np.float64)))
        groups = [
            np.flatnonzero((drawn.algorithm == name) & (drawn.ranks == ranks))
            for name in np.unique(drawn.algorithm)
            for ranks in np.unique(drawn.ranks)
        ]
        index = np.concatenate([random.choice(g, g.size) for g in groups if g.size])
        drawn = drawn.take(index)
        moved = np.minimum(drawn.noise, 0.5) * random.standard_normal(index.size)
        seconds, at = drawn.seconds * np.exp(moved), drawn.run.astype(np.intp)
        result[draw] = robust_nnls(matrix[at], seconds, known[at], drawn.noise)
    return result


def _resampled_runs(rows: Rows, random: np.random.Generator) -> NDArray[np.intp]:
    """Positions of the rows of as many runs as there are per rank count, drawn with replacement."""
    rows_drawn = []
    for ranks in np.unique(rows.ranks):
        mine = rows.ranks == ranks
        runs = np.unique(rows.run[mine])
        drawn = random.choice(runs, runs.size)
        rows_drawn += [np.flatnonzero(mine & (rows.run == run)) for run in drawn]
    return np.concatenate(rows_drawn)


def _textbook(train: Designed, test: Designed) -> Array:
    """One alpha and one beta at every size, the same steps and the same sharing of cores, but no
    regimes and no switches: (rows,)."""
    matrix, known = train.design(())
    plain = robust_nnls(matrix[:, :2], train.rows.seconds, known, train.rows.noise)
    matrix, known = test.design(())
    return np.asarray(matrix[:, :2] @ plain + known)
