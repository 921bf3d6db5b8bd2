"""Jobs as schedulers log them: Slurm's sacct, CSV of Kubernetes or Volcano, and two public traces.

A table is read by the names of its columns, in any spelling of capitals, spaces and underscores
(:mod:`~dse.fleet.log_columns`), or by those that a study gives under ``columns``. Cells are parted
by ``|`` (``sacct --parsable2``), tabs, semicolons or commas. The traces of
:mod:`~dse.fleet.public_traces` have no header of that kind.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NoReturn

from dse.delimiter import delimiter_of
from dse.errors import StudyError
from dse.fleet.log_columns import NAMES, SIZES, Places, of_all_gpus, places_of
from dse.fleet.log_entry import (
    ABSENT,
    LoggedJob,
    amount,
    column,
    elapsed_s,
    failed,
    has_two_parts,
    hours_between,
    moment,
    plain,
    unit_of_dates,
    waited,
)
from dse.fleet.population import LONGEST_JOB_HOURS
from dse.fleet.public_traces import PAI, PHILLY, is_pai, pai_jobs, philly_jobs
from dse.spelling import enumerated
from dse.text_source import text_of

LOG_ENDINGS = (".txt", ".psv", ".tsv", ".json")  # beside .csv, which tables of jobs have too
TABLE = "table"
_MOST_GPUS = 1e6
# A step of a job of Slurm, 123.batch or 123.0; 123.pbs01 is a job of PBS.
_STEP = re.compile(
    r"(\d+(?:_(?:\d+|\[[^\]]*\]))?(?:\+\d+)?)\.(?:(batch|extern|interactive)|\d+(?:\+\d+)?)"
)
STEPS = "of steps, such as 101.batch, which are part of their jobs"
REMARKS = "that begin with # and are taken as remarks"
_REMARK = "#"
_MARKED_ID = re.compile(r"#\d+")  # #12, a job's; # before anything else takes its row out
_LETTER = re.compile(r"[^\W\d_]")
_TRES = re.compile(r"(?:gres/)?gpu(?::([\w.-]+?))?[=:](\d+)(?=,|$|\()")
_RUN = re.compile(r"duration|elapsed|wall|runtime|hours|minutes|seconds|^time$")  # of a column
_NO_RUN = re.compile(r"limit|request|cpu|wait|queue|pend")  # of one that tells no time of running
_NEAR_S = 60.0  # between a duration and what start and end of its job say

Row = tuple[int, list[str]]  # line of the file, cells


@dataclass(frozen=True)
class JobLog:
    """What was read. columns: what each column that was used tells, by the names in the file.
    durations: columns that were not used and look like how long jobs ran. no_jobs: what rows are
    that are no jobs -> how many. readings: how cells were read that could be read otherwise.
    """

    form: str
    jobs: tuple[LoggedJob, ...]
    columns: Mapping[str, str] = field(default_factory=dict)
    durations: tuple[str, ...] = ()
    no_jobs: Mapping[str, int] = field(default_factory=dict)
    readings: tuple[str, ...] = ()

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
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    top = next((at for at, (_, line) in enumerate(lines) if not line.startswith(_REMARK)), None)
    if top is None:
        raise StudyError(path, 0, 0, "only remarks", "give what the scheduler logged")
    first, line = lines[top]
    mark = delimiter_of(line, "|\t;,")
    if mark not in line and len(line.split()) > 3:
        problem = "only blanks between the columns"
        raise StudyError(path, first, 1, problem, "run sacct with --parsable2, or save as CSV")
    header = _cells(line, mark, path, first)
    every: list[Row] = []
    for number, line in lines[top + 1 :]:
        cells = _cells(line, mark, path, number)
        if len(cells) == len(header) + 1 and not cells[-1]:  # sacct --parsable
            cells = cells[:-1]
        every.append((number, cells))
    rows = _without_remarks(header, every)
    if is_pai(header):
        found = JobLog(PAI, tuple(pai_jobs([(first, header), *rows], path)))
    else:
        found = _read(path, header, places_of(header, columns, path, first), rows)
    no_jobs = Counter(found.no_jobs) + Counter({REMARKS: len(every) - len(rows)})
    return replace(found, no_jobs=dict(no_jobs))


def _without_remarks(header: Sequence[str], rows: Sequence[Row]) -> list[Row]:
    """The rows but those that begin with #, which is how people take rows out. One with a value for
    every column is no remark where its first cell is an ID such as #12, or where all begin so."""
    all_marked = all(cells[0].startswith(_REMARK) for _, cells in rows)

    def is_remark(cells: Sequence[str]) -> bool:
        if not cells[0].startswith(_REMARK):
            return False
        return len(cells) != len(header) or not (all_marked or _MARKED_ID.fullmatch(cells[0]))

    return [(line, cells) for line, cells in rows if not is_remark(cells)]


