"""The Python that docs/python.md shows works, block after block."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from dse.search_options import HELP

PAGE = Path(__file__).parents[2] / "docs" / "python.md"
BLOCKS = re.findall(
    r"^```python\n(.*?)^```(?:\n+```text\n(.*?)^```)?",
    PAGE.read_text(encoding="utf-8"),
    re.S | re.M,
)


@pytest.mark.evidence
def test_the_blocks_run_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What they print is what the page shows, but for digits."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "page"}
    for number, (block, shown) in enumerate(BLOCKS, 1):
        exec(compile(block, f"{PAGE.name}, block {number}", "exec"), names)
        if (printed := capsys.readouterr().out) and shown:
            assert _words(printed) == _words(shown)


def _words(text: str) -> str:
    return re.sub(r"[\d\s.e-]+", " ", text)


def test_the_arguments_of_a_search_are_all_told_and_there_are_no_others() -> None:
    page = PAGE.read_text(encoding="utf-8")
    (told,) = re.findall(r"Its arguments are the options of the command:(.*?)\n\n", page, re.DOTALL)
    assert set(re.findall(r"`(\w+)(?:=[^`]*)?`", told)) == set(HELP)


def test_every_public_name_is_told() -> None:
    import dse

    page = PAGE.read_text(encoding="utf-8")
    told = {name for name in dse.__all__ if re.search(rf"\b{name}\b", page)}
    assert set(dse.__all__) - told <= {"__version__"}
