"""A user's own jobs from a CSV or Parquet file, one row a job.

Columns, in any order: ``class`` (1w1g, 1wng, ps-worker, allreduce-local, allreduce-cluster, pearl),
``cnodes``, and of one cNode in one step ``flops``, ``memory_bytes``, ``input_bytes``,
``weight_bytes`` (dense weights exchanged). Optional: ``embedding_bytes`` (rows of embedding tables
exchanged besides), ``state_bytes`` (memory that a whole replica needs), ``gpu_hours``, ``name``.
Lines above the header that begin with # are remarks; the first names the population.
"""

from __future__ import annotations

import csv
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dse.delimiter import delimiter_of
from dse.errors import DseError, StudyError
from dse.fleet.population import Group, Population
from dse.model.arrays import Array, Mask
from dse.model.pai import ARCHITECTURES, IN_ONE_SERVER, ONE_WORKER_ONE_GPU, Jobs
from dse.spelling import alternatives, meant

ENDINGS = (".csv", ".parquet", ".pq")
_CLASS_BYTES = 24  # longer than every class; what is longer is none
_NAME_BYTES = 64
_SAVE = "save it as UTF-8 text with commas, semicolons or tabs between the columns"
CLASS, NAME = "class", "name"
REQUIRED = ("cnodes", "flops", "memory_bytes", "input_bytes", "weight_bytes")
OPTIONAL = ("embedding_bytes", "gpu_hours", "state_bytes")
NUMBERS = (*REQUIRED, *OPTIONAL)
KNOWN = (CLASS, NAME, *NUMBERS)
MOST_CNODES = 1e6
# FLOPs, bytes and GPU-hours beyond these are mistakes, and their sums and ratios no numbers.
LEAST, MOST = 1e-3, 1e30
MOST_NAMED = 1000  # jobs whose names are kept, to tell single jobs apart
_MOST_SPELLINGS = 60  # of classes: a column with more holds something else
# column -> what else a value must be, in words
_WANTED = {
    "cnodes": f"a whole number from 1 to {MOST_CNODES:.0f}",
    "gpu_hours": f"a number from {LEAST:g} to {MOST:g}",
}

Place = Callable[[int, str], tuple[int, int, str]]  # (row, column) -> line, character, text


@dataclass(frozen=True)
class Columns:
    """What a file holds: ``classes`` of shape (jobs,), numbers by name likewise, names or none.

    place: where the value of a row (from 0) and a column stands, line and character from 1 (0
    where the file has none), and its text. remark: what the file says of itself, or empty.
    assumed: see :class:`~dse.fleet.population.Group`. per_server: see
    :class:`~dse.model.pai.Jobs`; None where nobody told.
    """

    classes: Any
    numbers: Mapping[str, Array]
    names: tuple[str, ...]
    place: Place
    remark: str = ""
    assumed: Mask | None = None
    per_server: Array | None = None


def read_table(path: Path, gpus_per_server: float | None = None) -> Population:
    """Read a population. Raises :class:`~dse.errors.StudyError` with the place of what is wrong.

    gpus_per_server: the most cNodes of a job in one server, where that is known.
    """
    if not os.path.isfile(path):
        problem = "this is a directory" if os.path.isdir(path) else "no such file"
        raise StudyError(str(path), 0, 0, problem, "name a CSV or Parquet file")
    read = read_csv if path.suffix == ".csv" else read_parquet
    return population(path, read(path), gpus_per_server)


def read_csv(path: Path) -> Columns:
    """The columns of a CSV file with a header. Blank lines are passed over."""
    name = str(path)
    try:
        return _read_csv(path)
    except UnicodeDecodeError:
        raise StudyError(name, 0, 0, "not UTF-8 text", _SAVE) from None
    except OSError as cause:
        problem = f"cannot be read: {cause.strerror}"
        raise StudyError(name, 0, 0, problem, "name a readable file") from None


