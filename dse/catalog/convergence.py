"""Quality targets: how many samples a network is trained on to reach one, by the global batch."""

from __future__ import annotations

from dataclasses import dataclass

from dse.catalog.facts import Fact
from dse.catalog.reader import Entry, of_kind
from dse.catalog.store import names


@dataclass(frozen=True)
class QualityTarget:
    """A quality of one network, and the curve of :class:`dse.model.convergence.Convergence`.

    workload: the only one that it is about. quality, started_from: what is reached, and from where,
    in words. fitted: the least and the largest global batch that the curve is fitted to.
    least_samples_spread, critical_batch_spread: standard deviations of the logarithms of both
    parameters; correlation: of the two.
    """

    name: str
    title: str
    workload: str
    quality: str
    started_from: str
    least_samples: float
    critical_batch: float
    fitted: tuple[float, float]
    least_samples_spread: float
    critical_batch_spread: float
    correlation: float
    notes: str
    facts: tuple[Fact, ...]


def quality_targets() -> tuple[QualityTarget, ...]:
    """All of the catalogue."""
    return tuple(quality_target(name) for name in names("convergence"))


@of_kind("convergence", own_files=True)
def quality_target(entry: Entry) -> QualityTarget:
    """The target of that name, or in a file where a path is given."""
    workload = entry.name("workload")
    if workload is None:
        raise entry.wrong("workload is unknown", "name the workload that was trained", "workload")
    least, critical = (entry.positive(key, "count") for key in ("least_samples", "critical_batch"))
    if entry.known("batches", "count") <= 3:
        problem = "batches is 3 or less: a curve of two parameters goes through nearly all of them"
        raise entry.wrong(problem, "fit 4 or more", "batches")
    fitted = entry.positive("least_batch", "count"), entry.positive("largest_batch", "count")
    if fitted[0] >= fitted[1]:
        raise entry.wrong("largest_batch is not above least_batch", "swap them", "largest_batch")
    spreads = tuple(
        entry.known(key, "count") for key in ("least_samples_spread", "critical_batch_spread")
    )
    correlation = entry.known("correlation", "count")
    if abs(correlation) > 1:
        raise entry.wrong("correlation is not between -1 and 1", "write 0 if unsure", "correlation")
    return QualityTarget(
        name=entry.text("name"),
        title=entry.text("title"),
        workload=workload,
        quality=entry.text("quality"),
        started_from=entry.text("started_from"),
        least_samples=least,
        critical_batch=critical,
        fitted=fitted,
        least_samples_spread=spreads[0],
        critical_batch_spread=spreads[1],
        correlation=correlation,
        notes=entry.text("notes", ""),
        facts=tuple(entry.facts),
    )
