"""Populations of jobs: the numbers by which jobs are drawn, or a table of jobs, as facts.

What they mean, and whether they fit together, is told by :mod:`dse.fleet`, which draws the jobs.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dse.catalog.facts import Fact
from dse.catalog.reader import ANY, Entry
from dse.catalog.store import find, sources

_BYTES = "_bytes"  # a column that ends so holds bytes; all others plain numbers
_WORDS = ("name", "class")  # columns without numbers


@dataclass(frozen=True, eq=False)
class Population:
    """A population's facts, each with its place in the file; notes: what else the file says."""

    name: str
    title: str
    notes: str
    facts: tuple[Fact, ...]


def population(name: str) -> Population:
    """The population of that name. Raises :class:`~dse.catalog.store.UnknownName`."""
    return read_population(find("populations", name))


@cache
def read_population(path: Path) -> Population:
    """The population in a file; a mistake in it raises :class:`~dse.errors.StudyError`."""
    if path.suffix == ".csv":
        return _table(path)
    entry = Entry.open(path)
    title = entry.text("title", path.stem)
    _collect(entry, "title")
    return Population(path.stem, title, "", tuple(entry.facts))


def _collect(entry: Entry, besides: str = "") -> None:
    """Read every number below, whatever it is called; ``besides`` is none."""
    for label in entry.labels():
        if label == besides:
            continue
        inner = entry.section(label)
        if inner.has("value"):
            entry.number(label, ANY)
        else:
            _collect(inner)


def _table(path: Path) -> Population:
    """A table of jobs: remarks first, one of which may be ``# source: KEY; status: WORD``."""
    lines = path.read_text(encoding="utf-8").splitlines()
    remarks = [line[1:].strip() for line in lines if line.startswith("#")]
    rows = csv.DictReader(line for line in lines if not line.startswith("#"))
    said = next((line for line in remarks if line.startswith("source:")), "")
    about = dict(part.split(": ", 1) for part in said.split("; ") if ": " in part)
    title, *notes = [line for line in remarks if line != said] or [path.stem]
    facts = tuple(fact for row in rows for fact in _job(row, about, path))
    return Population(path.stem, title, " ".join(notes), facts)


def _job(row: dict[str, str], about: dict[str, str], path: Path) -> Iterator[Fact]:
    source = sources().get(about.get("source", ""))
    for column, text in row.items():
        if column in _WORDS:
            continue
        yield Fact(
            name=f"{row.get('name') or row['class']}.{column}",
            value=float(text),
            unit="B" if column.endswith(_BYTES) else "",
            text=text,
            source=source.key if source else path.name,
            accessed=source.accessed if source else "",
            detail=row["class"],
            status=about.get("status", "sourced"),
        )
