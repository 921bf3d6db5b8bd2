"""Plots of a profile, in the terminal and as a page."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.calibration import Profile
from dse.calibration.plot import MOST_CURVES, curves, print_plot, write_plot
from dse.errors import StudyError
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


def test_the_page_is_written_whole_and_needs_no_network(profile: Profile, tmp_path: Path) -> None:
    page = write_plot(profile, tmp_path / "plots" / "p.html").read_text(encoding="utf-8")
    assert "relative error of the fit" in page
    assert "recursive-doubling" in page
    assert 'src="http' not in page
    assert [path.name for path in (tmp_path / "plots").iterdir()] == ["p.html"]


@pytest.mark.parametrize("name", ["p.svg", "p.png", "p"])
def test_other_kinds_of_plot_are_refused(profile: Profile, tmp_path: Path, name: str) -> None:
    with pytest.raises(StudyError, match=r"as HTML.*p\.html"):
        write_plot(profile, tmp_path / name)
    assert not list(tmp_path.iterdir())
