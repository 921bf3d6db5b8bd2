"""The scoreboard's rows of published facts: checks alone are counted."""

from __future__ import annotations

from typing import Any

from benchmarks.accuracy.published import checks_table


def fact(paper: str, name: str, role: str, ok: bool) -> dict[str, Any]:
    return {"paper": paper, "fact": name, "role": role, "ok": ok}


def test_fitted_facts_do_not_count_and_what_disagrees_is_named() -> None:
    rows = checks_table([
        fact("one", "a", "check", True),
        fact("one", "b", "fitted", True),
        fact("one", "c", "check", False),
        fact("two", "d", "check", True),
        fact("three", "e", "fitted", False),
    ]).splitlines()  # fmt: skip
    assert rows[2:] == ["| one | 1 | 2 | c |", "| two | 1 | 1 |  |"]