def _read_csv(path: Path) -> Columns:
    start, header, mark = _header(path)
    check_header(str(path), header, start)
    kinds = {CLASS: f"S{_CLASS_BYTES}", **dict.fromkeys(NUMBERS, "f8")}

    def load(dtype: Any, at: int | None = None) -> Any:
        with path.open(encoding="utf-8-sig", newline="") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numpy's word on a file without rows
            return np.loadtxt(
                file, dtype=dtype, delimiter=mark, skiprows=start, comments=None, quotechar='"',
                usecols=at, ndmin=1,
            )  # fmt: skip

    try:  # all columns, also those that nobody reads: a row with more of them is refused
        rows = load([(f"{at}", kinds.get(column, "S1")) for at, column in enumerate(header)])
    except ValueError:
        raise _unreadable(path, header, start, mark) from None
    names: tuple[str, ...] = ()
    if NAME in header and len(rows) <= MOST_NAMED:
        names = tuple(map(str, load(f"U{_NAME_BYTES}", header.index(NAME))))
    columns = {
        column: np.ascontiguousarray(rows[f"{at}"])
        for at, column in enumerate(header)
        if column in kinds
    }

    def place(row: int, column: str) -> tuple[int, int, str]:
        for at, (line, cells) in enumerate(_lines(path, start, mark)):
            if at == row:
                return line, *_cell(cells, header.index(column))
        raise AssertionError("a row that was read is there")

    return Columns(columns.pop(CLASS), columns, names, place, _remark(path))


def _header(path: Path) -> tuple[int, list[str], str]:
    """(lines up to and with the header, its columns, what parts them). Before it, # begins a
    remark."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        for number, line in enumerate(file, 1):
            if not line.strip() or line.startswith("#"):
                continue
            mark = delimiter_of(line)
            return number, [cell.strip() for cell in _cells(path, number, line, mark)], mark
    raise StudyError(str(path), 0, 0, "the file is empty", "write a header and one row a job")


def _remark(path: Path) -> str:
    with path.open(encoding="utf-8-sig") as file:
        first = file.readline(400)
    return " ".join(first[1:].split()) if first.startswith("#") else ""


def _lines(path: Path, start: int, mark: str) -> Iterator[tuple[int, list[str]]]:
    """(line number, its cells as written) of every row, blank lines left out."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        for number, line in enumerate(file, 1):
            if number > start and line.strip():
                yield number, _cells(path, number, line.rstrip("\r\n"), mark)


def _cells(path: Path, number: int, line: str, mark: str) -> list[str]:
    """The cells of a line."""
    try:
        return next(csv.reader([line], delimiter=mark), [])
    except csv.Error as cause:
        raise StudyError(str(path), number, 1, f"not CSV: {cause}", _SAVE) from None


def _cell(cells: list[str], index: int) -> tuple[int, str]:
    """(character from 1 at which it stands, text) of a cell."""
    return 1 + sum(len(cell) + 1 for cell in cells[:index]), cells[index].strip()


def _unreadable(path: Path, header: list[str], start: int, mark: str) -> StudyError:
    """The first row that numpy could not read, found cell by cell."""
    for line, cells in _lines(path, start, mark):
        if len(cells) != len(header):
            problem = f"{len(cells)} values where the header has {len(header)} columns"
            return StudyError(str(path), line, 1, problem, "write one value a column")
        for index, column in enumerate(header):
            if column not in NUMBERS:
                continue
            place, text = _cell(cells, index)
            if not _is_number(text):
                problem = f"{column}: '{text[:60]}' is not a number" if text else f"{column}: empty"
                return StudyError(str(path), line, place, problem, "write a number such as 1.6e12")
    return StudyError(str(path), 0, 0, "cannot be read as CSV", _SAVE)


