"""A user's own jobs from a CSV file, one row a job.

Columns, in any order: ``class`` (1w1g, 1wng, ps-worker, allreduce-local, allreduce-cluster, pearl),
``cnodes``, and of one cNode in one step ``flops``, ``memory_bytes``, ``input_bytes``,
``weight_bytes`` (dense weights exchanged). Optional: ``embedding_bytes`` (rows of embedding tables
exchanged besides), ``state_bytes`` (memory that a whole replica needs), ``gpu_hours``.
Lines above the header that begin with # are remarks; the first names the population.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dse.errors import StudyError
from dse.fleet.population import Group, Population
from dse.model.arrays import Array, Mask
from dse.model.pai import ARCHITECTURES, IN_ONE_SERVER, ONE_WORKER_ONE_GPU, Jobs
from dse.spelling import alternatives, meant
from dse.text_source import text_of
from dse.text_table import Table, text_table

CLASS, NAME = "class", "name"
REQUIRED = ("cnodes", "flops", "memory_bytes", "input_bytes", "weight_bytes")
OPTIONAL = ("embedding_bytes", "gpu_hours", "state_bytes")
KNOWN = (CLASS, *REQUIRED, *OPTIONAL)
MOST_CNODES = 1e6
MOST_NAMED = 1000  # jobs whose names are kept, to tell single jobs apart
# FLOPs, bytes and GPU-hours beyond these are mistakes, and their sums and ratios no numbers.
LEAST, MOST = 1e-3, 1e30
_WANTED = {
    "cnodes": f"a whole number from 1 to {MOST_CNODES:.0f}",
    "gpu_hours": f"a number from {LEAST:g} to {MOST:g}",
}


@dataclass(frozen=True)
class Work:
    """The work of jobs, not checked yet. classes: as written, of every job. numbers: by column,
    (jobs,).
    names: of the jobs, or empty. per_server: see :class:`~dse.model.pai.Jobs`, (jobs,); None where
    nobody told. wrong:
    the error about a job's column, see :meth:`~dse.text_table.Table.wrong`."""

    classes: Sequence[str]
    numbers: Mapping[str, Array]
    wrong: Callable[[int, str, str, str], StudyError]
    per_server: Array | None = None
    names: Sequence[str] = ()


def read_table(path: Path, gpus_per_server: float | None = None) -> Population:
    """Read a population. Raises :class:`~dse.errors.StudyError` with the place of what is wrong.

    gpus_per_server: the most cNodes of a job in one server, where that is known.
    """
    if not os.path.isfile(path):
        problem = "this is a directory" if os.path.isdir(path) else "no such file"
        raise StudyError(str(path), 0, 0, problem, "name a CSV file")
    table = text_table(str(path), read_text(path))
    _check_header(table)
    columns = [name for name in (*REQUIRED, *OPTIONAL) if name in table.header]
    work = Work(
        classes=table.cells(CLASS),
        numbers={name: _numbers(table, name) for name in columns},
        wrong=table.wrong,
        names=table.cells(NAME) if NAME in table.header else (),
    )
    if not work.classes:
        raise StudyError(str(path), 0, 0, "no job in it", "write one row a job")
    return Population(
        name=path.stem,
        title=table.title.rstrip(".") or path.name,
        path=str(path),
        groups=groups_of(work, gpus_per_server),
        base=None,
        hours_given="gpu_hours" in columns,
        state_given="state_bytes" in columns,
    )


def read_text(path: Path) -> str:
    """The text of a file. Raises :class:`~dse.errors.StudyError` where it is none, or empty."""
    try:
        text = text_of(str(path), path.read_bytes())
    except OSError as cause:
        problem = f"cannot be read: {cause.strerror}"
        raise StudyError(str(path), 0, 0, problem, "name a readable file") from None
    if not text.strip():
        raise StudyError(str(path), 0, 0, "the file is empty", "write a header and one row a job")
    return text


def is_table(path: Path) -> bool:
    """True where a CSV file has a column of such a table, so that no scheduler logged it."""
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        lines = (line for line in file if line.strip() and not line.startswith("#"))
        names = re.split(r"[|,;\t]", next(lines, "")[:100_000])
    return any(name.strip() in REQUIRED for name in names)


