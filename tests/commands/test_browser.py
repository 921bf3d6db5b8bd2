"""`--open`, and the one name of all pages."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import pytest

from dse.commands.browser import open_page
from tests.commands.command import dse, files, refused
from tests.fleet import small
from tests.pricing.studies import written


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that a browser was asked to open."""
    found: list[str] = []
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(webbrowser, "open", lambda url: bool(found.append(url)) or True)
    return found


@pytest.mark.evidence
def test_reports_of_runs_and_fleets_open(tmp_path: Path, opened: list[str]) -> None:
    small.written(tmp_path).rename(tmp_path / "fleet.yaml")
    written(tmp_path)
    (tmp_path / "fleet.yaml").write_text(
        (tmp_path / "fleet.yaml").read_text().replace("fleet: small", "fleet: many")
    )
    for command in (("run", "study.yaml"), ("fleet", "fleet.yaml"), ("report", "reports/small")):
        done = dse(*command, "--open", cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
    pages = [tmp_path / "reports" / name / "report.html" for name in ("small", "many", "small")]
    assert opened == [page.as_uri() for page in pages]
    assert all(page.is_file() for page in pages)


def test_without_a_browser_a_line_says_where_the_page_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    open_page(tmp_path / "report.html")
    said = capsys.readouterr().err
    assert said == f"no browser to open it with; the page is {tmp_path / 'report.html'}\n"


def test_several_reports_do_not_open(tmp_path: Path) -> None:
    written(tmp_path)
    said = refused(dse("run", "study.yaml", "study.yaml", "--open", cwd=tmp_path))
    assert said.startswith("dse: --open: opens one report")
    assert not (tmp_path / "reports").exists()


def test_a_run_and_a_fleet_do_not_share_a_folder(tmp_path: Path) -> None:
    small.written(tmp_path).rename(tmp_path / "fleet.yaml")
    written(tmp_path)
    assert dse("run", "study.yaml", "--out", "one", cwd=tmp_path).returncode == 0
    before = files(tmp_path / "one")
    said = refused(dse("fleet", "fleet.yaml", "--out", "one", cwd=tmp_path))
    assert said == "dse: one has the report of a run; name another folder by --out"
    assert files(tmp_path / "one") == before
    assert dse("fleet", "fleet.yaml", "--out", "two", cwd=tmp_path).returncode == 0
    said = refused(dse("run", "study.yaml", "--out", "two", cwd=tmp_path))
    assert "has the report of a fleet" in said
