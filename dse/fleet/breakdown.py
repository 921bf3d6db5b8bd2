"""Where the time of a fleet goes: shares of a step by component, per class, per job and per cNode.

Two ways to count, as in the PAI paper: at job level every job counts once, at cNode level every job
counts by what it holds of the fleet (its GPU-hours, or its cNodes where these are not told).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dse.fleet.document import ALL, Breakdown, CNodes, Level, Levels
from dse.fleet.population import Group, Population
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


def priced(population: Population, hardware: Hardware, overlapped: bool) -> list[Priced]:
    """Every class on ``hardware``."""
    out = []
    for group in population.groups:
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
    """What each job counts at a level."""
    return np.ones(group.size) if level == "job" else group.gpu_hours


def breakdown(found: Sequence[Priced]) -> tuple[Breakdown, ...]:
    """One entry a class and one for all: sizes, and by level mean shares and their distributions,
    in :data:`STEPS` steps.
    """
    jobs = sum(entry.group.size for entry in found)
    hours = sum(float(entry.group.gpu_hours.sum()) for entry in found)
    rows, sums = [], {level: _Sums() for level in LEVELS}
    for entry in found:
        own = {level: _Sums() for level in LEVELS}
        parts = shares(entry.times)
        for level in LEVELS:
            own[level].add(parts, weights(entry.group, level))
            sums[level].merge(own[level])
        rows.append(_row(entry.group.architecture, [entry.group], own, jobs, hours))
    if len(rows) > 1:
        rows.append(_row(ALL, [entry.group for entry in found], sums, jobs, hours))
    return tuple(rows)


def _row(
    name: str, groups: Sequence[Group], sums: Mapping[str, _Sums], jobs: int, hours: float
) -> Breakdown:
    cnodes = np.concatenate([group.cnodes for group in groups])
    own = sum(float(group.gpu_hours.sum()) for group in groups)
    return Breakdown(
        architecture=name,
        jobs=len(cnodes),
        job_share=len(cnodes) / jobs,
        resource_share=own / hours,
        cnodes=CNodes(float(cnodes.mean()), float(np.median(cnodes)), float(cnodes.max())),
        levels=Levels(sums["job"].result(), sums["cnode"].result()),
    )


class _Sums:
    """Weighted sums and histograms of shares, which add up over classes."""

    def __init__(self) -> None:
        self.weight = 0.0
        self.sums = dict.fromkeys(COMPONENTS, 0.0)
        self.bins = {name: np.zeros(STEPS + 1) for name in COMPONENTS}

    def add(self, parts: Mapping[str, Array], weight: Array) -> None:
        self.weight += float(weight.sum())
        for name, share in parts.items():
            self.sums[name] += float(share @ weight)
            # Rounding must not lift a share of exactly k / STEPS into the next bin.
            at = np.ceil(share * STEPS - 1e-9).astype(np.intp)
            self.bins[name] += np.bincount(at, weight, STEPS + 1)[: STEPS + 1]

    def merge(self, other: _Sums) -> None:
        self.weight += other.weight
        for name in COMPONENTS:
            self.sums[name] += other.sums[name]
            self.bins[name] = self.bins[name] + other.bins[name]

    def result(self) -> Level:
        cdf = {name: np.cumsum(counts) / self.weight for name, counts in self.bins.items()}
        return Level(
            mean={name: self.sums[name] / self.weight for name in COMPONENTS},
            cdf={name: tuple(round(float(v), 5) for v in values) for name, values in cdf.items()},
        )
