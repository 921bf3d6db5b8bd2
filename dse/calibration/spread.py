"""How wide a fitted price is: one formula for studies and `calibrate predict`.

The logarithm of a predicted time is taken as normal. Its standard deviation joins in quadrature
what the fit was off on what it had not seen, and PER_OCTAVE for every doubling between the point
and what was measured::

    sd = hypot(held_out, PER_OCTAVE * octaves),   times UNLIKE where something is of another kind

octaves is the sum over everything that lies outside: ranks, sizes, speed and so on, see
:mod:`dse.calibration.evidence`. The bootstrap draws of fitted costs come on top, where a fit has
them. Of what a library chose by itself the fit has a distance between layouts in place of ranks.
"""

from __future__ import annotations

import numpy as np

from dse.model.arrays import Array, ArrayLike, Mask
from dse.model.normal import NORMAL_90 as NORMAL_90

NORMAL_MEDIAN = 0.6745  # of |x| for a standard normal x
# Standard deviation of the logarithm per doubling beyond what was measured. Assumed.
PER_OCTAVE = 0.15
SAME_SPEED = 1.1  # two links whose speeds differ by less are called equal
UNLIKE = 2.0  # of the spread where the accelerator, the kind of link or the algorithm is another


def held_out_spread(error: float, error_p90: float) -> float:
    """Standard deviation of a logarithm from relative errors on what was held out.

    The wider reading of their median and their 90th percentile. A relative error e is read as the
    factor x of which (x - 1/x) / 2 = e, the mean of x - 1 for a time that is too long and 1 - 1/x
    for one that is too short; so ln x = arcsinh(e).
    """
    median, p90 = np.arcsinh((error, error_p90))
    return float(max(median / NORMAL_MEDIAN, p90 / NORMAL_90))


def log_spread(
    error: float, error_p90: float, octaves: ArrayLike, unlike: bool | Mask = False
) -> Array:
    """The module's sd of a fit with these held-out errors, so many doublings beyond its range.

    unlike: whether something is of another kind. octaves and unlike broadcast.
    """
    known = np.hypot(held_out_spread(error, error_p90), PER_OCTAVE * np.asarray(octaves))
    return np.asarray(known * widened(unlike))


def widened(unlike: bool | Mask) -> Array:
    """The factor of an sd: UNLIKE where something is of another kind, else 1."""
    return np.where(unlike, UNLIKE, 1.0)


def octaves_of_speed(bytes_per_s: ArrayLike, limits: tuple[float, float]) -> Array:
    """Doublings that a link is slower or faster than those measured; none where it differs by less
    than SAME_SPEED, or where either is not known. limits: (0, 0) where no speed was measured."""
    if limits[1] <= 0:
        return np.zeros(np.shape(bytes_per_s))
    octaves = octaves_outside(bytes_per_s, limits)
    return np.where(octaves > np.log2(SAME_SPEED), octaves, 0.0)


def octaves_outside(value: ArrayLike, limits: tuple[float, float]) -> Array:
    """Doublings that a value (at least 1) lies below the first or above the second limit."""
    low, high = limits
    safe = np.maximum(value, 1.0)
    below, above = np.log2(low / safe), np.log2(safe / high)
    return np.asarray(np.maximum(0.0, np.maximum(below, above)))
