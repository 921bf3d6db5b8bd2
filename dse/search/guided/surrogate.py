"""What a point is likely to be worth, learned from the points that are priced.

A Gaussian process (Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, chapters
2, 4 and 5) with the Matern kernel of order 3/2, which allows for kinks, and one length scale per
axis:

    k(x, y) = (1 + d) exp(-d) + noise,  d^2 = 3 sum_a w_a^2 |x_a - y_a|^2,  mean(x) = k(x, X) K^-1 y

Its scales maximise the marginal likelihood of a sample. It ranks points before the model prices
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dse.model.arrays import Array
from dse.search.guided.points import Points, size
from dse.study import Value

Groups = NDArray[np.int64]

FITTED = 300  # points that the length scales are fitted to
CHUNK = 256  # points predicted at once: their kernel stays in the cache
_FIRST_NOISE = 1e-4
_BOUNDS = (-5.0, 3.0)  # of ln w
_NOISE_BOUNDS = (np.log(1e-6), np.log(1e-1))
_PRIOR = 0.05  # pulls ln w to 0 where the sample says nothing


class Features:
    """Codes as what distances are taken of: a column per ordered axis, one per value of others.

    groups: shape (columns,), which length scale a column has.
    """

    def __init__(self, space: Points) -> None:
        self._tables: list[tuple[int, Array]] = []
        self._continuous: list[int] = []
        groups: list[int] = []
        for at, name in enumerate(space.names):
            axis = next((a for a in space.axes if a.name == name), None)
            first = max(groups, default=-1) + 1
            if axis is not None and axis.continuous:
                self._continuous.append(at)
                continue
            levels = list(space.levels[name])
            if len(levels) < 2:
                continue
            ordered = not any(isinstance(v, str) for v in levels)
            ordered = ordered and (axis is None or axis.ordered)
            self._tables.append((at, _table(levels, ordered, axis is None)))
            width = self._tables[-1][1].shape[1]
            groups += list(range(first, first + width)) if ordered else [first] * width
        first = max(groups, default=-1) + 1
        groups += list(range(first, first + len(self._continuous)))
        self.groups: Groups = np.array(groups, dtype=np.int64)

    def __call__(self, codes: Array) -> Array:
        """Shape (points, columns)."""
        columns = [table[codes[:, at].astype(np.int64)] for at, table in self._tables]
        return np.hstack([*columns, codes[:, self._continuous]])


def _table(levels: Sequence[Value], ordered: bool, conditional: bool) -> Array:
    """Position of a value -> its columns; the last row is of an axis that does not apply."""
    if not ordered:
        return np.vstack([np.eye(len(levels)) * np.sqrt(0.5), np.zeros(len(levels))])
    sizes = np.array([size(v) for v in levels])
    place = np.log(sizes) if sizes.min() > 0 else sizes
    place = (place - place.min()) / max(float(np.ptp(place)), 1e-12)
    if not conditional:
        return np.append(place, 0.5)[:, None]
    return np.column_stack([np.append(place, 0.5), np.append(np.zeros(len(levels)), 1.0)])


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
        far = np.sqrt(3 * np.tensordot(weights, apart, 1))
        fading = np.exp(-far)
        factor = cholesky((1 + far) * fading + unit * noise, lower=True)
        solved = cho_solve((factor, True), target)
        variance = max(float(target @ solved) / count, 1e-300)
        value = 0.5 * count * np.log(variance) + float(np.log(np.diag(factor)).sum())
        slope = cho_solve((factor, True), unit) - np.outer(solved, solved) / variance
        by_weight = -1.5 * np.tensordot(apart, slope * fading, 2) * weights
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
    """A Gaussian process given its data; call it with features of shape (points, columns).

    It returns (mean, deviation), each of shape (points,). The deviation is that which follows from
    the nearest known point alone, a bound that costs nothing: s sqrt(1 - max k(x, X)^2).
    """

    weights: Array
    known: Array
    solved: Array
    mean: float
    deviation: float
    signal: float

    def __call__(self, features: Array) -> tuple[Array, Array]:
        means, nearest = np.empty(len(features)), np.empty(len(features))
        for first in range(0, len(features), CHUNK):
            some = slice(first, first + CHUNK)
            alike = _alike(_apart(features[some] * self.weights, self.known))
            means[some], nearest[some] = alike @ self.solved, alike.max(axis=1)
        unlike = np.sqrt(np.maximum(1.0 - nearest**2, 0.0))
        return means * self.deviation + self.mean, unlike * self.deviation * self.signal


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
        return Regression(nothing[0], nothing, np.zeros(1), mean, 0.0, 0.0), start
    scaled = (target - mean) / deviation
    if start is None or refit:
        start = fitted(features[sample], scaled[sample], groups, start)
    weights = np.exp(start.log_weights)[groups]
    known = features * weights
    alike = _alike(_apart(known, known))
    alike[np.diag_indices_from(alike)] += np.exp(start.log_noise)
    solved = cho_solve(cho_factor(alike, lower=True), scaled)
    signal = float(np.sqrt(max(float(scaled @ solved), 0.0) / len(scaled)))
    return Regression(weights, known, np.asarray(solved), mean, deviation, signal), start


def _alike(squares: Array) -> Array:
    far = np.sqrt(3 * squares)
    fading = np.exp(-far)
    far += 1
    return np.asarray(np.multiply(far, fading, out=far))


def _apart(one: Array, other: Array) -> Array:
    """Squared distances, shape (points of one, points of the other)."""
    squares = (one * one).sum(1)[:, None] + (other * other).sum(1)[None]
    return np.asarray(np.maximum(squares - 2 * one @ other.T, 0.0))
