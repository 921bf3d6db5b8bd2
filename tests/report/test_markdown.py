"""report.md: the same answer as text."""

from __future__ import annotations

import re

import pytest

from dse.report import markdown, words
from dse.report.answer import answer
from dse.report.templating import escaped
from tests.report.documents import COSTS, document, read, written


@pytest.mark.parametrize("cost", COSTS)
def test_the_answer_comes_first_and_the_questions_in_order(cost: str) -> None:
    run = document("speedup", cost)
    text = markdown.render_markdown(run)
    heads = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert [head.split()[0] for head in heads] == [
        "What", "The", "Bill", "Where", "What", "How", "Inputs,", "Appendix:",
    ]  # fmt: skip
    at = [text.index(escaped(sentence)) for sentence in answer(run)]
    assert at == sorted(at)
    assert at[-1] < text.index("## The front")


def test_rows_of_a_table_have_as_many_cells_as_its_head() -> None:
    run = written()
    run["front"][0]["config"]["aggregation"] = "a | b"
    width = None
    for line in markdown.render_markdown(read(run)).splitlines():
        cells = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else None
        if cells and width:
            assert cells == width, line
        width = cells


def test_texts_of_a_study_are_no_markup() -> None:
    run = written()
    run["study"].update(name="<script>x</script> *a* [b](c)", description="# no head\n\n# none")
    run["reproduce"] = ["```", "# escaped?", "````"]
    text = markdown.render_markdown(read(run))
    assert "<script>" not in text.replace("\\<", "")
    assert not re.search(r"^# n", text, re.MULTILINE)
    assert "`````\n```\n# escaped?\n````\n`````" in text


def test_a_long_front_is_cut_and_says_so() -> None:
    run = written()
    run["front"] = [run["front"][0]] * 500
    text = markdown.render_markdown(read(run))
    assert text.partition("## The front")[2].partition("## ")[0].count("\n|") < 20
    assert "front.csv has every point" in text


def test_nothing_calibrated_is_said() -> None:
    run = written()
    run["calibration"] = []
    for item in run["front"]:
        item.update(interval=None, evidence=words.CATALOGUE)
    text = markdown.render_markdown(read(run)).replace("\\", "")
    assert "No communication of the front was measured" in text
    assert "To measure nccl, start 'dse calibrate run --runner torch' on such nodes" in text
    assert "`" not in text.partition("```")[0]
