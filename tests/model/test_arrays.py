"""dse.model.arrays: distinct values without sorting, arrays one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dse.model import arrays

FAR = 2**40


def check(values: NDArray[Any]) -> None:
    """As numpy does it."""
    found, at = arrays.distinct(values)
    expected, inverse = np.unique(values, return_inverse=True)
    assert found.dtype == values.dtype
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(at, inverse.reshape(values.shape))


@given(st.lists(st.integers(-1000, 1000) | st.integers(-FAR, FAR)))
def test_distinct_whole_numbers_are_those_of_numpy(values: list[int]) -> None:
    check(np.array(values, dtype=np.int64))
    check(np.array(values, dtype=np.float64))


@given(st.lists(st.floats()))
def test_distinct_numbers_are_those_of_numpy(values: list[float]) -> None:
    check(np.array(values, dtype=np.float64))


@pytest.mark.parametrize("kind", ["i1", "u1", "u8", "f4"])
def test_distinct_numbers_of_any_type_and_shape(kind: str) -> None:
    check(np.array([[1, 127, 1], [3, 3, 0]], dtype=kind))
    if kind == "i1":
        check(np.array([-128, 127, -1], dtype=kind))


def test_arrays_in_a_row_are_broadcast_first() -> None:
    found = arrays.in_a_row([np.zeros(()), np.array([1.0, 2.0]), np.array([3.0])], (2, 2, 3))
    assert found.tolist() == [0, 0, 1, 2, 3, 3, 3]
