"""What a search shows of how far it is."""

from __future__ import annotations

import re

import pytest

from dse.commands import progress


@pytest.mark.parametrize(
    ("per_s", "shown"),
    [
        (0.0, "0 points/s"),
        (734.4, "734 points/s"),
        (5_940.0, "5.9 k/s"),
        (999_000.0, "999.0 k/s"),
        (2.5e6, "2.5 M/s"),
        (1.21e9, "1210.0 M/s"),
    ],
)
def test_rates_are_shown_in_fitting_units(per_s: float, shown: str) -> None:
    assert progress.shown_rate(per_s) == shown


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
