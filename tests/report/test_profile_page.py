"""The page of a profile."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.errors import StudyError
from dse.report.page import MOST_BYTES
from dse.report.profile_page import render_page, write_plot
from tests.calibration import library_profiles
from tests.report import browser

PROFILE = library_profiles.profile(layouts=((8, 4), (16, 4), (32, 4)))


def test_the_page_is_written_whole_and_is_small(tmp_path: Path) -> None:
    page = write_plot(PROFILE, tmp_path / "plots" / "p.html").read_text(encoding="utf-8")
    assert "relative error of the fit" in page
    assert "auto" in page
    assert len(page) < MOST_BYTES
    assert [path.name for path in (tmp_path / "plots").iterdir()] == ["p.html"]


@pytest.mark.parametrize("name", ["p.svg", "p.png", "p"])
def test_other_kinds_of_plot_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(StudyError, match=r"as HTML.*p\.html"):
        write_plot(PROFILE, tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.evidence
@pytest.mark.slow
@browser.needs_chromium
@pytest.mark.parametrize("width", [390, 1280])
def test_its_chart_is_drawn_offline(tmp_path: Path, width: int) -> None:
    with browser.opened(render_page(PROFILE), tmp_path, width=width) as seen:
        names = seen.run("return document.getElementById('profile-chart').data.map((t) => t.name)")
        assert {"8 ranks, 4 per node", "32 ranks, 4 per node"} <= {*names}
        assert seen.run("return document.documentElement.scrollWidth") <= width
        assert browser.grave(seen) == []
    assert seen.console == []
    assert seen.requests == []
