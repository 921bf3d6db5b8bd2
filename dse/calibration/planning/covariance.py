"""The joint uncertainty of a profile's predictions: what one more measurement reveals elsewhere.

The logarithm of a predicted time is taken as Gaussian. Its covariance between two points x and y of
the same algorithm has two parts, that of the bootstrap draws of the coefficients and that of the
model's own error, which is similar at points that lie near each other::

    C(x, y) = cov_draws(ln T(x), ln T(y)) + sd(x) sd(y) exp(-d(x, y))
    d = |lg n_x/n_y| / RANK_OCTAVES + |lg m_x/m_y| / SIZE_OCTAVES

sd(x) is what is left of the interval that :func:`prediction.predict` gives once the draws are taken
out, so that C(x, x) is that interval's variance: held-out error inside the measured range, and
wider with every doubling beyond it. 'auto' profiles keep no draws: theirs is the second part alone,
and d also counts |lg g_x/g_y| / RANK_OCTAVES, g the ranks per node.
Algorithms err independently. One more measurement at x then leaves, at every demanded point p,

    var_new(p) = var(p) - C(p, x)^2 / (var(x) + NOISE^2)

(conditioning of a Gaussian: Rasmussen & Williams 2006, Gaussian Processes, eq. 2.23-2.24).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dse.calibration.library_part import AUTO
from dse.calibration.prediction import Prediction, drawn_s, predict
from dse.calibration.profile import Profile
from dse.calibration.spread import NORMAL_90
from dse.errors import OutsideCalibration
from dse.model.arrays import Array, ArrayLike, Mask

NOISE = 0.05  # relative, of one measured median; starts of the same thing differ by so much
RANK_OCTAVES = 1.0  # assumed: over how many doublings of ranks a model's error keeps its sign
SIZE_OCTAVES = 2.0  # assumed: the same of the size; library protocols change about every 4x


@dataclass(frozen=True)
class Points:
    """Allreduces, all of shape (points,).

    algorithm: names. ranks_per_node: at most ranks. message_bytes: > 0.
    """

    algorithm: np.ndarray[tuple[int], np.dtype[np.str_]]
    ranks: Array
    ranks_per_node: Array
    message_bytes: Array

    def take(self, index: ArrayLike) -> Points:
        """The points of a mask or an index array."""
        return Points(self.algorithm[index], self.ranks[index], self.ranks_per_node[index],
                      self.message_bytes[index])  # fmt: skip

    @property
    def size(self) -> int:
        return int(self.ranks.size)


def predicted(profile: Profile, algorithm: str, points: Points) -> Prediction:
    """Predictions of points of one algorithm, each array (points,)."""
    return predict(profile, algorithm, points.ranks, points.message_bytes, points.ranks_per_node)


def priced_by(profile: Profile, points: Points) -> tuple[Mask, str]:
    """Which points the profile can price, (points,), and why not the first of the others."""
    priced, why = np.ones(points.size, dtype=bool), ""
    layouts = list(zip(points.algorithm.tolist(), points.ranks, points.ranks_per_node, strict=True))
    for layout in dict.fromkeys(layouts):
        at = np.array([other == layout for other in layouts])
        try:
            predicted(profile, layout[0], points.take(np.flatnonzero(at)[:1]))
        except OutsideCalibration as cause:
            priced &= ~at
            why = why or str(cause)
    return priced, why


def covariance(profile: Profile, points: Points) -> Array:
    """C of the module's equation: (points, points). 0 between algorithms."""
    result = np.zeros((points.size, points.size))
    for name in sorted(set(points.algorithm.tolist())):
        at = np.flatnonzero(points.algorithm == name)
        mine = points.take(at)
        n, g, m = mine.ranks, mine.ranks_per_node, mine.message_bytes
        _, low, high, _ = predicted(profile, name, mine)
        variance = (np.log(high / low) / 2 / NORMAL_90) ** 2
        drawn = _draws(profile, name, mine)
        left = np.sqrt(np.maximum(variance - np.diag(drawn), 0.0))
        apart = [(n, RANK_OCTAVES), (m, SIZE_OCTAVES)]
        if name == AUTO:  # the cost of a forced algorithm's step does not depend on the node
            apart.append((g, RANK_OCTAVES))
        distance = sum(
            np.abs(np.log2(value[:, None] / value[None, :])) / octaves for value, octaves in apart
        )
        result[np.ix_(at, at)] = drawn + left[:, None] * left[None, :] * np.exp(-distance)
    return result


def _draws(profile: Profile, algorithm: str, points: Points) -> Array:
    """Covariance of the logarithms over the bootstrap draws: (points, points)."""
    if algorithm == AUTO or not profile.fits:
        return np.zeros((points.size, points.size))
    seconds = drawn_s(profile, algorithm, points.ranks, points.message_bytes)
    result = np.atleast_2d(np.cov(np.log(np.maximum(seconds, 1e-30)), rowvar=False))
    if algorithm in profile.network:  # a fit of its own, which keeps no draws
        own = points.ranks > points.ranks_per_node
        result[own, :] = result[:, own] = 0.0
    return np.asarray(result)


def conditioned(covariances: Array, at: int) -> Array:
    """``covariances`` after one more measurement of its point ``at``: the same shape."""
    column = covariances[:, at]
    return np.asarray(covariances - np.outer(column, column) / (column[at] + NOISE**2))
