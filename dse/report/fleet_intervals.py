"""How sure a fleet's numbers are: sentences, and rows of the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dse.calibration.spread import NORMAL_90
from dse.fleet.intervals import (
    AFTER_MOVE,
    COMPUTING,
    FLEET,
    GAIN_PER_CNODE,
    GAIN_THROUGHPUT,
    GPU_HOURS,
    PORT,
    TIME,
    UPGRADE,
)
from dse.report.fleet_ranges import (
    NOTHING,
    probability,
    shares_text,
    times,
    times_text,
    usd_text,
    years_text,
)
from dse.report.fleet_words import CLASSES, COMPONENTS, WAYS, single
from dse.report.words import percent

if TYPE_CHECKING:
    from dse.fleet.document import Band, FleetDocument, MoneyBand

HEADS = ("Number", "Best estimate", "90 % interval", "By the jobs seen alone")
MONEY_HEADS = ("Upgrade or move", "Saves a year", "Net a year", "Paid back in", "Worth per GPU",
               "Saves more than it costs", "Leaves the most")  # fmt: skip
GAINS = {GAIN_PER_CNODE: "jobs that gain per cNode",
         GAIN_THROUGHPUT: "jobs that train more samples per second",
         FLEET: "speedup of the fleet by GPU-hours, if those move that gain per cNode"}  # fmt: skip


def rows(document: FleetDocument) -> list[list[str]]:
    """Every number of all jobs with its interval."""
    if document.intervals is None:
        return []
    return [_row(document, found) for found in document.intervals.numbers if _told(document, found)]


def _told(document: FleetDocument, found: Band) -> bool:
    """Whether a number is told apart: of one job, counted in one way only."""
    if found.kind == TIME and found.best == 0:
        return False
    return not single(document) or found.way in ("cnode", GPU_HOURS, GAIN_THROUGHPUT)


def _row(document: FleetDocument, found: Band) -> list[str]:
    jobs = (found.jobs_low, found.jobs_high)
    as_speedup = found.kind in (UPGRADE, AFTER_MOVE) or found.way == FLEET
    text, whole = (times_text, times) if as_speedup else (shares_text, percent)
    return [_name(document, found), whole(found.best), text(found.low, found.high), text(*jobs)]


def _name(document: FleetDocument, found: Band) -> str:
    if found.kind == UPGRADE:
        return f"Speedup from {found.of}" + ("" if single(document) else f", {WAYS[found.way]}")
    if found.kind == AFTER_MOVE:
        return f"Speedup from {found.of} after the move"
    if found.kind == PORT:
        return f"To {CLASSES[found.of]}: {GAINS[found.way]}"
    part = "computing, both kinds" if found.of == COMPUTING else COMPONENTS[found.of]
    if single(document):
        return f"Time: {part}"
    counted = "mean job" if found.way == "job" else f"by {document.population.counted_by}"
    return f"Time: {part}, {counted}"


def money_rows(document: FleetDocument) -> list[list[str]]:
    """What every upgrade and move is worth, in intervals."""
    found = document.intervals.money if document.intervals is not None else ()
    return [
        [_money_name(row),
         usd_text(row.saved_usd_per_year), usd_text(row.net_usd_per_year),
         years_text(row.payback_years), usd_text(row.worth_usd_per_gpu),
         *(NOTHING if share is None else probability(share) for share in (row.pays, row.leads))]
        for row in found
    ]  # fmt: skip


def _money_name(row: MoneyBand) -> str:
    names = {UPGRADE: row.name, AFTER_MOVE: f"{row.name} after the move"}
    return names[row.kind] if row.kind in names else f"To {CLASSES[row.name]}"


def notes(document: FleetDocument) -> list[str]:
    """What is and what is not in the intervals."""
    found = document.intervals
    if found is None:
        return []
    usual = document.hardware.efficiency
    least, most = (
        usual * np.exp(NORMAL_90 * sign * max(found.spreads.values())) for sign in (-1, 1)
    )
    said = [
        f"90 % intervals of {found.draws} simulated outcomes. In them are which jobs were "
        "seen, taken as a sample of those that the fleet runs, and the share of its peak that "
        f"each resource reaches: the model has {percent(usual)} for all, the outcomes give "
        "GPU, memory, PCIe, Ethernet and NVLink each its own, nine times in ten from "
        f"{percent(least)} to {percent(min(most, 1.0))}, the same for all jobs before and after a "
        "change. "
        "Catalogue prices of a GPU-hour and of a network's parts are drawn, too.",
        "Not in them: whether the model's form holds (no latency, no overlap beside what the "
        "study says), that shares differ from job to job, what the drawn population assumes of "
        "jobs, jobs that change, prices that the study gives, and how busy the GPUs are.",
    ]
    if found.few_jobs:
        said.append(
            "There are too few jobs to tell how much jobs differ, so the interval by jobs is too "
            "narrow."
        )
    return said
