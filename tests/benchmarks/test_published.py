"""The scoreboard's rows of published facts: checks alone are counted."""

from __future__ import annotations

from typing import Any

from benchmarks.accuracy.published import checks_table


def fact(paper: str, name: str, role: str, ok: bool | None) -> dict[str, Any]:
    return {"paper": paper, "fact": name, "role": role, "ok": ok}


def test_only_checks_count_and_those_that_are_missed_are_named() -> None:
    rows = checks_table([
        fact("one", "a", "check", True),
        fact("one", "b", "fitted", True),
        fact("one", "c", "check", False),
        fact("one", "d", "assumed", None),
        fact("one", "e", "assumed", None),
        fact("two", "f", "check", True),
        fact("two", "g", "identity", True),
        fact("three", "h", "fitted", False),
    ]).splitlines()  # fmt: skip
    assert rows[2:] == [
        "| one | 1 | 1 | c | 1 fitted, 2 assumed |",
        "| two | 1 | 0 |  | 1 identity |",
        "| three | 0 | 0 |  | 1 fitted |",
    ]
