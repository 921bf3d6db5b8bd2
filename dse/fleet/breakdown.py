"""Where the time of a fleet goes: shares of a step by component, per class, per job and per cNode.

Two ways to count, as in the PAI paper: at job level every job counts once, at cNode level every job
counts by what it holds of the fleet (its GPU-hours, or its cNodes where these are not told).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dse.fleet.document import ALL, Breakdown, CNodes, Level, Levels
from dse.fleet.population import Group
from dse.fleet.recipe import COMPONENTS
from dse.model.arrays import Array
from dse.model.pai import Hardware, StepTimes, step_times

LEVELS = ("job", "cnode")
STEPS = 100  # of a cumulative distribution over shares from 0 to 1


@dataclass(frozen=True)
class Priced:
    """A class of jobs and the seconds of its steps on one hardware."""

    group: Group
    times: StepTimes
    total_s: Array


def priced(groups: Sequence[Group], hardware: Hardware, overlapped: bool) -> list[Priced]:
    """Every class on ``hardware``."""
    out = []
    for group in groups:
        times = step_times(group.architecture, group.jobs, hardware)
        out.append(Priced(group, times, times.total_s(overlapped)))
    return out


def shares(times: StepTimes) -> dict[str, Array]:
    """Each component over the sum of all, shape (jobs,); what overlaps counts in full."""
    whole = times.total_s()
    parts = (times.data_s, times.flops_s, times.memory_s, times.weights_s)
    return {
        name: np.broadcast_to(part / whole, whole.shape)
        for name, part in zip(COMPONENTS, parts, strict=True)
    }


def weights(group: Group, level: str) -> Array:
    """The weight of each job at a level."""
    return np.ones(group.size) if level == "job" else group.gpu_hours


def breakdown(found: Sequence[Priced]) -> tuple[Breakdown, ...]:
    """One entry a class and one for all: sizes, and by level mean shares and their distributions,
    in :data:`STEPS` steps.
    """
    groups = [entry.group for entry in found]
    counts = [_counts(entry) for entry in found]
    jobs = sum(group.size for group in groups)
    hours = sum(float(group.gpu_hours.sum()) for group in groups)
    own = list(zip([group.architecture for group in groups], ([one] for one in groups), counts,
                   strict=True))  # fmt: skip
    whole = [(ALL, groups, np.sum(counts, axis=0))] if len(groups) > 1 else []
    return tuple(_row(*parts, jobs, hours) for parts in (*own, *whole))


def _counts(entry: Priced) -> Array:
    """By level and component the weight of all jobs of a class, their weighted sum of shares, and
    the weight of those whose share is in each step, (levels, components, 3 + STEPS)."""
    out = np.zeros((len(LEVELS), len(COMPONENTS), 3 + STEPS))
    for level, rows in zip(LEVELS, out, strict=True):
        weight = weights(entry.group, level)
        for row, share in zip(rows, shares(entry.times).values(), strict=True):
            # Rounding must not lift a share of exactly k / STEPS into the next bin.
            at = np.ceil(share * STEPS - 1e-9).astype(np.intp)
            row[:2] = weight.sum(), share @ weight
            row[2:] = np.bincount(at, weight, STEPS + 1)[: STEPS + 1]
    return out


def _row(name: str, groups: Sequence[Group], counts: Array, jobs: int, hours: float) -> Breakdown:
    cnodes = np.concatenate([group.cnodes for group in groups])
    own = sum(float(group.gpu_hours.sum()) for group in groups)
    return Breakdown(
        architecture=name,
        jobs=len(cnodes),
        job_share=len(cnodes) / jobs,
        resource_share=own / hours,
        cnodes=CNodes(float(cnodes.mean()), float(np.median(cnodes)), float(cnodes.max())),
        levels=Levels(*map(_level, counts)),
    )


def _level(counts: Array) -> Level:
    """The shares of one level. counts: (components, 3 + STEPS)."""
    rows = dict(zip(COMPONENTS, counts, strict=True))
    cdf = {name: (np.cumsum(row[2:]) / row[0]).tolist() for name, row in rows.items()}
    return Level(
        mean={name: float(row[1] / row[0]) for name, row in rows.items()},
        cdf={name: tuple(round(value, 5) for value in values) for name, values in cdf.items()},
    )
