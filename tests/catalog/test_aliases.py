"""A file of aliases of one's own is read, or refused in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.catalog import aliases
from dse.errors import StudyError


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("accelerators:\n", "aliases.yaml:1:1: accelerators has no words"),
        ("accelerators: [a100]\n", "accelerators has no words; write word: [name, others] below"),
        ("accelerators: {a100: t4}\n", "a100 has no list of names; write a100: [name, others]"),
        ("accelerators: {a100: []}\n", "a100 has no list of names"),
    ],
)
def test_what_is_no_list_of_names_is_refused(own_models: Path, text: str, said: str) -> None:
    (own_models / "aliases.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(StudyError) as found:
        aliases()
    assert said in str(found.value)


def test_words_are_read_in_any_spelling(own_models: Path) -> None:
    text = "accelerators: {Big_One: [h100-sxm, h100-pcie]}\n"
    (own_models / "aliases.yaml").write_text(text, encoding="utf-8")
    assert aliases()["accelerators"] == {"bigone": ("h100-sxm", "h100-pcie")}
