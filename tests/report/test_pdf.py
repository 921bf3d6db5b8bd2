"""The page on paper: whole, and no page half empty."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from pypdf import PageObject, PdfReader

from dse.errors import OutputError
from dse.report import glossary, page, pdf, sections
from tests.report import browser
from tests.report.documents import read, written

FOOT_PT = 40.0  # below it stands the number of the page
MOST_EMPTY = 0.35


def said(*sheets: PageObject) -> str:
    """The text of sheets without blanks, of which printing keeps not all, and ligatures."""
    text = "".join(sheet.extract_text() for sheet in sheets)
    return "".join(unicodedata.normalize("NFKC", text).split())


def bare(text: str) -> str:
    return "".join(text.split())


def lowest(sheet: PageObject) -> float:
    """The lowest text of a sheet, above the number of the page, as a share of its height."""
    found: list[float] = []

    def visit(text: str, cm: list[float], tm: list[float], *_font: object) -> None:
        height = tm[4] * cm[1] + tm[5] * cm[3] + cm[5]
        if text.strip() and height > FOOT_PT:
            found.append(height)

    sheet.extract_text(visitor_text=visit)
    return min(found) / float(sheet.mediabox.height)


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> PdfReader:
    folder = tmp_path_factory.mktemp("pdf")
    run = written()
    run["study"]["name"] = 'a "study" <b>\\}'
    html = folder / "report.html"
    html.write_text(page.render_page(read(run)), encoding="utf-8")
    target = pdf.print_page(html, folder / "out.pdf")
    assert sorted(path.name for path in folder.iterdir()) == ["out.pdf", "report.html"]
    return PdfReader(target)


@pytest.mark.slow
@browser.needs_chromium
def test_every_section_is_on_paper(printed: PdfReader) -> None:
    text = said(*printed.pages)
    run = read(written())
    told = [section for section in sections.SECTIONS if section.facts(run) is not None]
    assert len(told) >= 9
    for section in told:
        assert bare(section.title) in text
    assert bare(written()["study_text"]) in text  # what is folded on the screen is open on paper
    assert bare(list(glossary.WORDS.values())[-1]) in text
    assert 4 <= len(printed.pages) <= 16


@pytest.mark.slow
@browser.needs_chromium
def test_every_sheet_says_whose_it_is_and_which(printed: PdfReader) -> None:
    many = len(printed.pages)
    for number, sheet in enumerate(printed.pages, 1):
        text = said(sheet)
        assert f"Page{number}of{many}" in text
        assert 'a"study"<b>\\}' in text


@pytest.mark.evidence
@pytest.mark.slow
@browser.needs_chromium
def test_the_head_of_the_front_is_repeated_on_every_sheet_that_it_reaches(tmp_path: Path) -> None:
    run = written()
    run["front"] = run["front"] * (120 // len(run["front"]))
    html = tmp_path / "report.html"
    html.write_text(page.render_page(read(run)), encoding="utf-8")
    sheets = [*map(said, PdfReader(pdf.print_page(html, tmp_path / "out.pdf")).pages)]
    marked = [text for text in sheets if text.count("MiB") > 20]  # rows of the front
    assert len(marked) >= 2
    assert all("AggregationBucket" in text for text in marked)


@pytest.mark.slow
@browser.needs_chromium
def test_no_sheet_but_the_last_is_more_than_a_third_empty(printed: PdfReader) -> None:
    ends = [lowest(sheet) for sheet in printed.pages[:-1]]
    assert max(ends) < MOST_EMPTY, ends


def test_where_nothing_prints_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(OutputError, match="Chromium or Chrome prints the PDF, and neither is"):
        pdf.print_page(tmp_path / "report.html", tmp_path / "report.pdf")
    assert list(tmp_path.iterdir()) == []


def test_a_browser_that_fails_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "bin"
    own.mkdir()
    fake = own / "chromium"
    fake.write_text("#!/bin/sh\necho it broke >&2\nexit 3\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{own}:/usr/bin:/bin")
    with pytest.raises(OutputError, match="did not print it: it broke"):
        pdf.print_page(tmp_path / "report.html", tmp_path / "report.pdf")
    assert [path.name for path in tmp_path.iterdir()] == ["bin"]
