"""report.md: the same answer as text."""

from __future__ import annotations

import re

from dse.report import page
from tests.report.documents import read, written


def test_rows_of_a_table_have_as_many_cells_as_its_head() -> None:
    run = written()
    run["front"][0]["config"]["aggregation"] = "a | b"
    width = None
    for line in page.render_markdown(read(run)).splitlines():
        cells = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else None
        if cells and width:
            assert cells == width, line
        width = cells


def test_texts_of_a_study_are_no_markup() -> None:
    run = written()
    run["study"].update(name="<script>x</script> *a* [b](c)", description="# no head\n\n# none")
    run["reproduce"] = ["```", "# escaped?", "````"]
    text = page.render_markdown(read(run))
    assert "<script>" not in text.replace("\\<", "")
    assert not re.search(r"^# n", text, re.MULTILINE)
    assert "`````\n```\n# escaped?\n````\n`````" in text
