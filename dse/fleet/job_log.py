"""Jobs as schedulers log them: Slurm's sacct, CSV of Kubernetes or Volcano, and two public traces.

A table is read by the names of its columns, in any spelling of capitals, spaces and underscores
(:data:`NAMES`), or by those that a study gives under ``columns``. Cells are parted by ``|``
(``sacct --parsable2``), tabs, semicolons or commas. The traces of
:mod:`~dse.fleet.public_traces` have no header of that kind.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from dse.delimiter import delimiter_of
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
)
from dse.fleet.population import LONGEST_JOB_HOURS
from dse.fleet.public_traces import PAI, PHILLY, is_pai, pai_jobs, philly_jobs
from dse.spelling import meant
from dse.text_source import text_of

LOG_ENDINGS = (".txt", ".psv", ".tsv", ".json")  # beside .csv, which tables of jobs have too
TABLE = "table"
# what a column tells -> its names, plainly; those of labels by rank
NAMES: Mapping[str, tuple[str, ...]] = {
    "workload": ("workload", "model", "modelname", "network", "application", "app", "comment",
                 "jobname", "name", "taskname", "job"),
    "job": ("jobid", "jobidraw", "id", "uid", "job"),
    "gpus": ("gpus", "ngpus", "numgpus", "numgpu", "gpunum", "gpucount", "gpu", "nvidiacomgpu",
             "allocgpus", "requestedgpus", "totalgpus"),
    "gpus_each": ("gpuspernode", "gpusperpod", "gpusperreplica", "gpusperworker", "gpuspertask"),
    "tres": ("alloctres", "tres", "reqtres", "allocgres", "reqgres"),
    "gpu_type": ("gputype", "gpumodel", "gpuproduct", "nvidiacomgpuproduct", "accelerator",
                 "acceleratortype"),
    "replicas": ("replicas", "pods", "workers", "numworkers", "instnum", "minavailable", "nnodes",
                 "nodes", "allocnodes", "numnodes"),
    "nodes": ("nnodes", "nodes", "allocnodes", "numnodes"),
    "batch_per_gpu": ("batchpergpu", "perdevicebatch", "perdevicetrainbatchsize", "localbatch",
                      "localbatchsize", "microbatch", "microbatchsize", "batch", "batchsize"),
    "global_batch": ("globalbatch", "globalbatchsize", "totalbatch", "totalbatchsize"),
    "gpu_hours": ("gpuhours",),
    "hours": ("hours", "runhours", "runtimehours", "elapsedhours", "durationhours", "runtimeh",
              "durationh"),
    "seconds": ("elapsedraw", "seconds", "elapsed", "elapseds", "elapsedseconds", "duration",
                "durations", "durationseconds", "runtime", "runtimes", "runtimeseconds"),
    "start": ("start", "starttime", "started", "startedat", "starttimestamp"),
    "end": ("end", "endtime", "finished", "finishtime", "completiontime", "completedat",
            "endtimestamp"),
    "status": ("status", "state", "jobstatus", "jobstate", "phase", "jobphase"),
    "class": ("class", "architecture"),
}  # fmt: skip
SIZES = ("gpus", "gpus_each", "tres")  # one of them must be there
_MOST_GPUS = 1e6
_STEP = re.compile(r"\d+(?:_\w+)?(?:\+\d+)?\.\w+")  # of a job of Slurm: 123.batch, 123.0
_LETTER = re.compile(r"[^\W\d_]")
_TRES = re.compile(r"(?:gres/)?gpu(?::([\w.-]+?))?[=:](\d+)(?=,|$|\()")
_RUN = re.compile(r"duration|elapsed|wall|runtime|hours|minutes|seconds|^time$")  # of a column
_NO_RUN = re.compile(r"limit|request|cpu|wait|queue|pend")  # of one that tells no time of running
_ELAPSED = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+(?:\.\d+)?)")


@dataclass(frozen=True)
class JobLog:
    """What was read. columns: what each column that was used tells, by the names in the file.
    durations: columns that were not used and look like how long jobs ran.
    """

    form: str
    jobs: tuple[LoggedJob, ...]
    columns: Mapping[str, str] = field(default_factory=dict)
    durations: tuple[str, ...] = ()

    @property
    def tells_status(self) -> bool:
        """Whether it says how jobs ended."""
        return self.form != TABLE or "status" in self.columns


def is_log(path: Path, tables: Sequence[str], columns: Mapping[str, str]) -> bool:
    """Whether a file is a log rather than a table of jobs with FLOPs and bytes.

    tables: the columns of such a table that no log has. columns: those that the study names.
    """
    if path.suffix.lower() in LOG_ENDINGS or columns:
        return True
    if path.suffix.lower() != ".csv":
        return False
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            lines = (line for line in file if line.strip() and not line.startswith("#"))
            first = next(lines, "")[:100_000]
    except OSError:
        return False
    names = [cell.strip() for cell in re.split(r"[|,;\t]", first)]
    if any(name in tables for name in names):
        return False
    known = {name for size in SIZES for name in NAMES[size]}
    return any(plain(name) in known for name in names) or is_pai(names)


def read_job_log(path: Path, columns: Mapping[str, str]) -> JobLog:
    """The jobs of a log. columns: what a column tells -> its name in the file, before all others.

    Raises :class:`~dse.errors.StudyError` with the place of what is wrong.
    """
    try:
        content = path.read_bytes()
    except OSError as cause:
        problem = f"cannot be read: {cause.strerror}"
        raise StudyError(str(path), 0, 0, problem, "name a readable file") from None
    text = text_of(str(path), content)
    if not text.strip():
        raise StudyError(str(path), 0, 0, "the file is empty", "give what the scheduler logged")
    if text.lstrip()[0] in "[{":
        return JobLog(PHILLY, tuple(philly_jobs(text, str(path))))
    return _table(text, str(path), columns)


def _table(text: str, path: str, columns: Mapping[str, str]) -> JobLog:
    lines = [
        (number, line)
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and not line.startswith("#")
    ]
    if not lines:
        raise StudyError(path, 0, 0, "only remarks", "give what the scheduler logged")
    mark = delimiter_of(lines[0][1], "|\t;,")
    if mark not in lines[0][1] and len(lines[0][1].split()) > 3:
        problem = "only blanks between the columns"
        raise StudyError(
            path, lines[0][0], 1, problem, "run sacct with --parsable2, or save as CSV"
        )
    rows = [(number, _cells(line, mark, path, number)) for number, line in lines]
    first, header = rows[0]
    if is_pai(header):
        return JobLog(PAI, tuple(pai_jobs(rows, path)))
    places = _places(header, columns, path, first)
    used = {tells: " or ".join(header[at] for at in own) for tells, own in places.items()}
    reader = _Reader(path, header, places)
    jobs = tuple(job for number, cells in rows[1:] for job in reader.job(number, cells))
    return JobLog(TABLE, jobs, used, tuple(_durations(header, places, rows[1:])))


def _durations(
    header: Sequence[str],
    places: Mapping[str, Sequence[int]],
    rows: Sequence[tuple[int, Sequence[str]]],
) -> Iterator[str]:
    """The columns that nobody reads and whose values look like how long jobs ran."""
    used = {at for own in places.values() for at in own}
    for at, name in enumerate(header):
        if at in used or _NO_RUN.search(plain(name)):
            continue
        cells = [cells[at] for _, cells in rows if at < len(cells)]
        told = [cell for cell in cells if cell.lower() not in ABSENT]
        clock = all(_ELAPSED.fullmatch(cell) for cell in told)
        number = _RUN.search(plain(name)) and all(amount(cell) is not None for cell in told)
        if told and (clock or number):
            yield name


def _cells(line: str, mark: str, path: str, number: int) -> list[str]:
    if mark == "|":  # sacct quotes nothing
        return [cell.strip() for cell in line.split("|")]
    try:
        return [cell.strip() for cell in next(csv.reader(io.StringIO(line), delimiter=mark), [])]
    except csv.Error as cause:
        raise StudyError(path, number, 1, f"not CSV: {cause}", "save it as CSV") from None


def _places(
    header: Sequence[str], columns: Mapping[str, str], path: str, line: int
) -> dict[str, list[int]]:
    """What columns tell -> where they stand, by rank."""
    names = [plain(name) for name in header]
    places: dict[str, list[int]] = {}
    for tells, known in NAMES.items():
        found = [names.index(name) for name in known if name in names]
        if found:
            places[tells] = found if tells == "workload" else found[:1]
    for tells, name in columns.items():
        if name not in header:
            others = f"the columns are {', '.join(header)}"
            raise StudyError(
                path, line, 1, f"no column '{name}', which the study names for {tells}",
                meant(name, header, others),
            )  # fmt: skip
        places[tells] = [header.index(name)]
        for other in places:  # a column that was given a meaning has no other, but a job's name
            if other != tells and other not in columns and (tells, other) != ("job", "workload"):
                places[other] = [at for at in places[other] if at != places[tells][0]]
    if "job" in columns and not places.get("workload"):
        places["workload"] = places["job"]
    places = {tells: own for tells, own in places.items() if own}
    if not any(size in places for size in SIZES):
        problem = f"no column tells the GPUs of a job; the columns are {', '.join(header)}"
        remedy = "have a column gpus (sacct: AllocTRES), or name it: columns: {gpus: NAME}"
        raise StudyError(path, line, 1, problem, remedy)
    return places


@dataclass(frozen=True)
class _Reader:
    """Rows of a table whose columns are known."""

    path: str
    header: Sequence[str]
    places: Mapping[str, list[int]]

    def job(self, line: int, cells: Sequence[str]) -> Iterator[LoggedJob]:
        """The job of a row; none for a step of one."""
        if len(cells) == len(self.header) + 1 and not cells[-1]:  # sacct --parsable
            cells = cells[:-1]
        if len(cells) != len(self.header):
            problem = f"{len(cells)} values where the header has {len(self.header)} columns"
            remedy = "write one value a column; sacct: leave out columns whose text holds |"
            raise StudyError(self.path, line, 1, problem, remedy)
        name = self._text(cells, "job")
        if _STEP.fullmatch(name):
            return
        gpus, kind = self._gpus(line, cells)
        hours = self._hours(line, cells)
        total = self._number(line, cells, "gpu_hours")
        batch = self._number(line, cells, "batch_per_gpu")
        whole = self._number(line, cells, "global_batch")
        if batch is None and whole is not None and gpus:
            batch = whole / gpus
        labels = [
            cells[at]
            for at in self.places.get("workload", ())
            if [at] != self.places.get("job") or _LETTER.search(cells[at])
        ]  # an ID names none
        yield LoggedJob(
            name=name or f"line {line}",
            labels=tuple(label for label in labels if label.lower() not in ABSENT),
            gpus=gpus,
            gpu_type=self._text(cells, "gpu_type") or kind,
            nodes=self._nodes(line, cells),
            hours=hours,
            gpu_hours=total if total is not None else None if hours is None else hours * gpus,
            batch=batch or None,
            architecture=self._text(cells, "class"),
            line=line,
            failed=failed(self._text(cells, "status")),
        )

    def _gpus(self, line: int, cells: Sequence[str]) -> tuple[float, str]:
        """GPUs of a job, and their type where the resources name it."""
        found = self._number(line, cells, "gpus")
        each = self._number(line, cells, "gpus_each")
        if found is None and each is not None:
            replicas = self._number(line, cells, "replicas")
            found = each * (1.0 if replicas is None else replicas)
        kind = ""
        if "tres" in self.places:
            told = _TRES.findall(self._text(cells, "tres"))
            kind = next((kind for kind, _ in told if kind), "")
            total = next((float(count) for kind, count in told if not kind), None)
            if total is None:
                total = sum(float(count) for _, count in told)
            found = total if found is None else found
        if found is not None and found > _MOST_GPUS:
            self._wrong(line, cells, "gpus", "is more than anybody has")
        return found or 0.0, kind

    def _nodes(self, line: int, cells: Sequence[str]) -> float | None:
        """Nodes of a job; None, or 0, where the log does not tell."""
        found = self._number(line, cells, "nodes")
        if found and found < 1:
            self._wrong(line, cells, "nodes", "is less than a node")
        return found

    def _hours(self, line: int, cells: Sequence[str]) -> float | None:
        hours = self._number(line, cells, "hours")
        if hours is None and "seconds" in self.places:
            seconds = self._seconds(line, cells)
            hours = None if seconds is None else seconds / 3600
        if hours is None and "start" in self.places and "end" in self.places:
            hours = hours_between(*(self._moment(line, cells, name) for name in ("start", "end")))
        if hours is not None and hours > LONGEST_JOB_HOURS:
            told = next(name for name in ("hours", "seconds", "end") if self._text(cells, name))
            self._wrong(line, cells, told, "makes the job longer than 20 years")
        return hours

    def _seconds(self, line: int, cells: Sequence[str]) -> float | None:
        text = self._text(cells, "seconds")
        if (match := _ELAPSED.fullmatch(text)) is None:
            return self._number(line, cells, "seconds")
        days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
        return ((days * 24 + hours) * 60 + minutes) * 60 + seconds

    def _moment(self, line: int, cells: Sequence[str], name: str) -> float | None:
        text = self._text(cells, name)
        if not text:
            return None
        found = moment(text)
        if found is None:
            remedy = "write for example 2026-09-30 17:36:00, or leave the cell empty"
            self._wrong(line, cells, name, "is neither a date nor seconds", remedy)
        return found

    def _text(self, cells: Sequence[str], name: str) -> str:
        own = self.places.get(name)
        text = cells[own[0]] if own else ""
        return "" if text.lower() in ABSENT else text

    def _number(self, line: int, cells: Sequence[str], name: str) -> float | None:
        """0 or more; None where the log does not tell."""
        text = self._text(cells, name)
        if not text:
            return None
        found = amount(text)
        if found is None:
            self._wrong(line, cells, name, "is not a number of 0 or more")
        return found

    def _wrong(
        self,
        line: int,
        cells: Sequence[str],
        name: str,
        how: str,
        remedy: str = "correct it, or leave the cell empty",
    ) -> NoReturn:
        at = next((own[0] for key in (name, *SIZES) if (own := self.places.get(key))), 0)
        problem = f"{self.header[at]}: '{cells[at][:60]}' {how}"
        raise StudyError(self.path, line, column(cells, at), problem, remedy)
