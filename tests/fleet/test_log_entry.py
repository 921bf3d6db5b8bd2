"""What the cells of a log say."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from dse.fleet.log_entry import elapsed_s, waited
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


@pytest.mark.parametrize("zeros", [0, 3, 6, 9])
def test_dates_in_fractions_of_a_second_are_dates(zeros: int, tmp_path: Path) -> None:
    tail = "0" * zeros
    rows = "".join(f"8,{1_771_734_115 + at}{tail},{1_771_741_315 + at}{tail}\n" for at in range(9))
    log = read(tmp_path, f"gpus,start_time,end_time\n{rows}8,1771734115{tail},\n", "log.csv")
    assert [job.hours for job in log.jobs] == [pytest.approx(2)] * 9 + [None]
    unit = {3: "milliseconds", 6: "microseconds", 9: "nanoseconds"}.get(zeros)
    assert log.readings == (
        (f"'start_time' and 'end_time' count {unit} since 1970.",) if unit else ()
    )


def test_seconds_of_a_trace_that_are_no_dates_stay_seconds(tmp_path: Path) -> None:
    rows = "1,0,7200\n1,3600,10800\n"
    assert [job.hours for job in read(tmp_path, f"gpus,start,end\n{rows}").jobs] == [2, 2]


@pytest.mark.parametrize(
    ("text", "hours_first", "seconds"),
    [
        ("02:30", False, 150),
        ("02:30", True, 9000),
        ("01:02:30", True, 3750),
        ("1-02:30", False, 86400 + 9000),
        ("1-02:30:05", False, 86400 + 9005),
        ("2.5", False, None),
    ],
)
def test_times_as_schedulers_write_them(
    text: str, hours_first: bool, seconds: float | None
) -> None:
    assert elapsed_s(text, hours_first) == seconds


def test_how_a_duration_of_two_parts_is_read_is_told(tmp_path: Path) -> None:
    rows = "8,10:30\n8,02:00:00\n8,04:30\n"
    log = read(tmp_path, f"gpus,duration\n{rows}", "log.csv")
    assert [job.hours for job in log.jobs] == [630 / 3600, 2, 270 / 3600]
    assert log.readings == (
        "2 durations such as 10:30 are read as minutes:seconds, as Slurm writes them; where they "
        "are hours:minutes, name the column in the study, columns: {hours: duration}.",
    )
    named = read(tmp_path, f"gpus,duration\n{rows}", "log.csv", hours="duration")
    assert [job.hours for job in named.jobs] == [10.5, 2, 4.5]
    assert named.readings == (
        "2 durations such as 10:30 are read as hours:minutes, since their column tells hours.",
    )


@pytest.mark.parametrize(("end", "hours"), [("10:30:00", 2.5), ("08:02:30", 2.5 / 60)])
def test_start_and_end_tell_what_a_duration_of_two_parts_is(
    end: str, hours: float, tmp_path: Path
) -> None:
    row = f"8,02:30,2026-05-01 08:00:00,2026-05-01 {end}\n"
    log = read(tmp_path, "gpus,duration,start,end\n" + row + "8,04:00,,\n", "log.csv")
    form = "hours:minutes" if hours > 1 else "minutes:seconds"
    assert log.jobs[0].hours == pytest.approx(hours)
    assert log.readings == (
        f"2 durations such as 02:30 are read as {form}, as the start and end of their jobs say.",
    )


@pytest.mark.parametrize(
    ("status", "started", "expected"),
    [
        ("PENDING", None, True),
        ("Pending", False, True),
        ("PD", None, True),
        ("Inqueue", None, True),
        ("QUEUED", True, True),
        ("Waiting", None, True),
        ("REQUEUED", False, True),
        ("REQUEUED", True, False),
        ("REQUEUED", None, False),
        ("Suspended", False, True),
        ("CANCELLED by 1001", False, True),
        ("CANCELLED by 1001", None, False),
        ("RUNNING", False, False),
        ("Completed", False, False),
        ("", False, False),
    ],
)
def test_which_jobs_never_started(status: str, started: bool | None, expected: bool) -> None:
    assert waited(status, started) is expected
