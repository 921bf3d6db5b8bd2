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


@given(st.floats(allow_nan=False, min_value=-1e300, max_value=1e300), st.integers(-4, 4))
def test_numbers_that_differ_by_a_processor_are_alike(value: float, steps: int) -> None:
    beside = value
    for _ in range(abs(steps)):
        beside = np.nextafter(beside, np.inf if steps > 0 else -np.inf)
    one, other = arrays.comparable(np.array([value, beside]))
    assert one == pytest.approx(value, rel=2.0**-41, abs=1e-300)
    assert abs(one - other) <= abs(value) * 2.0**-40 + 1e-300
    assert (one <= other) if value <= beside else (one >= other)


def test_numbers_alike_to_twelve_digits_are_one() -> None:
    found = arrays.comparable(np.array([0.1 + 0.2, 0.3, 0.3000001, np.inf, -np.inf, np.nan]))
    assert found[0] == found[1] != found[2]
    assert found[3:5].tolist() == [np.inf, -np.inf]
    assert np.isnan(found[5])
