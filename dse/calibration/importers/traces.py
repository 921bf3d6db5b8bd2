"""Traces in Chrome's format, and what collectives take by those of one job's ranks.

PyTorch's profiler and Horovod write it (Chromium, Trace Event Format): an object with
``traceEvents``, or a list of events, whose closing bracket may be missing. Times are microseconds.

A rank's time begins when it is ready and holds its wait for the slowest. The rank that comes last
does not wait, so the shortest of all ranks' times is what the collective takes. Where some ranks
are not traced it may hold a wait still, and of the calls of one kind the lower quartile counts; a
profile's costs must not hold waits, which the model has a term for (decision 049).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import median
from typing import Any, NamedTuple

from dse.calibration.importers.records import Call, Log, Row, Table, Traced
from dse.errors import StudyError
from dse.text_source import from_json

WAITS = (
    "times are the lower quartiles of what one rank took while it trained; they include some "
    "of its wait for the others, which a benchmark (dse calibrate run) leaves out"
)
US = 1e-6


def _of_one_job(traced: Traced, others: Sequence[Traced]) -> bool:
    """Whether another rank of the job of these, which are not none, may have made these calls."""
    first = others[0]
    return (
        traced.rank is not None
        and traced.ranks == first.ranks
        and traced.rank not in [one.rank for one in others]
        and all(
            max(traced.span[0], one.span[0]) < min(traced.span[1], one.span[1]) for one in others
        )
        and _counts(traced) == _counts(first)
    )


def _as_one(logs: Sequence[Log]) -> Log:
    """All traces of a job as one log."""
    ranks = [log.traced for log in logs if log.traced]
    if len(logs) == 1:
        return logs[0]
    note = f"the traces of {len(ranks)} of {ranks[0].ranks} ranks of a job: of each collective "
    note += "the shortest time of theirs counts, which holds no wait for others if these are all"
    return Log(logs[0].format, tables_of(ranks), sum(log.dropped for log in logs), (note,))


def _counts(traced: Traced) -> dict[Call, int]:
    return {call: len(times) for call, times in traced.times.items()}


def joined(logs: Sequence[tuple[str, Log]]) -> list[tuple[tuple[str, ...], Log]]:
    """Logs with their files, the traces of several ranks of one job as one.

    Traces are of one job if it has as many ranks in each, they are of different ranks that ran at
    one time, and each rank made the same calls as often.
    """
    jobs: list[list[tuple[str, Log]]] = []
    for path, log in logs:
        for job in jobs:
            ranks = [other.traced for _, other in job if other.traced]
            if log.traced and ranks and _of_one_job(log.traced, ranks):
                job.append((path, log))
                break
        else:
            jobs.append([(path, log)])
    return [(tuple(path for path, _ in job), _as_one([log for _, log in job])) for job in jobs]


def tables_of(ranks: Sequence[Traced]) -> tuple[Table, ...]:
    """The times of collectives by size, as a benchmark would have them.

    ranks: at least one of a job, of which each made the same calls.
    """
    places: dict[tuple[str, int, str, str, tuple[int, ...]], list[Call]] = {}
    for call in ranks[0].times:
        place = (call.collective, call.ranks, call.transport, call.algorithm, call.members)
        places.setdefault(place, []).append(call)
    groups = {(among, members[-1:] in ((), (among - 1,))) for _, among, *_, members in places}
    told = ranks[0].ranks or (0 if len(groups) > 1 or any(not all(one) for one in groups) else None)
    return tuple(
        Table(
            collective=collective, line=1, transport=transport, library=transport,
            algorithm=algorithm, ranks={among: "the trace"} if among else {},
            device=ranks[0].device, rows=tuple(_row(call, ranks) for call in sorted(calls)),
            shares=collective == "all_gather", members=members,
            job=told if among != told else None,
        )
        for (collective, among, transport, algorithm, members), calls in places.items()
    )  # fmt: skip


def _row(call: Call, ranks: Sequence[Traced]) -> Row:
    """Of calls among all ranks of the job the shortest; others are not matched: their groups are
    not known."""
    own = [one.times[call] for one in ranks]
    job = ranks[0].ranks
    if call.ranks != job:
        return row_of(call.bytes, call.dtype, list(chain.from_iterable(own)))
    shortest = [min(times) for times in zip(*own, strict=True)]
    if len(ranks) < call.ranks:
        return row_of(call.bytes, call.dtype, shortest)
    return Row(
        1, call.bytes, median(shortest), len(shortest), min_s=min(shortest), dtype=call.dtype
    )


def row_of(size: int, dtype: str, times: Sequence[float]) -> Row:
    """The row of a collective of ``size`` bytes that took ``times``, each with some wait."""
    return Row(1, size, lower_quartile(times), len(times), min_s=min(times), dtype=dtype)


def lower_quartile(times: Sequence[float]) -> float:
    """What a collective takes of which one rank logged ``times``, (repetitions,).

    Each holds the rank's wait for the others; those a quarter of which are shorter hold little of
    it (decision 049).
    """
    return sorted(times)[(len(times) - 1) // 4]


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
    found, cut = _json(text, path)
    about: Mapping[str, Any] = {}
    if isinstance(found, dict):
        about = {key: value for key, value in found.items() if key != "traceEvents"}
        found = found.get("traceEvents")
    if not isinstance(found, list):
        problem = "traceEvents is not a list"
        raise StudyError(path, 0, 0, problem, "export the trace again")
    read = [_event(entry) for entry in found]
    events = sorted((event for event in read if event), key=lambda event: event.start_s)
    return Trace(tuple(events), about, cut + sum(event is None for event in read))


def _json(text: str, path: str) -> tuple[Any, int]:
    """What the text says, and how many events at its end were cut off."""
    plain = text.strip()
    # Horovod writes an event a line and never closes the list; a job may be killed inside of one.
    whole, kept = plain.rstrip(","), plain.rpartition("\n")[0].rstrip(",\r")
    problems: list[json.JSONDecodeError] = []
    for cut, tried in enumerate((whole, whole + "]", kept + "]")):
        try:
            return from_json(tried), int(cut == 2)
        except json.JSONDecodeError as cause:
            problems.append(cause)
            inside_last = "NEGOTIATE_" in plain and cause.lineno > kept.count("\n") + 1
            if not plain.startswith("[") or (cut and not inside_last):
                break
        except (RecursionError, ValueError) as cause:
            reason = str(cause)[:80]
            raise StudyError(path, 0, 0, f"is no trace ({reason})", "export it again") from None
    problem = problems[:2][-1]
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
