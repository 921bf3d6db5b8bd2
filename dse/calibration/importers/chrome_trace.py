"""Traces in Chrome's format, JSON or gzipped JSON: what PyTorch's profiler and Horovod write.

Chromium, Trace Event Format: an object with ``traceEvents``, or a list of events, whose closing
bracket may be missing. Times are microseconds.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from dse.errors import StudyError

US = 1e-6


class Event(NamedTuple):
    """An event of a trace. phase: X for a whole one, B and E for the ends of one, M for a remark.

    category: in lower case. place: process and thread. args: by name.
    """

    name: str
    phase: str
    category: str
    start_s: float
    duration_s: float
    place: tuple[str, str]
    args: Mapping[str, Any]

    @property
    def end_s(self) -> float:
        """When it ends, in seconds of the trace's clock."""
        return self.start_s + self.duration_s


@dataclass(frozen=True)
class Trace:
    """A file. about: what it says of itself beside its events. damaged: events without a time."""

    events: tuple[Event, ...]
    about: Mapping[str, Any]
    damaged: int = 0


def looks_so(text: str) -> bool:
    """Whether a text is a trace."""
    start = text.lstrip()[:2000]
    if start.startswith("["):
        return '"ph"' in start
    return start.startswith("{") and '"traceEvents"' in text


def read_trace(text: str, path: str) -> Trace:
    """The events of a trace by their beginning. Raises StudyError where it is damaged."""
    found = _json(text, path)
    about: Mapping[str, Any] = {}
    if isinstance(found, dict):
        about = {key: value for key, value in found.items() if key != "traceEvents"}
        found = found.get("traceEvents")
    if not isinstance(found, list):
        problem = "traceEvents is not a list"
        raise StudyError(path, 0, 0, problem, "export the trace again")
    read = [_event(entry) for entry in found]
    events = sorted((event for event in read if event), key=lambda event: event.start_s)
    return Trace(tuple(events), about, sum(event is None for event in read))


def _json(text: str, path: str) -> Any:
    plain = text.strip()
    for ending in ("", "]"):  # Horovod leaves the list open while it runs
        try:
            return json.loads(plain.rstrip(",") + ending)
        except json.JSONDecodeError as cause:
            problem = cause
            if not plain.startswith("["):
                break
        except (RecursionError, ValueError) as cause:
            reason = str(cause)[:80]
            raise StudyError(path, 0, 0, f"is no trace ({reason})", "export it again") from None
    where = "the trace breaks off here" if problem.pos >= len(plain) - 1 else "is no JSON here"
    raise StudyError(path, problem.lineno, problem.colno, where, "export the trace again") from None


def _event(entry: Any) -> Event | None:
    """None for what is no event, or has no time that it needs."""
    if not isinstance(entry, dict):
        return None
    args = entry.get("args")
    phase = str(entry.get("ph", ""))
    start, duration = _seconds(entry.get("ts", 0)), _seconds(entry.get("dur", 0))
    if start is None or duration is None or duration < 0 or (phase == "X" and "dur" not in entry):
        return None
    return Event(
        str(entry.get("name", "")), phase, str(entry.get("cat", "")).lower(), start, duration,
        (str(entry.get("pid", "")), str(entry.get("tid", ""))),
        args if isinstance(args, dict) else {},
    )  # fmt: skip


def _seconds(microseconds: object) -> float | None:
    if isinstance(microseconds, bool) or not isinstance(microseconds, int | float):
        return None
    try:
        found = float(microseconds) * US
    except OverflowError:
        return None
    return found if math.isfinite(found) else None
