"""Waiting for one another: a synchronous step ends when its slowest worker does."""

from __future__ import annotations

import math

import numpy as np

from dse.model.arrays import Array, ArrayLike

_AT = np.linspace(-9.0, 9.0, 3601)  # standard deviations; beyond, nothing is left
_BELOW = np.array([0.5 * math.erfc(-x / math.sqrt(2.0)) for x in _AT])


def largest_of(count: ArrayLike) -> Array:
    """Expected largest of ``count`` standard normal draws (any shape, values >= 1).

    ``E = b - int_-b^b F^n dx``, F(-b) = 0 and F(b) = 1, by the trapezoidal rule; to 1e-5 up to a
    million draws.
    """
    n = np.asarray(count, dtype=np.float64)[..., None]
    return np.asarray(_AT[-1] - np.trapezoid(_BELOW**n, _AT, axis=-1))


def waiting_factor(count: ArrayLike, together: ArrayLike, spread: ArrayLike) -> Array:
    """By what factor the passes of ``count`` workers take longer than those of one alone.

    ``1 + together [n > 1] + spread E[largest of n]``. together: what working together costs at all;
    spread: standard deviation of one worker's step over its mean, where steps are normal and
    independent. Arguments broadcast.
    """
    several = np.asarray(count) > 1
    return np.asarray(1.0 + np.where(several, together + spread * largest_of(count), 0.0))
