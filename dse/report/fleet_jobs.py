"""What each job of a fleet would gain, by both models: rows of the page, and ``jobs.csv``."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from dse.report.fleet_models import worthwhile
from dse.report.fleet_ranges import NOTHING, times
from dse.report.fleet_words import CLASSES, best_upgrade
from dse.report.words import count, significant

if TYPE_CHECKING:
    from dse.fleet.document import FleetDocument, NamedJob

CSV = "jobs.csv"
MOST_LISTED = 60  # jobs
MOST_UPGRADES = 3  # that have a column


def listed(document: FleetDocument) -> list[NamedJob]:
    """The jobs that the page lists one by one: those that hold most of the fleet, the most
    first."""
    return sorted(document.named, key=lambda job: -(job.gpu_hours or 0.0))[:MOST_LISTED]


def left_out(document: FleetDocument) -> str:
    """How many jobs are listed of how many, as a sentence; empty where all are."""
    if len(document.named) <= MOST_LISTED:
        return ""
    held = document.population.counted_by
    jobs = count(len(document.named))
    return f"The {MOST_LISTED} of {jobs} jobs that hold most {held}; all are in {CSV}."


def heads(document: FleetDocument) -> list[str]:
    """Of the table of gains; empty where there is none."""
    if not _gains(document):
        return []
    ports = [f"As {CLASSES[row.target]}" for row in document.ports]
    held = [] if _by_cnodes(document) else [document.population.counted_by]
    return ["Job", "Class", "cNodes", *held, *_upgrades(document), *ports]


def rows(document: FleetDocument) -> list[list[str]]:
    """What each listed job gains, in their order."""
    if not _gains(document):
        return []
    upgrades = _upgrades(document)
    return [
        [job.name, CLASSES[job.architecture], count(job.cnodes),
         *([] if _by_cnodes(document) else [significant(job.gpu_hours or 0.0)]),
         *(f"{times(job.speedups[name])} / {times(job.own_speedups[name])}" for name in upgrades),
         *(times(job.moves[row.target]) if row.target in job.moves else NOTHING
           for row in document.ports)]
        for job in listed(document)
    ]  # fmt: skip


def table(document: FleetDocument) -> str:
    """Every job that has a name, with all that it gains, as CSV; empty where none has."""
    if not _gains(document):
        return ""
    upgrades, ports = (
        [row.name for row in document.upgrades],
        [row.target for row in document.ports],
    )
    by_cnodes = _by_cnodes(document)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([
        "name", "class", "cnodes", *([] if by_cnodes else ["gpu_hours"]), "step_s", "input_s",
        "compute_bound_s", "memory_bound_s", "weights_s", "own_step_s", "own_exposed_s",
        *(f"speedup: {name}" for name in upgrades),
        *(f"own speedup: {name}" for name in upgrades),
        *(f"throughput: {name}" for name in ports),
    ])  # fmt: skip
    for job in document.named:
        own = job.own_model
        writer.writerow([
            job.name, job.architecture, f"{job.cnodes:g}", *([] if by_cnodes else [job.gpu_hours]),
            job.step_s, job.data_s, job.flops_s, job.memory_s, job.weights_s, own.step_s,
            own.exposed_s, *(job.speedups[name] for name in upgrades),
            *(job.own_speedups[name] for name in upgrades),
            *(job.moves.get(name, "") for name in ports),
        ])  # fmt: skip
    return out.getvalue()


def _by_cnodes(document: FleetDocument) -> bool:
    return document.population.counted_by == "cNodes"


def _gains(document: FleetDocument) -> bool:
    """Whether it is told what jobs gain; not in documents of before."""
    return any(job.speedups or job.moves for job in document.named)


def _upgrades(document: FleetDocument) -> list[str]:
    """The upgrades with a column: what pays, or gains most, before the others."""
    names = [row.name for row in document.upgrades]
    pays, best = worthwhile(document), best_upgrade(document)
    first = [row.name for row in (pays, best) if row is not None]
    return list(dict.fromkeys([*first, *names]))[:MOST_UPGRADES]
