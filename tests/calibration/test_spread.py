"""dse.calibration.spread: the one formula of how wide a fitted price is."""

from __future__ import annotations

import numpy as np
import pytest

from dse.calibration.spread import (
    NORMAL_90,
    NORMAL_MEDIAN,
    PER_OCTAVE,
    held_out_spread,
    log_spread,
    octaves_of_speed,
    octaves_outside,
)


def test_an_error_is_read_as_the_factor_it_is_half_way_between() -> None:
    """A median of 41 % on both sides of the truth: times 1.49 too long, or too short."""
    factor = np.exp(0.4)
    median = (factor - 1 / factor) / 2
    assert held_out_spread(median, 0.0) == pytest.approx(0.4 / NORMAL_MEDIAN)
    assert held_out_spread(0.0, median) == pytest.approx(0.4 / NORMAL_90)
    assert held_out_spread(median, median) == held_out_spread(median, 0.0), "the wider reading"


def test_every_doubling_beyond_what_was_measured_widens() -> None:
    held_out = held_out_spread(0.1, 0.3)
    octaves = np.array([0.0, 1.0, 2.0, 10.0])
    found = log_spread(0.1, 0.3, octaves)
    assert found[0] == held_out
    np.testing.assert_allclose(found**2 - held_out**2, (PER_OCTAVE * octaves) ** 2, atol=1e-12)


@pytest.mark.parametrize(
    ("value", "octaves"),
    [(1, 1.0), (2, 0.0), (5, 0.0), (8, 0.0), (16, 1.0), (12, np.log2(1.5)), (0, 1.0)],
)
def test_doublings_are_counted_from_the_nearest_end(value: float, octaves: float) -> None:
    assert octaves_outside(value, (2, 8)) == pytest.approx(octaves)


@pytest.mark.parametrize(
    ("gbps", "octaves"), [(100, 0), (95, 0), (109, 0), (50, 1), (200, 1), (25, 2), (0, 33.5)]
)
def test_a_link_half_as_fast_is_one_doubling_away(gbps: float, octaves: float) -> None:
    found = octaves_of_speed(gbps * 1e9 / 8, (12.5e9, 12.5e9))
    assert found == pytest.approx(octaves, abs=0.1)
    assert octaves_of_speed(gbps * 1e9 / 8, (0.0, 0.0)) == 0
