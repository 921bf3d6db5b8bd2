"""Jobs of two public traces: Alibaba PAI of 2020 and Microsoft's Philly.

Of the first the table of tasks (``pai_task_table``, ten columns without a header), of the second
the log of jobs (``cluster_job_log``, JSON).
"""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dse.errors import StudyError
from dse.fleet.log_entry import (
    ABSENT,
    LoggedJob,
    amount,
    column,
    failed,
    hours_between,
    moment,
    plain,
    waited,
)
from dse.model.pai import PS_WORKER

PAI, PHILLY = "Alibaba PAI 2020", "Philly"
_STATUSES = ("Terminated", "Failed", "Running", "Waiting")
_PAI_CELLS = 10
_PAI_GPU = 100.0  # plan_gpu of a whole GPU
_SERVER = re.compile(r"ps|parameterserver", re.IGNORECASE)


def is_pai(header: Sequence[str]) -> bool:
    """A row of pai_task_table, or the header that its readers give it."""
    if len(header) != _PAI_CELLS:
        return False
    return header[3] in _STATUSES or [plain(name) for name in header[1:4]] == [
        "taskname", "instnum", "status",
    ]  # fmt: skip


def pai_jobs(rows: Sequence[tuple[int, list[str]]], path: str) -> Iterator[LoggedJob]:
    """The tasks of a job together: job_name, task_name, inst_num, status, start_time, end_time,
    plan_cpu, plan_mem, plan_gpu (100 is one GPU), gpu_type. A job with a task ``ps`` has servers.
    """
    tasks: dict[str, list[tuple[int, list[str]]]] = {}
    for number, cells in rows:
        if len(cells) != _PAI_CELLS:
            problem = f"{len(cells)} values where a task has {_PAI_CELLS}"
            raise StudyError(path, number, 1, problem, "give pai_task_table as it is")
        if plain(cells[3]) != "status":  # it is no header
            tasks.setdefault(cells[0], []).append((number, cells))
    for name, own in tasks.items():
        gpus = hours = held = 0.0
        kinds, servers, told = defaultdict[str, float](float), False, False
        waiting = True
        for number, cells in own:
            servers |= _SERVER.fullmatch(cells[1]) is not None
            count, start, end, share = (_of_pai(path, number, cells, at) for at in (2, 4, 5, 8))
            ran = hours_between(start, end)
            if not share or not count:
                continue
            waiting &= waited(cells[3], None)
            gpus += count * max(share / _PAI_GPU, 1.0)  # those that share a GPU are cNodes, too
            if ran is not None:
                told, hours = True, max(hours, ran)
                held += count * share / _PAI_GPU * ran
            if cells[9]:
                kinds[cells[9]] += count * max(share / _PAI_GPU, 1.0)
        whole = float(math.ceil(gpus))
        yield LoggedJob(
            name, (), whole, {kind: own * whole / gpus for kind, own in kinds.items()}, None,
            hours if told else None, held if told else None, None, PS_WORKER if servers and
            gpus > 1 else "", own[0][0], any(failed(cells[3]) for _, cells in own),
            waiting and gpus > 0,
        )  # fmt: skip


def _of_pai(path: str, line: int, cells: Sequence[str], at: int) -> float | None:
    if cells[at].lower() in ABSENT:
        return None
    found = amount(cells[at])
    if found is None:
        problem = f"column {at + 1}: '{cells[at][:60]}' is not a number of 0 or more"
        remedy = "give pai_task_table as it is"
        raise StudyError(path, line, column(cells, at), problem, remedy)
    return found


def philly_jobs(text: str, path: str) -> Iterator[LoggedJob]:
    """jobid, and of each attempt start_time, end_time and the gpus of every server (detail)."""
    try:
        found = json.loads(text)
    except json.JSONDecodeError as cause:
        problem = "the log breaks off here" if cause.pos >= len(text.rstrip()) else "is no JSON"
        raise StudyError(path, cause.lineno, cause.colno, problem, "copy it again") from None
    except (RecursionError, ValueError):
        found = None
    if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
        problem = "is JSON, but not a list of jobs as Philly's cluster_job_log is"
        raise StudyError(path, 0, 0, problem, "give a table, or such a list")
    for number, entry in enumerate(found, 1):
        yield _philly_job(entry, path, number)


def _philly_job(entry: Mapping[str, Any], path: str, number: int) -> LoggedJob:
    attempts = entry.get("attempts", [])
    name = str(entry.get("jobid", f"job {number}"))
    if not isinstance(attempts, list):
        raise StudyError(path, 0, 0, f"job {number} ({name[:40]}): attempts is no list",
                         "give the log as it is")  # fmt: skip
    gpus = nodes = held = hours = 0.0
    told = False
    for attempt in (one for one in attempts if isinstance(one, dict)):
        detail = attempt.get("detail")
        servers = (
            [one for one in detail if isinstance(one, dict)] if isinstance(detail, list) else []
        )
        own = sum(len(one["gpus"]) for one in servers if isinstance(one.get("gpus"), list))
        gpus, nodes = (float(own), float(len(servers))) if own else (gpus, nodes)
        ran = hours_between(
            *(moment(str(attempt.get(key, ""))) for key in ("start_time", "end_time"))
        )
        if ran is not None and own:
            told, hours, held = True, hours + ran, held + ran * own
    return LoggedJob(
        name, (), gpus, {}, nodes or None, hours if told else None, held if told else None,
        None, "", number, failed(str(entry.get("status", ""))),
    )  # fmt: skip
