"""An entry of a scheduler's log: the job that it is of, and what its cells say."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

ABSENT = frozenset(("", "none", "null", "nan", "n/a", "na", "-", "unknown", "(null)"))
_LARGEST = 1e15  # number that a cell may have
# How words for jobs that ended without a result begin. Those that met their time limit (TIMEOUT) or
# made room for others (PREEMPTED) are not among them: training goes on from a checkpoint.
_FAILED = re.compile(r"fail|cancel|kill|error|outofme|oom|nodefail|bootfail|abort|evict")
# Day, month, year and hour of a moment, as much of Europe writes it.
_DOTTED = re.compile(r"^(\d{1,2})\.(\d{1,2})\.(\d{4})(?:(?:,? +|T)(\d{1,2})(?=:))?")


@dataclass(frozen=True)
class LoggedJob:
    """A job as a log tells it. labels: in which its workload may be named, the likeliest first.

    gpus: those it held, 0 for none. hours: it ran, gpu_hours: in all; None where nobody told.
    batch: samples of one GPU in a step, or None. architecture: '' where the log has none. line: in
    the file, from 1. failed: whether it failed, or was cancelled; False where nobody told.
    """

    name: str
    labels: tuple[str, ...]
    gpus: float
    gpu_type: str
    nodes: float | None
    hours: float | None
    gpu_hours: float | None
    batch: float | None
    architecture: str
    line: int
    failed: bool = False


def plain(name: str) -> str:
    """The name of a column without capitals, blanks and marks."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def failed(status: str) -> bool:
    """Whether a job with this word for how it ended has no result: ``CANCELLED by 1001``."""
    return _FAILED.match(plain(status)) is not None


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
