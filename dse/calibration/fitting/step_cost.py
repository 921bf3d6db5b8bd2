"""Fits the cost of one step to measurements, with its uncertainty and its held-out error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from dse.calibration.files import rounded
from dse.calibration.fitting.design_matrix import Designed, Rows, designed, over_runs
from dse.model.arrays import Array

CANDIDATE_EDGES_BYTES = tuple(4.0**k for k in range(5, 12))  # 1 KiB .. 4 MiB
MAX_EDGES = 3
MIN_GAIN = 0.05  # an edge must cut the cross-validated error by this share
HUBER = 1.345  # residuals beyond this many scales lose weight (95 % efficient: Huber 1981)
ROUNDS = 20
DRAWS = 100
SEED = 20240


@dataclass(frozen=True)
class StepFit:
    """A fitted step cost: coefficients as design_matrix orders them, all >= 0.

    rows: what was fitted, one per (algorithm, ranks, bytes).
    draws: (DRAWS, columns), bootstrap replicas. fitted, held_out: seconds of every row as the
    whole fit and as the fit without the row's group predict it, (rows,).
    """

    rows: Rows
    edges_bytes: tuple[float, ...]
    coefficients: Array
    draws: Array
    fitted: Array
    held_out: Array


def relative_nnls(given: Designed, edges_bytes: tuple[float, ...]) -> Array:
    """Non-negative coefficients that minimise a Huber loss of relative residuals.

    ``min sum_i huber((X c + reduction - t)_i / t_i)``, c >= 0, by iteratively reweighted NNLS
    (Lawson & Hanson 1974, ch. 23). A median whose standard error is above a tenth of it loses
    weight. Returns (columns,).
    """
    matrix, known = given.design(edges_bytes)
    return robust_nnls(matrix, given.rows.seconds, known, given.rows.noise)


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
    matrix, known = given.design(edges_bytes)
    return np.asarray(matrix @ coefficients + known)


def held_out_s(
    given: Designed, groups: Array, fit_and_predict: Callable[[Designed, Designed], Array]
) -> Array:
    """Seconds of every group as a fit on all others predicts them: (rows,), NaN for a lone group.

    groups: the group of each row, (rows,). fit_and_predict: fits the rows of its first argument,
    and predicts the seconds of those of its second.
    """
    result = np.full(groups.size, np.nan)
    names = np.unique(groups)
    for name in names if names.size > 1 else ():
        test = groups == name
        result[test] = fit_and_predict(given.take(~test), given.take(test))
    return result


def relative_error(predicted: Array, measured: Array) -> Array:
    """|predicted - measured| / measured, in the shape of both."""
    return np.asarray(np.abs(predicted - measured) / measured)


def error_quantiles(predicted: Array, measured: Array) -> tuple[float, float]:
    """The median of the relative errors and the one below which nine of ten lie, as files have
    them."""
    errors = relative_error(predicted, measured)
    return rounded(float(np.median(errors)), 4), rounded(float(np.quantile(errors, 0.9)), 4)


def choose_edges(given: Designed) -> tuple[float, ...]:
    """Regime edges by forward selection on the leave-one-rank-count-out error.

    An edge is added only if it cuts that error by MIN_GAIN, so never where all steps lie on one
    side of it. The error that decides is also the one that is reported.
    """
    known_edges: tuple[float, ...] = ()
    best = _cross_validated(given, known_edges)
    while len(known_edges) < MAX_EDGES:
        trials = [
            (_cross_validated(given, edges), edges)
            for edge in CANDIDATE_EDGES_BYTES
            if edge not in known_edges
            for edges in [tuple(sorted((*known_edges, edge)))]
        ]
        error, edges = min(trials)
        if not error < (1.0 - MIN_GAIN) * best:
            break
        best, known_edges = error, edges
    return known_edges


def _cross_validated(given: Designed, edges: tuple[float, ...]) -> float:
    """Mean absolute log ratio over held-out rank counts, symmetric in over- and under-shooting."""
    rows, (matrix, known) = given.rows, given.design(edges)
    counts = np.unique(rows.ranks)
    predicted = np.empty_like(rows.seconds)
    for count in counts:
        test = rows.ranks == count
        train = ~test if counts.size > 1 else test
        solved = robust_nnls(matrix[train], rows.seconds[train], known[train], rows.noise[train])
        predicted[test] = matrix[test] @ solved + known[test]
    return float(np.mean(np.abs(np.log(np.maximum(predicted, 1e-12) / rows.seconds))))


def fit_step(rows: Rows, gamma_s_per_byte: float, group: str = "ranks") -> StepFit:
    """Fit one step cost on ``rows`` (one per run); held-out errors by ``group`` (a column of Rows).

    The edges are chosen anew for every held-out group, so that its error is not flattered.
    """

    def whole(train: Designed, test: Designed) -> Array:
        edges = choose_edges(train)
        return predict_rows(test, relative_nnls(train, edges), edges)

    typical = over_runs(rows)
    given = designed(typical, gamma_s_per_byte)
    edges = choose_edges(given)
    coefficients = relative_nnls(given, edges)
    return StepFit(
        rows=typical,
        edges_bytes=edges,
        coefficients=coefficients,
        draws=bootstrap(designed(rows, gamma_s_per_byte), edges),
        fitted=predict_rows(given, coefficients, edges),
        held_out=held_out_s(given, getattr(typical, group), whole),
    )


def bootstrap(given: Designed, edges: tuple[float, ...]) -> Array:
    """Coefficients refitted on resampled runs: (DRAWS, columns).

    ``given`` has one row per run. Per rank count its runs are drawn with replacement and combined
    as in the fit; then rows are drawn with replacement within (algorithm, ranks), and every time is
    moved by its own noise.
    """
    random = np.random.default_rng(SEED)
    matrix, known = given.design(edges)
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


def textbook_held_out_s(rows: Rows, gamma_s_per_byte: float) -> Array:
    """Held-out seconds of the textbook model, one alpha and one beta at every size: (rows,).

    The same steps and the same sharing of cores, but no regimes and no switches.
    """

    def line(train: Designed, test: Designed) -> Array:
        matrix, known = train.design(())
        plain = robust_nnls(matrix[:, :2], train.rows.seconds, known, train.rows.noise)
        matrix, known = test.design(())
        return matrix[:, :2] @ plain + known

    return held_out_s(designed(rows, gamma_s_per_byte), rows.ranks, line)
