"""An entry of a scheduler's log: the job that it is of, and what its cells say."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

ABSENT = frozenset(("", "none", "null", "nan", "n/a", "na", "-", "unknown", "(null)"))
_LARGEST = 1e15  # number that a cell may have
# How words for jobs that ended without a result begin. Those that met their time limit (TIMEOUT) or
# made room for others (PREEMPTED) are not among them: training goes on from a checkpoint.
_FAILED = re.compile(r"fail|cancel|kill|error|outofme|oom|nodefail|bootfail|abort|evict")
# How words for jobs that wait for their GPUs begin, and words for jobs that may have run before.
_WAITS = re.compile(r"pend|queue|inqueue|wait|unsched|(?:pd|q|qw|hqw)$")
_MAY_WAIT = re.compile(r"requeue|suspend|psusp|h[oe]ld|idle|creat|submit|accept|new")
FIRST_DATE_S, LAST_DATE_S = 978_307_200.0, 4_102_444_800.0  # of the years 2001 to 2099
_PER_SECOND = {"milliseconds": 1e3, "microseconds": 1e6, "nanoseconds": 1e9}
_ELAPSED = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+(?:\.\d+)?)")
# Day, month, year and hour of a moment, as much of Europe writes it.
_DOTTED = re.compile(r"^(\d{1,2})\.(\d{1,2})\.(\d{4})(?:(?:,? +|T)(\d{1,2})(?=:))?")


@dataclass(frozen=True)
class LoggedJob:
    """A job as a log tells it. labels: in which its workload may be named, the likeliest first.

    gpus: those it held, 0 for none. gpu_types: how many of each, of those whose type is told.
    hours: it ran, gpu_hours: in all; None where nobody told. batch: samples of one GPU in a step,
    or None. architecture: '' where the log has none. line: in the file, from 1. failed: whether it
    failed, or was cancelled; False where nobody told. waited: whether it never started.
    """

    name: str
    labels: tuple[str, ...]
    gpus: float
    gpu_types: Mapping[str, float]
    nodes: float | None
    hours: float | None
    gpu_hours: float | None
    batch: float | None
    architecture: str
    line: int
    failed: bool = False
    waited: bool = False


def plain(name: str) -> str:
    """The name of a column without capitals, blanks and marks."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def failed(status: str) -> bool:
    """Whether a job with this word for how it ended has no result: ``CANCELLED by 1001``."""
    return _FAILED.match(plain(status)) is not None


def waited(status: str, started: bool | None) -> bool:
    """Whether a job with this word never started. started: None where the log does not tell."""
    word = plain(status)
    if _WAITS.match(word):
        return True
    return started is False and (failed(status) or _MAY_WAIT.match(word) is not None)


def amount(text: str) -> float | None:
    """A number of 0 or more; None for any other text."""
    try:
        found = float(text)
    except ValueError:
        return None
    return found if 0 <= found < _LARGEST else None


def moment(text: str) -> float | None:
    """Seconds of a date, also of day.month.year, or as they stand. A date without a time zone is
    taken as UTC, so that hours do not depend on where the log is read."""
    try:
        found = float(text)
    except ValueError:
        try:
            date = datetime.fromisoformat(_DOTTED.sub(_year_first, text, count=1))
        except ValueError:
            return None
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    return found if math.isfinite(found) else None


def unit_of_dates(cells: Iterable[str]) -> tuple[str, float] | None:
    """Milliseconds, microseconds or nanoseconds since 1970, and how many are a second, where all
    numbers of a column are dates of this century in them; None for seconds, and for other texts."""
    told = [cell for cell in cells if cell.lower() not in ABSENT]
    numbers = [found for cell in told if (found := _float(cell))]
    if not numbers or any(_float(cell) is None for cell in told):
        return None
    for unit, per_second in _PER_SECOND.items():
        if all(FIRST_DATE_S <= number / per_second < LAST_DATE_S for number in numbers):
            return unit, per_second
    return None


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def has_two_parts(text: str) -> bool:
    """Whether a time such as ``10:31`` may be minutes and seconds, or hours and minutes."""
    match = _ELAPSED.fullmatch(text)
    return match is not None and match[1] is None and match[2] is None


def elapsed_s(text: str, hours_first: bool = False) -> float | None:
    """Seconds of ``[days-][hours:]minutes:seconds``; None for any other text. hours_first: whether
    two parts are hours and minutes, as they always are after days."""
    if (match := _ELAPSED.fullmatch(text)) is None:
        return None
    days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
    if match[2] is None and (hours_first or match[1] is not None):
        hours, minutes, seconds = minutes, seconds, 0.0
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def _year_first(date: re.Match[str]) -> str:
    """``2026-09-30 07`` for ``30.9.2026, 7``."""
    day, month, year, hour = date.groups()
    return f"{year}-{month:0>2}-{day:0>2}{f' {hour:0>2}' if hour else ''}"


def hours_between(start_s: float | None, end_s: float | None) -> float | None:
    """None where one of the moments is not told."""
    return None if start_s is None or end_s is None else max(end_s - start_s, 0.0) / 3600


def column(cells: Sequence[str], at: int) -> int:
    """Where a cell begins in its line, from 1."""
    return 1 + sum(len(cell) + 1 for cell in cells[:at])
