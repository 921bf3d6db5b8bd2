"""``dse report --pdf``: the printed report, and one line where it cannot be printed."""

from __future__ import annotations

from pathlib import Path

import pytest
from pypdf import PdfReader

from tests.commands.command import dse, files, refused
from tests.report.browser import needs_chromium


@pytest.mark.slow
@needs_chromium
def test_a_report_is_printed_beside_its_page_or_where_one_likes(
    ran: tuple[Path, str], tmp_path: Path
) -> None:
    folder = ran[0]
    other = tmp_path / "for the board.pdf"
    done = dse("report", folder, "--pdf", "--out", other, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == f"wrote {other}"
    assert len(PdfReader(other).pages) >= 4
    assert "report.pdf" not in files(folder)


def test_out_names_a_pdf_only(ran: tuple[Path, str]) -> None:
    before = files(ran[0])
    said = refused(dse("report", ran[0], "--out", "x.pdf", cwd=ran[0]))
    assert said == "dse: --out: names the PDF, and none is asked for; add --pdf"
    assert files(ran[0]) == before


def test_without_a_browser_nothing_is_written(
    ran: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = files(ran[0])
    monkeypatch.setenv("PATH", "/nowhere")
    said = refused(dse("report", ran[0], "--pdf", cwd=ran[0]))
    assert said.startswith("dse: --pdf: Chromium or Chrome prints the PDF, and neither is on PATH")
    assert files(ran[0]) == before
