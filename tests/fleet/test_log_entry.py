"""What the cells of a log say."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.fleet.logs import read


def test_dates_without_a_zone_are_one_length_wherever_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "gpus,start,end\n1,2026-03-28T12:00:00,2026-03-29T12:00:00\n"
    for zone in ("UTC", "Europe/Berlin"):  # where clocks were put forward that night
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        try:
            assert read(tmp_path, text).jobs[0].hours == 24
        finally:
            monkeypatch.undo()
            time.tzset()


@pytest.mark.parametrize(
    ("start", "end", "hours"),
    [
        ("30.09.2026 17:36:00", "01.10.2026 00:36:00", 7),
        ("30.9.2026, 7:36", "1.10.2026, 07:36", 24),
        ("30.09.2026", "02.10.2026", 48),
    ],
)
def test_days_before_months_with_dots_between_are_dates(
    start: str, end: str, hours: float, tmp_path: Path
) -> None:
    text = f"gpus;start;end\n1;{start};{end}\n"
    assert read(tmp_path, text, "log.csv").jobs[0].hours == hours
