"""What a point is likely to be worth, learned from the points that are priced.

A Gaussian process (Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, chapters
2 and 5) with the squared exponential kernel and one length scale per axis:

    k(x, y) = exp(-sum_a w_a^2 |x_a - y_a|^2 / 2) + noise,     mean(x) = k(x, X) K^-1 y

Its scales maximise the marginal likelihood of a sample. Only the mean is used, to rank points
before the model prices them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dse.model.arrays import Array
from dse.search.guided.points import Point, Points, fraction, size

Groups = NDArray[np.int64]

FITTED = 200  # points that the length scales are fitted to
_FIRST_NOISE = 1e-4
_BOUNDS = (-5.0, 3.0)  # of ln w
_NOISE_BOUNDS = (np.log(1e-8), np.log(1e-1))
_PRIOR = 0.05  # pulls ln w to 0 where the sample says nothing


class Features:
    """Points as numbers: one column per ordered axis, one per value of the others.

    groups: shape (columns,), which length scale a column has.
    """

    def __init__(self, space: Points) -> None:
        self._space = space
        self._tables: list[tuple[int, dict[object, Array]]] = []
        self._continuous: list[int] = []
        groups: list[int] = []
        for at, name in enumerate(space.names):
            axis = next((a for a in space.axes if a.name == name), None)
            if axis is not None and axis.continuous:
                self._continuous.append(at)
                continue
            levels = space.levels[name]
            ordered = not any(isinstance(v, str) for v in levels)
            ordered = ordered and (axis is None or axis.ordered)
            if len(levels) < 2:
                continue
            self._tables.append((at, _table(list(levels), ordered, axis is None)))
            first = max(groups, default=-1) + 1
            width = len(next(iter(self._tables[-1][1].values())))
            groups += list(range(first, first + width)) if ordered else [first] * width
        first = max(groups, default=-1) + 1
        groups += list(range(first, first + len(self._continuous)))
        self.groups: Groups = np.array(groups, dtype=np.int64)

    def __call__(self, points: list[Point]) -> Array:
        """Shape (points, columns)."""
        columns = [np.array([table[p[at]] for p in points]) for at, table in self._tables]
        for at in self._continuous:
            axis = self._space.axes[at]
            columns.append(np.array([[fraction(axis, p[at])] for p in points]))  # type: ignore[arg-type]
        return np.hstack(columns) if columns else np.zeros((len(points), 0))


def _table(levels: list[object], ordered: bool, conditional: bool) -> dict[object, Array]:
    """Value -> its columns; None (does not apply) has a column of its own."""
    found: dict[object, Array] = {}
    if not ordered:
        found = {v: np.eye(len(levels))[at] * np.sqrt(0.5) for at, v in enumerate(levels)}
        return {**found, None: np.zeros(len(levels))} if conditional else found
    sizes = np.array([size(v) for v in levels])  # type: ignore[arg-type]
    place = np.log(sizes) if sizes.min() > 0 else sizes
    place = (place - place.min()) / max(float(np.ptp(place)), 1e-12)
    if not conditional:
        return {v: np.array([p]) for v, p in zip(levels, place, strict=True)}
    found = {v: np.array([p, 0.0]) for v, p in zip(levels, place, strict=True)}
    found[None] = np.array([0.5, 1.0])
    return found


@dataclass(frozen=True)
class Scales:
    """Fitted parameters: ln w per group, and ln of the noise."""

    log_weights: Array
    log_noise: float


def fitted(features: Array, target: Array, groups: Groups, start: Scales | None) -> Scales:
    """Scales that maximise the marginal likelihood; features (points, columns), target (points,).

    target has mean 0 and deviation 1. From ``start`` a few steps are enough.
    """
    from scipy.linalg import cho_solve, cholesky
    from scipy.optimize import minimize

    count, width = len(target), int(groups.max()) + 1
    apart = np.stack(
        [_apart(features[:, groups == k], features[:, groups == k]) for k in range(width)]
    )
    unit = np.eye(count)

    def loss(parameters: Array) -> tuple[float, Array]:
        weights, noise = np.exp(2 * parameters[:width]), np.exp(parameters[width])
        alike = np.exp(-0.5 * np.tensordot(weights, apart, 1))
        factor = cholesky(alike + unit * noise, lower=True)
        solved = cho_solve((factor, True), target)
        variance = max(float(target @ solved) / count, 1e-300)
        value = 0.5 * count * np.log(variance) + float(np.log(np.diag(factor)).sum())
        slope = cho_solve((factor, True), unit) - np.outer(solved, solved) / variance
        by_weight = -0.5 * np.tensordot(apart, slope * alike, 2) * weights
        by_noise = 0.5 * float(np.trace(slope)) * noise
        pulled = parameters[:width]
        return (
            value + _PRIOR * float(pulled @ pulled),
            np.append(by_weight + 2 * _PRIOR * pulled, by_noise),
        )

    first = np.append(np.zeros(width), np.log(_FIRST_NOISE))
    if start is not None:
        first = np.append(start.log_weights, start.log_noise)
    found = minimize(
        loss, first, jac=True, method="L-BFGS-B",
        bounds=[_BOUNDS] * width + [_NOISE_BOUNDS],
        options={"maxiter": 25 if start is None else 8},
    )  # fmt: skip
    return Scales(found.x[:width], float(found.x[width]))


@dataclass(frozen=True)
class Regression:
    """A Gaussian process given its data; call it with features of shape (points, columns)."""

    weights: Array
    known: Array
    solved: Array
    mean: float
    deviation: float

    def __call__(self, features: Array) -> Array:
        alike = np.exp(-0.5 * _apart(features * self.weights, self.known))
        return np.asarray(alike @ self.solved * self.deviation + self.mean)


def regression(
    features: Array,
    target: Array,
    groups: Groups,
    sample: Groups,
    start: Scales | None,
    refit: bool,
) -> tuple[Regression, Scales | None]:
    """The process through all points, with scales fitted to the sample; and these scales."""
    from scipy.linalg import cho_factor, cho_solve

    mean, deviation = float(target.mean()), float(target.std())
    if deviation < 1e-9 * max(abs(mean), 1.0) or not len(groups):
        nothing = np.zeros((1, features.shape[1]))
        return Regression(nothing[0], nothing, np.zeros(1), mean, 0.0), start
    scaled = (target - mean) / deviation
    if start is None or refit:
        start = fitted(features[sample], scaled[sample], groups, start)
    weights = np.exp(start.log_weights)[groups]
    known = features * weights
    alike = np.exp(-0.5 * _apart(known, known))
    alike[np.diag_indices_from(alike)] += np.exp(start.log_noise)
    solved = cho_solve(cho_factor(alike, lower=True), scaled)
    return Regression(weights, known, np.asarray(solved), mean, deviation), start


def _apart(one: Array, other: Array) -> Array:
    """Squared distances, shape (points of one, points of the other)."""
    squares = (one * one).sum(1)[:, None] + (other * other).sum(1)[None]
    return np.asarray(np.maximum(squares - 2 * one @ other.T, 0.0))