def _check_header(table: Table) -> None:
    """Raise for a column that is missing, double or misspelt; others are left unread."""
    header = list(table.header)
    known = [name for name in header if name in KNOWN]
    for name in known:
        if known.count(name) > 1:
            problem = f"column '{name}' is there twice"
            raise table.wrong(-1, name, problem, "keep one of them")
    for name in header:
        near = name not in KNOWN and meant(name, [k for k in KNOWN if k not in known])
        if near:
            raise table.wrong(-1, name, "unknown column {}", near)
    missing = [name for name in (CLASS, *REQUIRED) if name not in known]
    if missing:
        remedy = f"a row is a job with {', '.join((CLASS, *REQUIRED))}"
        raise table.wrong(-1, "", f"missing column '{missing[0]}'", remedy)


def _numbers(table: Table, column: str) -> Array:
    cells = table.cells(column)
    found = np.empty(len(cells))
    for row, cell in enumerate(cells):
        try:
            found[row] = float(cell)
        except ValueError:
            problem = "{} is not a number" if cell else "empty"
            remedy = "write a number such as 1.6e12"
            raise table.wrong(row, column, f"{column}: {problem}", remedy) from None
    return found


def groups_of(work: Work, gpus_per_server: float | None) -> tuple[Group, ...]:
    """The jobs of each class, in the order of ARCHITECTURES, every value checked.

    gpus_per_server: the most cNodes of a class that stays in one server; None checks none of that.
    GPU-hours that are not told are the cNodes, as if all jobs ran equally long.
    """
    marks = str.maketrans("/_ ", "---")  # PS/Worker and AllReduce-Local count as well
    named = {text: text.strip().lower().translate(marks) for text in dict.fromkeys(work.classes)}
    classes = np.array(
        [named[text] if named[text] in ARCHITECTURES else "" for text in work.classes], dtype=object
    )
    unknown = classes == ""
    if unknown.any():
        row = int(np.argmax(unknown))
        text = work.classes[row]
        remedy = meant(text, ARCHITECTURES, f"use {alternatives(ARCHITECTURES)}")
        problem = f"class: '{text[:60]}' is not known" if text else "class: empty"
        raise work.wrong(row, CLASS, problem, remedy)
    _check(work, classes, gpus_per_server)
    rows = {name: np.flatnonzero(classes == name) for name in ARCHITECTURES}
    return tuple(_group(name, at, work) for name, at in rows.items() if len(at))


def _group(architecture: str, rows: NDArray[np.intp], work: Work) -> Group:
    taken = {name: values[rows] for name, values in work.numbers.items()}
    none = np.zeros(len(rows))
    jobs = Jobs(
        **{name: taken[name] for name in REQUIRED},
        embedding_bytes=taken.get("embedding_bytes", none),
        per_server=np.inf if work.per_server is None else work.per_server[rows],
    )
    hours = taken.get("gpu_hours", taken["cnodes"])
    few = 0 < len(work.names) <= MOST_NAMED
    names = tuple(work.names[row] for row in rows) if few else ()
    return Group(architecture, jobs, hours, taken.get("state_bytes", none), names)


def _check(work: Work, classes: NDArray[np.object_], gpus_per_server: float | None) -> None:
    """Raise for the first job that has a value out of range."""
    numbers, cnodes = work.numbers, work.numbers["cnodes"]
    bad: list[tuple[int, str, str, str]] = []  # job, column, problem, remedy

    def note(wrong: Mask, column: str, problem: str, remedy: str) -> None:
        if wrong.any():
            bad.append((int(np.argmax(wrong)), column, problem, remedy))

    for name, values in numbers.items():
        within = (values >= LEAST) & (values <= MOST)  # of what is no number neither
        if name == "cnodes":
            within = (values >= 1) & (values <= MOST_CNODES) & (values == np.floor(values))
        if name not in _WANTED:
            within |= values == 0
        wanted = _WANTED.get(name, f"0, or a number from {LEAST:g} to {MOST:g}")
        note(~within, name, f"{name}: {{}} will not do", f"write {wanted}")
    note((classes == ONE_WORKER_ONE_GPU) & (cnodes > 1), "cnodes", "cnodes: {} of a 1w1g job",
         "write 1, or another class")  # fmt: skip
    for kind in IN_ONE_SERVER if gpus_per_server is not None else ():
        note((classes == kind) & (cnodes > (gpus_per_server or 0)), "cnodes",
             f"cnodes: {{}} of a job of class {kind}, which is in one server",
             f"write at most {gpus_per_server:g}, the gpus_per_server, or another class",
             )  # fmt: skip
    idle = numbers["flops"] + numbers["memory_bytes"] == 0
    note(idle, "flops", "the job computes nothing", "give flops or memory_bytes a value")
    if bad:
        row, name, problem, remedy = min(bad)
        raise work.wrong(row, name, problem, remedy)
