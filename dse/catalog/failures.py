"""How often training stops, and what a stop costs, on published clusters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dse.catalog.facts import Fact
from dse.catalog.reader import Entry
from dse.catalog.scale import Spread
from dse.catalog.store import models_file

FILE = "failures.yaml"
# Terms that differ from cluster to cluster, as a study calls them -> their dimension.
TERMS = {
    "per_accelerator_month": "count",
    "per_job_day": "count",
    "recover": "seconds",
    "checkpoint": "seconds",
}


@dataclass(frozen=True)
class FailureTerms:
    """Parameters of :class:`dse.model.goodput.Failures`.

    terms: by the names of :data:`TERMS`. whole_job: accelerators from which on a job has all of
    ``per_job_day``; smaller ones have it in proportion. title: what they are from.
    """

    title: str
    terms: Mapping[str, Spread]
    whole_job: float
    facts: tuple[Fact, ...]


def failure_terms() -> FailureTerms:
    """Those of the catalogue."""
    return read_failure_terms(models_file(FILE))


@cache
def read_failure_terms(path: Path) -> FailureTerms:
    """The parameters in a file; a mistake in it raises :class:`~dse.errors.StudyError`."""
    entry = Entry.open(path)
    entry.text("name")
    title = entry.text("title")
    found = {name: Spread.read(entry, name, dimension) for name, dimension in TERMS.items()}
    whole_job = entry.positive("whole_job", "count")
    entry.finish()
    return FailureTerms(title, found, whole_job, tuple(entry.facts))