def _is_number(text: str) -> bool:
    """As numpy reads it: Python also takes 1_000 and the digits of other scripts."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text and text.isascii()


def read_parquet(path: Path) -> Columns:
    """The columns of a Parquet file; needs pyarrow."""
    try:
        from pyarrow import ArrowException
        from pyarrow import parquet as reader
    except ImportError:
        raise DseError(
            f"{path}: reading Parquet needs pyarrow; pip install 'cluster-dse[parquet]', or save "
            "the jobs as CSV"
        ) from None
    name = str(path)
    try:
        header = list(reader.read_schema(path).names)
        check_header(name, header, 0)
        wanted = [column for column in header if column in (CLASS, NAME, *NUMBERS)]
        table = reader.read_table(path, columns=wanted)
    except (ArrowException, OSError) as cause:
        problem = f"cannot be read as Parquet: {str(cause).splitlines()[0][:100]}"
        raise StudyError(name, 0, 0, problem, "save it anew, or as CSV") from None
    numbers = {column: _floats(name, column, table) for column in wanted if column in NUMBERS}
    labels = np.array(table[CLASS].to_pylist(), dtype=object)
    names: tuple[str, ...] = ()
    if NAME in wanted and len(labels) <= MOST_NAMED:
        names = tuple(map(str, table[NAME].to_pylist()))

    def place(row: int, column: str) -> tuple[int, int, str]:
        value = table[column][row].as_py()
        return row + 1, header.index(column) + 1, "" if value is None else str(value)

    return Columns(labels, numbers, names, place)


def _floats(name: str, column: str, table: Any) -> Any:
    try:
        return np.asarray(table[column].to_numpy(), dtype=np.float64)
    except (ValueError, TypeError):
        problem = f"column {column} holds no numbers"
        raise StudyError(name, 0, 0, problem, "write it as float64") from None


def check_header(path: str, header: list[str], line: int = 1) -> None:
    """Raise for a column that is missing, double or misspelt; others are left unread."""
    known = [name for name in header if name in KNOWN]
    for name in known:
        if known.count(name) > 1:
            raise StudyError(path, line, 1, f"column '{name}' is there twice", "keep one of them")
    if not any(name in REQUIRED for name in known):  # then it may be what a scheduler logged
        problem = f"no column tells the GPUs of a job; the columns are {', '.join(header)[:200]}"
        remedy = "name it in the study, columns: {gpus: NAME}; a table of jobs has"
        raise StudyError(path, line, 1, problem, f"{remedy} {', '.join((CLASS, *REQUIRED))}")
    missing = [name for name in (CLASS, *REQUIRED) if name not in known]
    for name in header:
        if name in KNOWN:
            continue
        near = meant(name, [k for k in KNOWN if k not in known])
        if near:
            column = 1 + sum(len(part) + 1 for part in header[: header.index(name)])
            raise StudyError(path, line, column, f"unknown column '{name[:60]}'", near)
    if missing:
        remedy = f"a row is a job with {', '.join((CLASS, *REQUIRED))}"
        raise StudyError(path, line, 1, f"missing column '{missing[0]}'", remedy)


def population(path: Path, found: Columns, gpus_per_server: float | None = None) -> Population:
    """Check every value and part the jobs by class.

    gpus_per_server: the most cNodes of a class that stays in one server; None checks none of that.
    GPU-hours that the file does not tell are the cNodes, as if all jobs ran equally long.
    """
    if len(found.classes) == 0:
        raise StudyError(str(path), 0, 0, "no job in it", "write one row a job")
    rows = _by_class(path, found)
    _check(path, found, rows, gpus_per_server)
    groups = tuple(_group(name, at, found) for name, at in rows.items())
    return Population(
        name=path.stem,
        title=found.remark.rstrip(".") or path.name,
        path=str(path),
        groups=groups,
        base=None,
        hours_given="gpu_hours" in found.numbers,
        state_given="state_bytes" in found.numbers,
    )


def _group(architecture: str, rows: Any, found: Columns) -> Group:
    taken = {name: values[rows] for name, values in found.numbers.items()}
    none = np.zeros(len(rows))
    jobs = Jobs(
        **{name: taken[name] for name in REQUIRED},
        embedding_bytes=taken.get("embedding_bytes", none),
        per_server=np.inf if found.per_server is None else found.per_server[rows],
    )
    names = tuple(found.names[row] for row in rows) if found.names else ()
    hours = taken.get("gpu_hours", taken["cnodes"])
    assumed = None if found.assumed is None else found.assumed[rows]
    return Group(architecture, jobs, hours, taken.get("state_bytes", none), names, assumed)


def _by_class(path: Path, found: Columns) -> dict[str, Any]:
    """Rows of each class, in the order of ARCHITECTURES."""
    left: Mask = np.ones(len(found.classes), dtype=bool)
    masks: dict[str, Mask] = {}
    spellings = 0
    while left.any():
        row = int(np.argmax(left))
        same = found.classes == found.classes[row]
        name = architecture_named(found.classes[row])
        spellings += 1
        if name is None or spellings > _MOST_SPELLINGS:
            raise unknown_class(path, *found.place(row, CLASS))
        masks[name] = masks[name] | same if name in masks else same
        left &= ~same
    return {name: np.flatnonzero(masks[name]) for name in ARCHITECTURES if name in masks}


def unknown_class(path: Path, line: int, column: int, text: str) -> StudyError:
    """What to raise for a class of no architecture."""
    remedy = meant(text, ARCHITECTURES, f"use {alternatives(ARCHITECTURES)}")
    problem = f"class: '{text[:60]}' is not known" if text else "class: empty"
    return StudyError(str(path), line, column, problem, remedy)


def architecture_named(text: str | bytes) -> str | None:
    """The architecture of this name; PS/Worker and AllReduce-Local count as well."""
    written = text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)
    plain = written.strip().lower().translate(str.maketrans("/_ ", "---"))
    return plain if plain in ARCHITECTURES else None


def _check(
    path: Path, found: Columns, rows: Mapping[str, Any], gpus_per_server: float | None
) -> None:
    """Raise for the first row (in the order of the file) that has a value out of range."""
    numbers = found.numbers
    bad: list[tuple[int, str, str, str]] = []  # row, column, problem with {} for the text, remedy

    def note(wrong: Mask, column: str, problem: str, remedy: str, at: Any = None) -> None:
        if wrong.any():
            first = int(np.argmax(wrong))
            bad.append((first if at is None else int(at[first]), column, problem, remedy))

    for name, values in numbers.items():
        if name == "cnodes":
            within = (values >= 1) & (values <= MOST_CNODES) & (values == np.floor(values))
        else:
            within = (values >= LEAST) & (values <= MOST)
        if name not in _WANTED:
            within |= values == 0
        wrong = ~within  # also of what is no number
        wanted = _WANTED.get(name, f"0, or a number from {LEAST:g} to {MOST:g}")
        note(wrong, name, f"{name}: {{}} will not do", f"write {wanted}")
    own = rows.get(ONE_WORKER_ONE_GPU, np.empty(0, dtype=np.intp))
    note(numbers["cnodes"][own] > 1, "cnodes", "cnodes: {} of a 1w1g job",
         "write 1, or another class", own)  # fmt: skip
    for kind in IN_ONE_SERVER if gpus_per_server is not None else ():
        own = rows.get(kind, np.empty(0, dtype=np.intp))
        note(numbers["cnodes"][own] > gpus_per_server, "cnodes",
             f"cnodes: {{}} of a job of class {kind}, which is in one server",
             f"write at most {gpus_per_server:g}, the gpus_per_server, or another class",
             own)  # fmt: skip
    idle = numbers["flops"] + numbers["memory_bytes"] == 0
    note(idle, "flops", "the job computes nothing", "give flops or memory_bytes a value")
    if bad:
        row, name, problem, remedy = min(bad)
        line, column, text = found.place(row, name)
        shown = problem.format(f"'{text[:60]}'") if text else f"{name}: empty"
        raise StudyError(str(path), line, column, shown, remedy)
