"""Plots of a profile, in the terminal and as a page."""

from __future__ import annotations

import pytest

from dse.calibration import Profile
from dse.calibration.plot import MOST_CURVES, curves, print_plot
from tests.calibration import library_profiles, synthetic
from tests.calibration.test_profile_tables import text_of


def test_the_terminal_plot_shows_every_algorithm_and_its_residuals(profile: Profile) -> None:
    text = text_of(print_plot, profile)
    for algorithm in synthetic.ALGORITHMS:
        assert f"{algorithm}: allreduce time" in text
    assert text.count("residual") == 4 * len(synthetic.ALGORITHMS)
    assert "\x1b" not in text
    assert "MiB" in text


def test_many_layouts_are_thinned_with_the_ends_kept() -> None:
    counts = (8, 16, 32, 64, 128, 256)
    many = library_profiles.profile(layouts=tuple((n, 4) for n in counts))
    text = text_of(print_plot, many)
    assert "8 ranks, 4 per node" in text
    assert "256 ranks, 4 per node" in text
    assert f"{len(counts) - MOST_CURVES} more layouts" in text


def test_curves_pass_through_what_was_planted() -> None:
    found = curves(library_profiles.profile())["auto"]
    assert [curve.ranks for curve in found] == [8, 32]
    for curve in found:
        assert curve.at_points == pytest.approx([point.measured_s for point in curve.points])
        assert len(curve.sizes) == len(curve.low)
        assert all(
            a <= t <= b for a, t, b in zip(curve.low, curve.seconds, curve.high, strict=True)
        )
