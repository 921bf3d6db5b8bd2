"""The jobs of a scheduler's log: what each held, for how long, and how it ended.

Which column tells what, :mod:`~dse.fleet.traces` says, or the study under ``columns``. Logs in JSON
become tables: ``sacct --json`` under the columns of ``sacct``, and Philly's jobs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.errors import StudyError
from dse.fleet import traces
from dse.fleet.job_table import read_text
from dse.model.arrays import Array, Mask
from dse.model.pai import PS_WORKER
from dse.text_source import from_json
from dse.text_table import Table, text_table

LOG_ENDINGS = (".txt", ".psv", ".tsv", ".json")  # beside .csv, which tables of jobs have too
_MOST_GPUS = 1e6
_LONGEST_HOURS = 20 * 365 * 24.0
# A step of a job of Slurm, 123.batch or 123.0; 123.pbs01 is a job of PBS.
_STEP = re.compile(r"([\d_+]+(?:\[[^\]]*\])?)\.(?:(batch|extern|interactive)|[\d+]+)")
_SERVER = re.compile(r"ps|parameterserver")

ABSENT = frozenset(("", "none", "null", "nan", "n/a", "na", "-", "unknown", "(null)"))
_CORRECT = "correct it, or leave the cell empty"
_UNIT = "name the column in the study, columns: {hours: NAME} or {seconds: NAME}"
_LARGEST = 1e15  # number that a cell may have
_LAST_DATE_S = 4_102_444_800.0  # the year 2100; larger numbers are no seconds
_WAITS = re.compile(r"pend|queue|inqueue|wait|unsched|(?:pd|q|qw|hqw)$")
_ELAPSED = re.compile(r"(?:(\d+)-)?(\d+):(\d+):(\d+(?:\.\d+)?)")
_GPUS = re.compile(r"(?:gres/)?gpu(?::([\w.-]+?))?[=:](\d+)(?=,|$|\()")  # gres/gpu:a100=8, gpu:8
_RESOURCES = re.compile(r"[\w/:.-]+[=:][^,]+(?:,|$)")  # cpu=8,mem=64G
SACCT = ("JobID", "JobName", "AllocTRES", "ElapsedRaw", "NNodes", "State", "Start", "End")
PHILLY = ("jobid", "status", "gpus of the last attempt", "servers", "gpu-hours of all attempts")


@dataclass(frozen=True)
class JobLog:
    """A log as read: arrays over its jobs, NaN where a number is not told.

    title: of the log. columns: what each column that was used tells -> its name. steps: how many
    rows are steps of jobs. rows: of the table, where jobs stand. names: what jobs are called, or
    their ID. classes: empty where not told. cnodes: GPUs that a job held or shared; gpus: the same,
    of shared ones its part. gpu_hours: of these. batch: samples of a GPU in a step. waited: whether
    a job never started.
    """

    title: str
    table: Table
    columns: Mapping[str, str]
    steps: int
    rows: NDArray[np.intp]
    names: Sequence[str]
    classes: Sequence[str]
    cnodes: Array
    gpus: Array
    nodes: Array
    gpu_hours: Array
    batch: Array
    waited: Mask


def read_job_log(path: Path, columns: Mapping[str, str]) -> JobLog:
    """The jobs of a log. columns: what a column tells -> its name in the file, before all others.

    Raises :class:`~dse.errors.StudyError` with the place of what is wrong.
    """
    text = read_text(path)
    traces.refuse_others(str(path), text)
    if text.lstrip()[0] in "[{":
        table = json_table(str(path), text)
    else:
        lines = (line for line in text.splitlines() if line.strip() and not line.startswith("#"))
        header = traces.without_header(next(lines, "").split(","))
        table = text_table(str(path), text, header)
    trace = traces.trace_of(table.header, columns)
    places = traces.places_of(table, trace, columns)
    rows = _without_steps(table, places)
    return _Cells(table, places, rows).log(trace, 1.0 if "gpus" in columns else trace.whole_gpu)


def _without_steps(table: Table, places: Mapping[str, int]) -> NDArray[np.intp]:
    """The rows but the steps of jobs. One with a number is a step where the job has a row of its
    own: ``101.0`` alone may be an ID that a spreadsheet wrote as a number."""
    ids = [row[places["job"]] if "job" in places else "" for row in table.rows]
    every = set(ids)
    steps = [found is not None and (found[2] is not None or found[1] in every)
             for found in map(_STEP.fullmatch, ids)]  # fmt: skip
    return np.flatnonzero(~np.array(steps, dtype=bool))


@dataclass(frozen=True)
class _Cells:
    """The cells of some rows of a table whose columns are known."""

    table: Table
    places: Mapping[str, int]
    rows: NDArray[np.intp]

    def log(self, trace: traces.Trace, whole_gpu: float) -> JobLog:
        """The log. whole_gpu: what stands for one GPU."""
        each, many = self.numbers("gpus") / whole_gpu, self.numbers("replicas")
        each, many = np.nan_to_num(each), np.where(np.isnan(many), 1.0, many)
        cnodes = np.where(each > 0, np.ceil(many * np.maximum(each, 1.0)), 0.0)
        self.check(cnodes > _MOST_GPUS, "gpus", "is more than anybody has")
        gpus, hours, nodes = many * each, self.hours(), self.numbers("nodes")
        self.check((nodes > 0) & (nodes < 1), "nodes", "is less than a server")
        if trace is traces.OWN:  # others count servers without GPUs, too
            self.check((cnodes > 0) & (nodes > cnodes), "nodes", "is more than the job has GPUs")
        total, status, starts = self.numbers("gpu_hours"), self.texts("status"), self.texts("start")
        total = np.where(np.isnan(total), hours * gpus, total)
        never = [any(starts) and not start and not ran
                 for start, ran in zip(starts, np.nan_to_num(total), strict=True)]  # fmt: skip
        ids, names = self.texts("job"), self.texts("name")
        found = JobLog(
            title=trace.title,
            table=self.table,
            columns={tells: self.table.header[at] for tells, at in self.places.items()},
            steps=len(self.table.rows) - len(self.rows),
            rows=self.rows,
            names=[name or own or f"row {row + 1}"
                   for name, own, row in zip(names, ids, self.rows, strict=True)],
            classes=self.texts("class"),
            cnodes=cnodes,
            gpus=gpus,
            nodes=nodes,
            gpu_hours=total,
            batch=self.numbers("batch_per_gpu"),
            waited=np.array([waits(word) for word in status], dtype=bool) | np.array(never, bool),
        )  # fmt: skip
        return _of_tasks(found, ids, self.texts("task")) if "task" in self.places else found

    def hours(self) -> Array:
        """The hours that each ran. A duration without a unit is of seconds where dates agree."""
        hours, seconds = self.numbers("hours"), self.numbers("seconds") / 3600
        known = ~np.isnan(hours) | ~np.isnan(seconds) | ~np.isnan(self.numbers("gpu_hours"))
        known |= np.array([":" in text for text in self.texts("duration")], dtype=bool)
        seconds = np.where(np.isnan(seconds), self.numbers("duration") / 3600, seconds)
        between = np.maximum(self.numbers("end") - self.numbers("start"), 0.0) / 3600
        both = (seconds > 0) & (between > 0)
        far = both & ((seconds > 10 * between) | (between > 10 * seconds))
        told = next((tells for tells in ("seconds", "duration") if tells in self.places), "end")
        if 2 * far.sum() > both.sum():  # of other units
            self.check(far, told, "is far from the seconds between its dates")
        unsure = (seconds > 0) & ~known & ~both.any()
        self.check(unsure, "duration", "is of no known unit", _UNIT)
        found = np.where(np.isnan(hours), np.where(np.isnan(seconds), between, seconds), hours)
        told = "hours" if "hours" in self.places else told
        self.check(found > _LONGEST_HOURS, told, "makes the job longer than 20 years")
        return found

    def texts(self, tells: str) -> list[str]:
        """The text that tells something of each; empty where none does."""
        if tells not in self.places:
            return [""] * len(self.rows)
        cells = [self.table.rows[row][self.places[tells]] for row in self.rows]
        return ["" if cell.lower() in ABSENT else cell for cell in cells]

    def numbers(self, tells: str) -> Array:
        """0 or more."""
        read, what = READ[tells]
        found = np.full(len(self.rows), np.nan)
        for at, text in enumerate(self.texts(tells)):
            number = read(text) if text else np.nan
            if number is None:
                self.check(np.arange(len(found)) == at, tells, f"is not {what}")
            else:
                found[at] = number
        return found

    def check(self, wrong: Mask, tells: str, problem: str, remedy: str = _CORRECT) -> None:
        """Raise for the first row that is wrong."""
        if wrong.any():
            at, name = int(np.argmax(wrong)), self.table.header[self.places[tells]]
            raise self.table.wrong(int(self.rows[at]), name, f"{name}: {{}} {problem}", remedy)


def _of_tasks(log: JobLog, ids: Sequence[str], tasks: Sequence[str]) -> JobLog:
    """The tasks of a job together. A job with a task ``ps`` has parameter servers."""
    _, first, job = np.unique(ids, return_index=True, return_inverse=True)

    def together(values: Array | Mask) -> Array:
        return np.bincount(job, values.astype(np.float64)).astype(np.float64)

    cnodes, timed = together(log.cnodes), np.isfinite(log.gpu_hours) & (log.cnodes > 0)
    servers = [_SERVER.fullmatch(traces.plain(task)) is not None for task in tasks]
    waiting = together(log.waited & (log.cnodes > 0))
    hours = together(np.where(timed, log.gpu_hours, 0.0))
    return JobLog(
        **{key: getattr(log, key) for key in ("title", "table", "columns", "steps")},
        rows=log.rows[first],
        names=[log.names[at] for at in first],
        classes=[PS_WORKER if own and held > 1 else ""
                 for own, held in zip(together(np.array(servers)), cnodes, strict=True)],
        cnodes=cnodes,
        gpus=together(log.gpus),
        nodes=log.nodes[first],
        gpu_hours=np.where(together(timed) > 0, hours, np.nan),
        batch=log.batch[first],
        waited=(waiting > 0) & (waiting == together(log.cnodes > 0)),
    )  # fmt: skip


def json_table(path: str, text: str) -> Table:
    """The jobs in a text. Raises :class:`~dse.errors.StudyError` for JSON of another kind."""
    try:
        found = from_json(text)
    except json.JSONDecodeError as cause:
        problem = "the log breaks off here" if cause.pos >= len(text.rstrip()) else "is no JSON"
        raise StudyError(path, cause.lineno, cause.colno, problem, "copy it again") from None
    except (RecursionError, ValueError):
        found = None
    for columns, jobs, key, cells in (
        (SACCT, found.get("jobs") if isinstance(found, dict) else None, "tres", _of_sacct),
        (PHILLY, found, "attempts", _of_philly),
    ):
        if (read := _listed(jobs)) and any(key in job for job in read):
            return Table(path, columns, [list(cells(job)) for job in read])
    problem = "is JSON, but neither of sacct --json nor of Philly's cluster_job_log"
    raise StudyError(path, 0, 0, problem, traces.REMEDY)


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
    yield from (_text(time.get(key) or "") for key in ("start", "end"))


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


def waits(status: str) -> bool:
    """True of a word for a job that has not begun."""
    return _WAITS.match(traces.plain(status)) is not None


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
    **dict.fromkeys(("seconds", "duration"), (seconds_of, _CLOCK)),
    "start": (moment, "a date, nor seconds"),
    "end": (moment, "a date, nor seconds"),
    **dict.fromkeys(("replicas", "nodes", "batch_per_gpu", "gpu_hours"), (amount, _NUMBER)),
}