def _read(path: str, header: Sequence[str], places: Places, rows: Sequence[Row]) -> JobLog:
    """The jobs of a table whose columns are known."""
    for line, cells in rows:
        if len(cells) != len(header):
            problem = f"{len(cells)} values where the header has {len(header)} columns"
            remedy = "write one value a column; sacct: leave out columns whose text holds |"
            raise StudyError(path, line, 1, problem, remedy)
    read, replicas = of_all_gpus(places)
    steps, own = _without_steps(read, rows)
    reader = _Reader.of(path, header, read, own)
    readings = list(reader.readings(own))
    marked = [cells[0] for _, cells in own if cells[0].startswith(_REMARK)]
    if marked:
        begin = "1 row begins" if len(marked) == 1 else f"{len(marked):,} rows begin"
        count = "counts as a job" if len(marked) == 1 else "count as jobs"
        by_id = all(map(_MARKED_ID.fullmatch, marked))
        why = "by an ID such as #12" if by_id else "since no row begins otherwise"
        readings.append(f"{begin} with #, but {count}, {why}; delete what is not to count.")
    if replicas is not None and any((amount(cells[replicas]) or 0) > 1 for _, cells in own):
        size = header[read["gpus"][0]]
        readings.append(
            f"'{size}' is taken as all GPUs of a job, and '{header[replicas]}' is not read; where "
            f"it is the GPUs of one replica, name it in the study, columns: {{gpus_each: {size}}}."
        )
    return JobLog(
        TABLE,
        tuple(reader.job(line, cells) for line, cells in own),
        {tells: " or ".join(header[at] for at in own) for tells, own in read.items()},
        tuple(_durations(header, places, own)),
        {STEPS: steps},
        tuple(readings),
    )


def _without_steps(places: Places, rows: Sequence[Row]) -> tuple[int, list[Row]]:
    """How many rows are steps of jobs, and the others. One with a number is a step where the job
    has a row of its own: ``101.0`` alone may be an ID that a spreadsheet wrote as a number."""
    if "job" not in places:
        return 0, list(rows)
    (at,) = places["job"]
    names = {cells[at] for _, cells in rows}

    def is_step(name: str) -> bool:
        found = _STEP.fullmatch(name)
        return found is not None and (found[2] is not None or found[1] in names)

    own = [(line, cells) for line, cells in rows if not is_step(cells[at])]
    return len(rows) - len(own), own


def _durations(
    header: Sequence[str],
    places: Mapping[str, Sequence[int]],
    rows: Sequence[Row],
) -> Iterator[str]:
    """The columns that nobody reads and whose values look like how long jobs ran."""
    used = {at for own in places.values() for at in own}
    for at, name in enumerate(header):
        if at in used or _NO_RUN.search(plain(name)):
            continue
        cells = [cells[at] for _, cells in rows]
        told = [cell for cell in cells if cell.lower() not in ABSENT]
        clock = all(elapsed_s(cell) is not None for cell in told)
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


