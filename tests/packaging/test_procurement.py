"""The worked case of docs/procurement.md: its commands run in order and print what is quoted."""

from __future__ import annotations

import csv
import re
import runpy
import shlex
import shutil
from pathlib import Path

import pytest
from openpyxl import load_workbook

from dse.report.document_files import read_document
from tests.commands.command import dse
from tests.packaging import pages
from tests.report.browser import needs_chromium

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "procurement.md").read_text(encoding="utf-8")
CASE = ROOT / "docs" / "procurement"
PDF = "--pdf"
STAGES = list(pages.stages(PAGE))
COPIED = "cp -r docs/procurement contract-reader\ncd contract-reader\n"


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """The folder after all commands but the printing, and what each stage printed."""
    folder = tmp_path_factory.mktemp("procurement") / "contract-reader"
    shutil.copytree(CASE, folder)
    return folder, ["".join(printed(line, folder) for line in stage.script.splitlines())
                    for stage in STAGES]  # fmt: skip


def printed(command: str, folder: Path) -> str:
    if command in COPIED.splitlines() or PDF in command:
        return ""
    program, *words = shlex.split(command)
    assert program == "dse", f"not a command of dse: {command}"
    done = dse(*words, cwd=folder)
    assert done.returncode == 0, (command, done.stderr)
    return done.stdout + done.stderr


def test_the_page_begins_with_the_copy_that_the_test_makes() -> None:
    assert STAGES[0].script == COPIED
    assert sum(len(stage.script.splitlines()) for stage in STAGES) > 10


@pytest.mark.evidence
@pytest.mark.parametrize("number", range(len(STAGES)))
def test_commands_print_what_is_quoted(number: int, case: tuple[Path, list[str]]) -> None:
    assert pages.missing(STAGES[number], case[1][number]) == []
    assert bool(STAGES[number].quoted) == (number != 0 and PDF not in STAGES[number].script)


@pytest.mark.evidence
def test_the_report_has_what_the_table_of_checks_says(
    case: tuple[Path, list[str]],
) -> None:
    report = (case[0] / "reports" / "contract-reader-2" / "report.md").read_text(encoding="utf-8")
    named = re.findall(r"\*([A-Z][a-z ,]+)\*", PAGE.partition("| check |")[2])
    assert len(named) >= 6
    for heading in named:
        assert f"## {heading}" in report or f"| {heading} |" in report, heading
    for name, past in (("contract-reader", True), ("contract-reader-2", False)):
        found = read_document(case[0] / "reports" / name).remarks
        assert any(one.name == "offers past" for one in found) == past


def test_numbers_of_the_text_are_those_of_the_reports(case: tuple[Path, list[str]]) -> None:
    reports = case[0] / "reports"
    text = " ".join(PAGE.split())
    first, second = (
        (reports / name / "report.md").read_text(encoding="utf-8")
        for name in ("contract-reader", "contract-reader-2")
    )
    for said in ("13.2 days", "10.9"):
        assert said in text
        assert said in first
    for said in ("10.1 days", "USD 261 k", "1.26 times"):
        assert said in text
        assert said in second
    front = (reports / "contract-reader" / "front.csv").read_text(encoding="utf-8").splitlines()
    four, _, five, *_ = (float(row["capital_usd"]) for row in csv.DictReader(front))
    assert f"costs USD {(five - four) / 1000:.0f} k;" in text


def test_the_workbook_has_the_front(case: tuple[Path, list[str]]) -> None:
    sheet = load_workbook(case[0] / "front.xlsx").active
    front = (case[0] / "reports" / "contract-reader-2" / "front.csv").read_text(encoding="utf-8")
    assert len([*sheet.iter_rows()]) == len(front.splitlines())


@pytest.mark.evidence
@pytest.mark.slow
@needs_chromium
def test_it_is_printed(case: tuple[Path, list[str]]) -> None:
    _, *words = shlex.split(STAGES[-1].script)
    assert words[-1] == PDF
    done = dse(*words, cwd=case[0])
    assert done.returncode == 0, done.stderr
    assert (case[0] / "reports" / "contract-reader-2" / "report.pdf").stat().st_size > 10_000


def test_logs_and_layers_are_those_of_the_script(tmp_path: Path) -> None:
    made = runpy.run_path(str(CASE / "make.py"))
    made["main"](tmp_path)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["layers.csv", "vendor-a.log", "vendor-b.log"]
    for name in names:
        assert (tmp_path / name).read_bytes() == (CASE / name).read_bytes(), name
