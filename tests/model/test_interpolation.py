"""The interpolant against scipy's of the same name, and what it must never do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import PchipInterpolator

from dse.model.arrays import Array
from dse.model.interpolation import monotone_cubic

VALUES = st.lists(st.integers(-2000, 2000), min_size=3, max_size=9)


@st.composite
def points(draw: st.DrawFn) -> tuple[Array, Array]:
    y = np.array(draw(VALUES)) / 100
    steps = draw(st.lists(st.floats(0.1, 5), min_size=y.size, max_size=y.size))
    return np.cumsum(steps), y


@settings(max_examples=300)
@given(points=points(), share=st.floats(0, 1))
def test_it_is_the_shape_preserving_cubic_of_fritsch_and_butland(
    points: tuple[Array, Array], share: float
) -> None:
    x, y = points
    at = np.append(x, x[0] + share * (x[-1] - x[0]))
    assert monotone_cubic(x, y, at) == pytest.approx(PchipInterpolator(x, y)(at), abs=1e-9)


@settings(max_examples=100)
@given(points=points())
def test_rising_points_give_a_rising_curve(points: tuple[Array, Array]) -> None:
    x, y = points
    curve = monotone_cubic(x, np.sort(y), np.linspace(x[0], x[-1], 200))
    assert np.all(np.diff(curve) >= -1e-9)


def test_one_point_is_a_constant_and_two_are_a_line_and_the_ends_are_held() -> None:
    assert monotone_cubic(np.array([1.0]), np.array([5.0]), [0.0, 3.0]) == pytest.approx([5, 5])
    x, y = np.array([1.0, 3.0]), np.array([5.0, 9.0])
    assert monotone_cubic(x, y, [[0.0, 2.0], [3.0, 8.0]]) == pytest.approx(
        np.array([[5, 7], [9, 9]])
    )
