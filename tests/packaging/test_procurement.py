"""The worked case of docs/procurement.md: its commands run in order and print what is quoted."""

from __future__ import annotations

import csv
import re
import runpy
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import pytest
from openpyxl import load_workbook

from dse.report.document_files import read_document
from tests.commands.command import dse
from tests.report.browser import needs_chromium

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "procurement.md").read_text(encoding="utf-8")
CASE = ROOT / "docs" / "procurement"
BLOCK = re.compile(r"^```(bash|text)\n(.*?)^```", re.DOTALL | re.MULTILINE)
PDF = "--pdf"


@dataclass(frozen=True)
class Stage:
    """Commands of one block, and the lines that the next block quotes of what they print."""

    commands: tuple[str, ...]
    quoted: tuple[str, ...]


def stages() -> Iterator[Stage]:
    blocks: list[tuple[str, str]] = BLOCK.findall(PAGE)
    for number, (language, text) in enumerate(blocks):
        after = blocks[number + 1] if number + 1 < len(blocks) else ("", "")
        if language == "bash":
            quoted = after[1].splitlines() if after[0] == "text" else []
            yield Stage(tuple(text.splitlines()), tuple(quoted))


STAGES = list(stages())
COPIED = ("cp -r docs/procurement contract-reader", "cd contract-reader")


def plain(text: str) -> str:
    """With one space for any, so that a page may wrap what a command prints."""
    return " ".join(text.split())


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """The folder after all commands but the printing, and what each stage printed."""
    folder = tmp_path_factory.mktemp("procurement") / "contract-reader"
    shutil.copytree(CASE, folder)
    return folder, ["".join(printed(line, folder) for line in stage.commands) for stage in STAGES]


def printed(command: str, folder: Path) -> str:
    if command in COPIED or PDF in command:
        return ""
    words = command_words(command)
    assert words[0] == "dse", f"not a command of dse: {command}"
    done = dse(*words[1:], cwd=folder)
    assert done.returncode == 0, (command, done.stderr)
    return done.stdout + done.stderr


def command_words(command: str) -> list[str]:
    """As a shell takes them apart."""
    script = 'for word in "$@"; do printf "%s\\0" "$word"; done'
    done = subprocess.run(["bash", "-c", f"set -- {command}\n{script}"], capture_output=True,
                          text=True, check=True)  # fmt: skip
    return done.stdout.split("\0")[:-1]


def test_the_page_begins_with_the_copy_that_the_test_makes() -> None:
    assert STAGES[0].commands == COPIED
    assert sum(len(stage.commands) for stage in STAGES) > 10


@pytest.mark.evidence
@pytest.mark.parametrize("number", range(len(STAGES)))
def test_commands_print_what_is_quoted(number: int, case: tuple[Path, list[str]]) -> None:
    out = case[1][number]
    said = plain(out)
    rest = plain(" ".join(STAGES[number].quoted))
    for line in STAGES[number].quoted:
        nearest = get_close_matches(line, out.splitlines(), 1, cutoff=0.3)
        assert plain(line) in said, (line, nearest)
    assert bool(rest) == (number != 0 and PDF not in STAGES[number].commands[0])


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
    (command,) = STAGES[-1].commands
    words = command_words(command)
    assert words[-1] == PDF
    done = dse(*words[1:], cwd=case[0])
    assert done.returncode == 0, done.stderr
    assert (case[0] / "reports" / "contract-reader-2" / "report.pdf").stat().st_size > 10_000


def test_logs_and_layers_are_those_of_the_script(tmp_path: Path) -> None:
    made = runpy.run_path(str(CASE / "make.py"))
    made["main"](tmp_path)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["layers.csv", "vendor-a.log", "vendor-b.log"]
    for name in names:
        assert (tmp_path / name).read_bytes() == (CASE / name).read_bytes(), name


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", PAGE):
        assert (ROOT / "docs" / target).exists(), target
