"""dse.model.compute: what many points share is kept once and spread over them."""

from __future__ import annotations

import numpy as np
import pytest

from dse.model.passes import CellOfPoints, SpreadTimes, part_of


@pytest.mark.parametrize("which", [[0, 0, 1, 3, 3], [3, 0, 1, 0, 3], [2]])
def test_values_of_cells_are_spread_over_points_in_any_order(which: list[int]) -> None:
    few = np.arange(8.0).reshape(2, 4)
    points = CellOfPoints(np.array(which), 4)
    np.testing.assert_array_equal(points.spread(few), few[:, which])
    times = SpreadTimes(few, points)
    np.testing.assert_array_equal(times[1], few[1, which])
    np.testing.assert_array_equal(times[[1, 0]], few[[1, 0]][:, which])


def test_times_of_some_points_are_part_of_those_of_all() -> None:
    few, which = np.arange(8.0).reshape(2, 4), np.array([0, 3, 1, 1, 2])
    times = SpreadTimes(few, CellOfPoints(which, 4))
    some = slice(1, 4)
    np.testing.assert_array_equal(part_of(times, some, 5)[:], few[:, which[some]])
    np.testing.assert_array_equal(part_of(few[:, which], some, 5)[:], few[:, which[some]])
    shared = part_of(np.array([[1.0], [2.0]]), some, 5)
    np.testing.assert_array_equal(shared[1], [2.0, 2.0, 2.0])
