"""The one array type of the model: float64 (or bool) arrays that broadcast against one another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]
ArrayLike: TypeAlias = Any  # a float or an Array: a scalar is an array of one


def scalar(values: ArrayLike) -> float:
    """The number in an array of one; of a larger one its first."""
    return float(np.ravel(values)[0])


_BELOW = 12  # bits of a float64 that differ from one kind of processor to another


def comparable(values: Array) -> Array:
    """The nearest numbers of 40 binary digits, 12 decimal ones: alike on all processors.

    Any shape; infinities and NaN stay as they are. It never turns the order of two numbers.
    """
    bits = np.ascontiguousarray(values, dtype=np.float64).view(np.int64)
    half = np.where(np.isfinite(values), 1 << _BELOW - 1, 0)
    return ((bits + half) & -(1 << _BELOW)).view(np.float64).reshape(np.shape(values))


def largest_power_of_two(count: ArrayLike) -> Array:
    """The largest power of two not above ``count`` (any shape, values >= 1), exactly."""
    _, exponent = np.frexp(np.asarray(count, dtype=np.float64))
    return np.asarray(np.ldexp(1.0, exponent - 1))


def ceil_log2(count: ArrayLike) -> Array:
    """The smallest k with 2**k >= ``count`` (any shape, values >= 1), exactly."""
    mantissa, exponent = np.frexp(np.asarray(count, dtype=np.float64))
    return np.asarray(exponent - (mantissa == 0.5), dtype=np.float64)


def in_a_row(arrays: Sequence[NDArray[Any]], counts: Sequence[int]) -> NDArray[Any]:
    """One array after the other, each broadcast to as many elements: shape (sum of counts,)."""
    return np.concatenate(
        [np.broadcast_to(array, (count,)) for array, count in zip(arrays, counts, strict=True)]
    )


_WIDEST_TABLE = 1 << 20  # whole numbers within such a span are told apart by a table


def distinct(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The distinct values, ascending, and the position of every value among them.

    What ``np.unique`` returns with ``return_inverse``, positions in the shape of ``values`` (any,
    numbers). Whole numbers that lie close to one another are not sorted, which is much faster.
    """
    if values.size and values.dtype.kind in "iuf":
        low, high = values.min(), values.max()
        if float(high) - float(low) < _WIDEST_TABLE and abs(float(low)) <= _LARGEST_WHOLE:
            whole = values.astype(np.int64)
            if values.dtype.kind != "f" or np.array_equal(whole, values):
                return _whole_numbers(whole, int(low), values.dtype)
    found, at = np.unique(values, return_inverse=True)
    return found, at.reshape(values.shape).astype(np.int64)


_LARGEST_WHOLE = 2.0**53  # above, floats are no longer exact


def _whole_numbers(
    whole: NDArray[np.int64], low: int, kind: Any
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    above = whole - low
    there = np.zeros(int(above.max()) + 1, dtype=bool)
    there[above] = True
    found = np.flatnonzero(there)
    place = np.zeros(len(there), dtype=np.int64)
    place[found] = np.arange(len(found))
    return (found + low).astype(kind), place.take(above)
