"""What a search shows of how far it is."""

from __future__ import annotations

import re

import pytest

from dse.commands import progress


def test_plain_lines_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "PLAIN_PROGRESS_S", 0.0)
    with progress.Printer().progress() as show:
        show(0, 57_024)
        show(57_024, 57_024)
    first, last = capsys.readouterr().err.splitlines()
    assert first == "  0 of 57,024 points, 0 points/s, 0 s left"
    assert re.fullmatch(r"  57,024 of 57,024 points, \S+ (M/s|k/s|points/s), 0 s left", last)
