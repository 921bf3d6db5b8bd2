"""How often training stops, and what a stop costs, on published clusters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dse.catalog.facts import Fact
from dse.catalog.reader import Entry, of_catalogue
from dse.catalog.scale import Spread

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


@of_catalogue("failures.yaml")
def failure_terms(entry: Entry) -> FailureTerms:
    """Those of the catalogue."""
    entry.text("name")
    title = entry.text("title")
    found = {name: Spread.read(entry, name, dimension) for name, dimension in TERMS.items()}
    whole_job = entry.positive("whole_job", "count")
    return FailureTerms(title, found, whole_job, tuple(entry.facts))
