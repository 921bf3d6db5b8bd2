"""What there is to run on."""

from __future__ import annotations

import numpy as np
import pytest

from dse.calibration.planning.capacity import Capacity
from dse.calibration.planning.covariance import Points


def points(algorithm: str, *rows: tuple[float, float, float]) -> Points:
    n, g, m = (np.array(column, dtype=np.float64) for column in zip(*rows, strict=True))
    return Points(np.array([algorithm] * len(rows)), n, g, m)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((8, 4), {(64.0, 8.0): (32, 4), (6.0, 2.0): (6, 2), (20.0, 2.0): (20, 3)}),
        ((1, 16), {(64.0, 8.0): (16, 16), (8.0, 4.0): (8, 8)}),
    ],
)
def test_a_layout_is_cut_to_what_there_is(
    given: tuple[int, int], expected: dict[tuple[float, float], tuple[int, int]]
) -> None:
    capacity = Capacity(*given)
    for layout, cut in expected.items():
        assert capacity.layout(*layout) == cut
        assert -(-cut[0] // cut[1]) <= capacity.nodes
