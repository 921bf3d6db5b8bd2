"""A user's jobs as columns -> a population, every value checked, the first bad one named."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dse.errors import StudyError
from dse.fleet.population import Group, Population
from dse.model.arrays import Array, Mask
from dse.model.pai import ARCHITECTURES, IN_ONE_SERVER, ONE_WORKER_ONE_GPU, Jobs
from dse.spelling import alternatives, meant

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
    """

    classes: Any
    numbers: Mapping[str, Array]
    names: tuple[str, ...]
    place: Place
    remark: str = ""


def check_header(path: str, header: list[str], line: int = 1) -> list[str]:
    """The columns that nobody reads. Raises for one that is missing, double or misspelt."""
    known = [name for name in header if name in KNOWN]
    for name in known:
        if known.count(name) > 1:
            raise StudyError(path, line, 1, f"column '{name}' is there twice", "keep one of them")
    missing = [name for name in (CLASS, *REQUIRED) if name not in known]
    extra = [name for name in header if name not in KNOWN]
    for name in extra:
        near = meant(name, [k for k in KNOWN if k not in known])
        if near:
            column = 1 + sum(len(part) + 1 for part in header[: header.index(name)])
            raise StudyError(path, line, column, f"unknown column '{name[:60]}'", near)
    if missing:
        remedy = f"a row is a job with {', '.join((CLASS, *REQUIRED))}"
        raise StudyError(path, line, 1, f"missing column '{missing[0]}'", remedy)
    return extra


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
    )
    names = tuple(found.names[row] for row in rows) if found.names else ()
    hours = taken.get("gpu_hours", taken["cnodes"])
    return Group(architecture, jobs, hours, taken.get("state_bytes", none), names)


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
            line, column, text = found.place(row, CLASS)
            remedy = meant(text, ARCHITECTURES, f"use {alternatives(ARCHITECTURES)}")
            problem = f"class: '{text[:60]}' is not known" if text else "class: empty"
            raise StudyError(str(path), line, column, problem, remedy)
        masks[name] = masks[name] | same if name in masks else same
        left &= ~same
    return {name: np.flatnonzero(masks[name]) for name in ARCHITECTURES if name in masks}


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
