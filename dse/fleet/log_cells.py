"""Cells of a scheduler's log: GPUs, moments, durations, and whether a job waits."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from dse.fleet.traces import plain

ABSENT = frozenset(("", "none", "null", "nan", "n/a", "na", "-", "unknown", "(null)"))
_LARGEST = 1e15  # number that a cell may have
_LAST_DATE_S = 4_102_444_800.0  # the year 2100; larger numbers are no seconds
_WAITS = re.compile(r"pend|queue|inqueue|wait|unsched|(?:pd|q|qw|hqw)$")
_ELAPSED = re.compile(r"(?:(\d+)-)?(\d+):(\d+):(\d+(?:\.\d+)?)")
_GPUS = re.compile(r"(?:gres/)?gpu(?::([\w.-]+?))?[=:](\d+)(?=,|$|\()")  # gres/gpu:a100=8, gpu:8
_RESOURCES = re.compile(r"[\w/:.-]+[=:][^,]+(?:,|$)")  # cpu=8,mem=64G


def waits(status: str) -> bool:
    """True of a word for a job that has not begun."""
    return _WAITS.match(plain(status)) is not None


def amount(text: str) -> float | None:
    """A number of 0 or more; None for any other text."""
    try:
        found = float(text)
    except ValueError:
        return None
    return found if 0 <= found < _LARGEST else None


def gpus_of(text: str) -> float | None:
    """GPUs by number, or in resources as Slurm writes them: those of all types where these are
    summed up, else of each type. None for any other text."""
    if (found := amount(text)) is not None:
        return found
    told = _GPUS.findall(text)
    if not told:
        return 0.0 if _RESOURCES.match(text) else None
    whole = [float(count) for kind, count in told if not kind]
    return whole[0] if whole else sum(float(count) for _, count in told)


def moment(text: str) -> float | None:
    """Seconds of a date, or as they stand; None for any other text. A date without a time zone is
    taken as UTC, so that hours do not depend on where the log is read."""
    if (found := amount(text)) is not None:
        return found if found < _LAST_DATE_S else None
    try:
        date = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()


def seconds_of(text: str) -> float | None:
    """Seconds by number, or of ``[days-]hours:minutes:seconds``; None for any other text, also for
    two parts, which may be either."""
    if (match := _ELAPSED.fullmatch(text)) is None:
        return amount(text)
    days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def hours_of(text: str) -> float | None:
    """Hours by number, or of ``[days-]hours:minutes:seconds``; None for any other text."""
    found = seconds_of(text)
    return found / 3600 if found is not None and ":" in text else found


_CLOCK, _NUMBER = "a number, nor [days-]hours:minutes:seconds", "a number of 0 or more"
# How a column is read by what it tells, and what its cells are then.
READ: Mapping[str, tuple[Callable[[str], float | None], str]] = {
    "gpus": (gpus_of, "a number, nor such as gres/gpu=8"),
    "hours": (hours_of, _CLOCK),
    "seconds": (seconds_of, _CLOCK),
    "start": (moment, "a date, nor seconds"),
    "end": (moment, "a date, nor seconds"),
    **dict.fromkeys(("replicas", "nodes", "batch_per_gpu", "gpu_hours"), (amount, _NUMBER)),
}
