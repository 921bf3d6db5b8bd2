"""The normal distribution, as far as the model needs it."""

from __future__ import annotations

import math

import numpy as np

from dse.model.arrays import Array, ArrayLike

NORMAL_90 = 1.645  # its 95th percentile, and half of its 90 % interval
AT = np.linspace(-9.0, 9.0, 3601)  # standard deviations; beyond, nothing is left
BELOW = np.array([0.5 * math.erfc(-x / math.sqrt(2.0)) for x in AT])


def below(deviations: ArrayLike) -> Array:
    """Probability of a draw below so many standard deviations; NaN of NaN."""
    return np.asarray(np.interp(deviations, AT, BELOW))
