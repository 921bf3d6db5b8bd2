"""The one array type of the model: float64 (or bool) arrays that broadcast against one another."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]
ArrayLike: TypeAlias = Any  # a float or an Array: a scalar is an array of one


def largest_power_of_two(count: ArrayLike) -> Array:
    """The largest power of two not above ``count`` (any shape, values >= 1), exactly."""
    _, exponent = np.frexp(np.asarray(count, dtype=np.float64))
    return np.asarray(np.ldexp(1.0, exponent - 1))


def ceil_log2(count: ArrayLike) -> Array:
    """The smallest k with 2**k >= ``count`` (any shape, values >= 1), exactly."""
    mantissa, exponent = np.frexp(np.asarray(count, dtype=np.float64))
    return np.asarray(exponent - (mantissa == 0.5), dtype=np.float64)
