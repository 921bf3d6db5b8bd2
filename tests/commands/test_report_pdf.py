"""``dse report --pdf``: the printed report, and one line where it cannot be printed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pypdf import PageObject, PdfReader

from tests.commands.command import dse, files, refused
from tests.pricing.studies import SMALL, written
from tests.report.browser import needs_chromium


def largest(sheet: PageObject) -> float:
    """The largest letters of a sheet, in points."""
    found: list[float] = []

    def visit(_text: str, cm: list[float], tm: list[float], _font: object, size: float) -> None:
        found.append(abs(cm[3] * tm[3]) * size)

    sheet.extract_text(visitor_text=visit)
    return max(found)


@pytest.mark.slow
@needs_chromium
def test_a_report_is_printed_beside_its_page(ran: tuple[Path, str], tmp_path: Path) -> None:
    folder = shutil.copytree(ran[0], tmp_path / "printed")
    done = dse("report", folder, "--pdf", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == f"wrote {folder / 'report.pdf'}"
    assert len(PdfReader(folder / "report.pdf").pages) >= 4


@pytest.mark.evidence
@pytest.mark.slow
@needs_chromium
def test_no_table_sticks_out_of_the_paper_or_chromium_prints_everything_smaller(
    tmp_path: Path,
) -> None:
    written(tmp_path, f"{SMALL}target: {{samples: 1e7}}\n")
    limits = ("--budget", "90 MUSD", "--power", "90 MW", "--deadline", "900 d")
    done = dse("run", "study.yaml", *limits, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "reports" / "small"
    assert dse("report", folder, "--pdf", cwd=tmp_path).returncode == 0
    first = PdfReader(folder / "report.pdf").pages[0]
    assert largest(first) == pytest.approx(16.0, abs=0.1)  # the title, as report.css has it


def test_without_a_browser_nothing_is_written(
    ran: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = files(ran[0])
    monkeypatch.setenv("PATH", "/nowhere")
    said = refused(dse("report", ran[0], "--pdf", cwd=ran[0]))
    assert said.startswith("dse: --pdf: Chromium or Chrome prints the PDF, and neither is on PATH")
    assert files(ran[0]) == before