@dataclass(frozen=True)
class _Reader:
    """Rows of a table whose columns are known.

    starts: whether any row tells when its job started. units: of columns of moments that are not
    in seconds, their name and how many are a second. hours_first: whether durations of two parts
    are hours and minutes, None where start and end of no job tell.
    """

    path: str
    header: Sequence[str]
    places: Places
    starts: bool = False
    units: Mapping[str, tuple[str, float]] = field(default_factory=dict)
    hours_first: bool | None = None

    @classmethod
    def of(cls, path: str, header: Sequence[str], places: Places, rows: Sequence[Row]) -> _Reader:
        """The reader of these rows, which tell how their columns are meant."""
        every = [cells for _, cells in rows]
        units: dict[str, tuple[str, float]] = {
            name: unit for name in ("start", "end") if name in places
            and (unit := unit_of_dates(cells[places[name][0]] for cells in every))
        }  # fmt: skip
        reader = cls(path, header, places, units=units)
        starts = any(reader._text(cells, "start") for cells in every)
        return replace(reader, starts=starts, hours_first=reader._hours_first(every))

    def _hours_first(self, rows: Iterable[Sequence[str]]) -> bool | None:
        """Whether durations of two parts are hours and minutes by the start and end of more jobs
        than they are minutes and seconds."""
        agree = {True: 0, False: 0}
        for cells in rows:
            if not has_two_parts(told := self._text(cells, "seconds")):
                continue
            ran = hours_between(*(self._seconds_of(cells, name) for name in ("start", "end")))
            for hours_first in agree if ran is not None else ():
                apart = (elapsed_s(told, hours_first) or 0.0) - (ran or 0.0) * 3600
                agree[hours_first] += abs(apart) <= _NEAR_S
        return None if agree[True] == agree[False] else agree[True] > agree[False]

    def readings(self, rows: Sequence[Row]) -> Iterator[str]:
        """How cells are read that could be read otherwise, in sentences."""
        for unit in dict.fromkeys(unit for unit, _ in self.units.values()):
            own = [self._named(name) for name, (of, _) in self.units.items() if of == unit]
            yield f"{enumerated(own)} {'count' if len(own) > 1 else 'counts'} {unit} since 1970."
        hours = [text for _, cells in rows if has_two_parts(text := self._text(cells, "hours"))]
        if hours:
            yield _two_parts(hours, "hours:minutes", "since their column tells hours")
        short = [
            text for _, cells in rows
            if has_two_parts(text := self._text(cells, "seconds"))
            and not self._text(cells, "hours")
        ]  # fmt: skip
        if not short:
            return
        name = self.header[self.places["seconds"][0]]
        if self.hours_first is None:
            why = (
                "as Slurm writes them; where they are hours:minutes, name the column in the "
                f"study, columns: {{hours: {name}}}"
            )
        else:
            why = "as the start and end of their jobs say"
        yield _two_parts(short, "hours:minutes" if self.hours_first else "minutes:seconds", why)

    def _named(self, name: str) -> str:
        return f"'{self.header[self.places[name][0]]}'"

    def job(self, line: int, cells: Sequence[str]) -> LoggedJob:
        """The job of a row."""
        name = self._text(cells, "job")
        gpus, types = self._gpus(line, cells)
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
        status, kind = self._text(cells, "status"), self._text(cells, "gpu_type")
        return LoggedJob(
            name=name or f"line {line}",
            labels=tuple(label for label in labels if label.lower() not in ABSENT),
            gpus=gpus,
            gpu_types={kind: gpus} if kind else types,
            nodes=self._nodes(line, cells),
            hours=hours,
            gpu_hours=total if total is not None else None if hours is None else hours * gpus,
            batch=batch or None,
            architecture=self._text(cells, "class"),
            line=line,
            failed=failed(status),
            waited=waited(status, self._started(cells, hours, total)),
        )

    def _started(
        self, cells: Sequence[str], hours: float | None, total: float | None
    ) -> bool | None:
        """Whether a job started; None where its log tells it of none."""
        if self._text(cells, "start") or hours is not None or total is not None:
            return True
        return False if self.starts else None

    def _gpus(self, line: int, cells: Sequence[str]) -> tuple[float, Mapping[str, float]]:
        """GPUs of a job, and how many of each type where the resources name types."""
        found = self._number(line, cells, "gpus")
        each = self._number(line, cells, "gpus_each")
        if found is None and each is not None:
            replicas = self._number(line, cells, "replicas")
            found = each * (1.0 if replicas is None else replicas)
        types = dict[str, float]()
        if "tres" in self.places:
            told = _TRES.findall(self._text(cells, "tres"))
            for kind, count in told:
                if kind:
                    types[kind] = types.get(kind, 0.0) + float(count)
            total = next((float(count) for kind, count in told if not kind), None)
            if total is None:
                total = sum(float(count) for _, count in told)
            found = total if found is None else found
        if found is not None and found > _MOST_GPUS:
            self._wrong(line, cells, "gpus", "is more than anybody has")
        return found or 0.0, {kind: count for kind, count in types.items() if count}

    def _nodes(self, line: int, cells: Sequence[str]) -> float | None:
        """Nodes of a job; None, or 0, where the log does not tell."""
        found = self._number(line, cells, "nodes")
        if found and found < 1:
            self._wrong(line, cells, "nodes", "is less than a node")
        return found

    def _hours(self, line: int, cells: Sequence[str]) -> float | None:
        hours = elapsed_s(self._text(cells, "hours"), hours_first=True)
        hours = self._number(line, cells, "hours") if hours is None else hours / 3600
        if hours is None:
            seconds = elapsed_s(self._text(cells, "seconds"), hours_first=bool(self.hours_first))
            seconds = self._number(line, cells, "seconds") if seconds is None else seconds
            hours = None if seconds is None else seconds / 3600
        if hours is None and "start" in self.places and "end" in self.places:
            hours = hours_between(*(self._moment(line, cells, name) for name in ("start", "end")))
        if hours is not None and hours > LONGEST_JOB_HOURS:
            told = next(name for name in ("hours", "seconds", "end") if self._text(cells, name))
            self._wrong(line, cells, told, "makes the job longer than 20 years")
        return hours

    def _moment(self, line: int, cells: Sequence[str], name: str) -> float | None:
        found = self._seconds_of(cells, name)
        if found is None and self._text(cells, name):
            remedy = "write for example 2026-09-30 17:36:00, or leave the cell empty"
            self._wrong(line, cells, name, "is neither a date nor seconds", remedy)
        return found

    def _seconds_of(self, cells: Sequence[str], name: str) -> float | None:
        """The moment of a cell; None where it is empty, or none can be read."""
        found = moment(self._text(cells, name))
        _, per_second = self.units.get(name, ("", 1.0))
        return None if found is None else found / per_second

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


def _two_parts(texts: Sequence[str], how: str, why: str) -> str:
    number = f"{len(texts):,} duration{'s' * (len(texts) != 1)}"
    are = "are" if len(texts) != 1 else "is"
    return f"{number} such as {texts[0]} {are} read as {how}, {why}."
