"""Logs in JSON as tables: ``sacct --json`` under the columns of ``sacct``, and Philly's jobs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from dse.errors import StudyError
from dse.fleet.log_cells import moment
from dse.fleet.traces import REMEDY
from dse.text_table import Table

SACCT = ("JobID", "JobName", "AllocTRES", "ElapsedRaw", "NNodes", "State", "Start")
PHILLY = ("jobid", "status", "gpus of the last attempt", "servers", "gpu-hours of all attempts")


def json_table(path: str, text: str) -> Table:
    """The jobs in a text. Raises :class:`~dse.errors.StudyError` for JSON of another kind."""
    try:
        found = json.loads(text)
    except json.JSONDecodeError as cause:
        problem = "the log breaks off here" if cause.pos >= len(text.rstrip()) else "is no JSON"
        raise StudyError(path, cause.lineno, cause.colno, problem, "copy it again") from None
    except (RecursionError, ValueError):
        found = None
    for columns, jobs, key, cells in (
        (SACCT, found.get("jobs") if isinstance(found, dict) else None, "tres", _of_sacct),
        (PHILLY, found, "attempts", _of_philly),
    ):
        if (read := _listed(jobs)) and all(key in job for job in read):
            return Table(path, columns, [list(cells(job)) for job in read])
    problem = "is JSON, but neither of sacct --json nor of Philly's cluster_job_log"
    raise StudyError(path, 0, 0, problem, REMEDY)


def _of_sacct(job: Mapping[str, Any]) -> Iterator[str]:
    """The cells of a job, by :data:`SACCT`."""
    time, state = _part(job, "time"), _part(job, "state").get("current", job.get("state"))
    allocated = _part(job, "tres").get("allocated")
    resources = [one for one in _listed(allocated) if one.get("type") == "gres"]
    yield _text(job.get("job_id"))
    yield _text(job.get("name"))
    yield ",".join(f"gres/{one.get('name')}={_text(one.get('count'))}" for one in resources)
    yield _text(time.get("elapsed"))
    yield _text(job.get("allocation_nodes"))
    yield _text(state[0] if isinstance(state, list) and state else state)
    yield _text(time.get("start") or "")


def _part(job: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = job.get(key)
    return found if isinstance(found, dict) else {}


def _listed(found: Any) -> list[Mapping[str, Any]]:
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _text(value: Any) -> str:
    """A cell; of a number that newer versions wrap, the number."""
    if isinstance(value, dict):
        value = value.get("number") if value.get("set") else ""
    return "" if value is None or isinstance(value, list) else str(value)


def _of_philly(job: Mapping[str, Any]) -> Iterator[str]:
    """The cells of a job, by :data:`PHILLY`: GPUs and servers of the last attempt that had any,
    hours of all."""
    gpus = servers = held = 0.0
    for attempt in _listed(job.get("attempts")):
        detail = _listed(attempt.get("detail"))
        own = float(sum(len(one["gpus"]) for one in detail if isinstance(one.get("gpus"), list)))
        start, end = (moment(_text(attempt.get(key))) for key in ("start_time", "end_time"))
        if own:
            gpus, servers = own, float(len(detail))
            held += own * max(end - start, 0.0) / 3600 if start and end else 0.0
    yield _text(job.get("jobid"))
    yield _text(job.get("status"))
    yield from (str(value) for value in (gpus, servers, held))
