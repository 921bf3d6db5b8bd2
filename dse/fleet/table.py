"""A user's own jobs from a CSV or Parquet file, one row a job.

Columns, in any order: ``class`` (1w1g, 1wng, ps-worker, allreduce-local, allreduce-cluster, pearl),
``cnodes``, and of one cNode in one step ``flops``, ``memory_bytes``, ``input_bytes``,
``weight_bytes`` (dense weights exchanged). Optional: ``embedding_bytes`` (rows of embedding tables
exchanged besides), ``state_bytes`` (memory that a whole replica needs), ``gpu_hours``, ``name``.
Lines above the header that begin with # are remarks; the first names the population.
"""

from __future__ import annotations

import csv
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dse.errors import DseError, StudyError
from dse.fleet.columns import CLASS, MOST_NAMED, NAME, NUMBERS, Columns, check_header, population
from dse.fleet.population import Population

ENDINGS = (".csv", ".parquet", ".pq")
_CLASS_BYTES = 24  # longer than every class; what is longer is none
_NAME_BYTES = 64
_SAVE = "save it as UTF-8 text with commas between the columns"


def read_table(path: Path, gpus_per_server: float | None = None) -> Population:
    """Read a population. Raises :class:`~dse.errors.StudyError` with the place of what is wrong.

    gpus_per_server: the most cNodes of a job in one server, where that is known.
    """
    if not path.is_file():
        problem = "this is a directory" if path.is_dir() else "no such file"
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
    start, header = _header(path)
    check_header(str(path), header, start)
    kinds = {CLASS: f"S{_CLASS_BYTES}", **dict.fromkeys(NUMBERS, "f8")}

    def load(dtype: Any, at: int | None = None) -> Any:
        with path.open(encoding="utf-8-sig", newline="") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numpy's word on a file without rows
            return np.loadtxt(
                file, dtype=dtype, delimiter=",", skiprows=start, comments=None, quotechar='"',
                usecols=at, ndmin=1,
            )  # fmt: skip

    try:  # all columns, also those that nobody reads: a row with more of them is refused
        rows = load([(f"{at}", kinds.get(column, "S1")) for at, column in enumerate(header)])
    except ValueError:
        raise _unreadable(path, header, start) from None
    names: tuple[str, ...] = ()
    if NAME in header and len(rows) <= MOST_NAMED:
        names = tuple(map(str, load(f"U{_NAME_BYTES}", header.index(NAME))))
    columns = {
        column: np.ascontiguousarray(rows[f"{at}"])
        for at, column in enumerate(header)
        if column in kinds
    }

    def place(row: int, column: str) -> tuple[int, int, str]:
        for at, (line, cells) in enumerate(_lines(path, start)):
            if at == row:
                return line, *_cell(cells, header.index(column))
        raise AssertionError("a row that was read is there")

    return Columns(columns.pop(CLASS), columns, names, place, _remark(path))


def _header(path: Path) -> tuple[int, list[str]]:
    """(lines up to and with the header, its columns). Before it, # begins a remark."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        for number, line in enumerate(file, 1):
            if not line.strip() or line.startswith("#"):
                continue
            cells = [cell.strip() for cell in next(csv.reader([line]))]
            if len(cells) == 1 and any(mark in line for mark in ";\t|"):
                raise StudyError(str(path), number, 1, "no comma in the header", _SAVE)
            return number, cells
    raise StudyError(str(path), 0, 0, "the file is empty", "write a header and one row a job")


def _remark(path: Path) -> str:
    with path.open(encoding="utf-8-sig") as file:
        first = file.readline(400)
    return " ".join(first[1:].split()) if first.startswith("#") else ""


def _lines(path: Path, start: int) -> Iterator[tuple[int, list[str]]]:
    """(line number, its cells as written) of every row, blank lines left out."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        for number, line in enumerate(file, 1):
            if number > start and line.strip():
                yield number, next(csv.reader([line.rstrip("\r\n")]))


def _cell(cells: list[str], index: int) -> tuple[int, str]:
    """(character from 1 at which it stands, text) of a cell."""
    return 1 + sum(len(cell) + 1 for cell in cells[:index]), cells[index].strip()


def _unreadable(path: Path, header: list[str], start: int) -> StudyError:
    """The first row that numpy could not read, found cell by cell."""
    for line, cells in _lines(path, start):
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
