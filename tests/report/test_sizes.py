"""What every shipped study prints and writes is short."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import chdir
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dse.catalog.store import shipped_studies
from dse.commands.app import app
from dse.text_source import is_fleet
from tests.evidence import beyond
from tests.golden.answers import HERE as GOLDEN

STUDIES = [name for name, path in shipped_studies().items() if not is_fleet(path)]
LONG = ("billion", "hundred-billion", "400g-or-800g", "gpt-1.3b-two-vendors", "tf-aggregation",
        "tf-aggregation-nasnet", "tf-aggregation-resnet101")  # fmt: skip
OFTEN = [name for name in STUDIES if name not in LONG]
MOST_LINES, MOST_WORDS = 12, 150
MOST_REPORT_WORDS, MOST_JSON, MOST_PAGE = 4000, 400_000, 1_300_000
# A speed, a sum, a time of a run or a power; counts, shares and names may repeat.
QUANTITY = re.compile(
    r"\b[\d,.]+x\b|USD [\d,.]+(?: [kMBT]\b)?(?:/h)?|"
    r"\b[\d,.]+ (?:ms|s|min|h|days|[kMG]?W|[kMG]?Wh|[kMG]? ?samples/s)\b"
)


@pytest.mark.parametrize("name", beyond(OFTEN, STUDIES))
def test_the_answer_and_the_report_are_short(name: str, tmp_path: Path) -> None:
    (tmp_path / "calibrations").symlink_to(GOLDEN / "calibrations")
    with chdir(tmp_path):
        study = str(shipped_studies()[name])
        done = CliRunner().invoke(app, ["run", study, "--out", "out"], catch_exceptions=False)
    assert done.exit_code == 0
    _, _, answer = done.stdout.partition("\n\n")  # after how it was searched
    lines = [line for line in answer.splitlines() if line.strip()]
    assert len(lines) <= MOST_LINES
    assert len(answer.split()) <= MOST_WORDS
    repeated = {
        text: count for text, count in Counter(QUANTITY.findall(answer)).items() if count > 1
    }
    assert not repeated
    out = tmp_path / "out"
    assert len((out / "report.md").read_text().split()) <= MOST_REPORT_WORDS
    assert (out / "run.json").stat().st_size <= MOST_JSON
    assert (out / "report.html").stat().st_size <= MOST_PAGE
