"""Speedups of a fleet's jobs by other hardware, each job running as it does.

A speedup of many jobs can be summed up in three ways, which differ; all are given, by name:

- ``mean_of_ratios``: mean of ``T / T'`` over jobs, each counting once. It is the largest: jobs that
  gain much count as much as those that last.
- ``aggregate``: ``sum t / sum (t T'/T)``, t the hours a job runs: what one sees who runs all jobs
  one after another.
- ``gpu_hours``: the same with t the GPU-hours: how much more the fleet does. This is what money
  follows from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dse.fleet.breakdown import Priced
from dse.fleet.document import ALL, Speedup, UpgradeSpeedup
from dse.model.arrays import Array, ArrayLike
from dse.model.pai import RESOURCES, Hardware, step_times

FIELDS = {
    "gpu": "gpu_flops_per_s",
    "memory": "memory_bytes_per_s",
    "pcie": "pcie_bytes_per_s",
    "ethernet": "ethernet_bytes_per_s",
    "nvlink": "nvlink_bytes_per_s",
}


@dataclass(frozen=True)
class Upgrade:
    """Hardware of which some peaks are other than in the base.

    changes: resource -> new peak. labels: the same as written. price_per_gpu_usd: None where not
    told. fabric: of the catalogue, whose parts then have prices; empty for none.
    """

    name: str
    changes: Mapping[str, float]
    labels: Mapping[str, str]
    price_per_gpu_usd: float | None = None
    fabric: str = ""

    def applied(self, base: Hardware) -> Hardware:
        """The base with this upgrade."""
        peaks: dict[str, Any] = {FIELDS[name]: peak for name, peak in self.changes.items()}
        return replace(base, **peaks)


def sums(
    before_s: Array,
    after_s: Array,
    run_hours: Array,
    gpu_hours: Array,
    kept: ArrayLike = 1.0,
) -> Array:
    """Sums over jobs of one class, every array of shape (jobs,), for each kind of speedup: jobs,
    ratios, and run hours and GPU-hours, before and after, (6,).

    kept: the part of its cNodes that a job keeps. With ``1 / kept`` times the steps it does the
    same work, since the batch of a cNode stays: its GPU-hours change as its step does, its run time
    by ``1 / kept`` more.
    """
    gpu_left = after_s / before_s
    run_left = gpu_left / kept
    return np.array([
        len(gpu_left), (1 / run_left).sum(),
        run_hours.sum(), run_hours @ run_left, gpu_hours.sum(), gpu_hours @ gpu_left,
    ])  # fmt: skip


def speedup(found: Array) -> Speedup:
    """All three kinds, of such sums."""
    jobs, ratios, run, run_after, gpu, gpu_after = found.tolist()
    return Speedup(ratios / jobs, run / run_after, gpu / gpu_after)


def speedups(found: Sequence[Priced], hardware: Hardware, overlapped: bool) -> dict[str, Speedup]:
    """Class (and "all") -> speedup on ``hardware`` over what ``found`` was priced on."""
    own = {}
    for entry in found:
        group = entry.group
        after = step_times(group.architecture, group.jobs, hardware).total_s(overlapped)
        own[group.architecture] = sums(entry.total_s, after, group.run_hours, group.gpu_hours)
    if len(found) > 1:
        own[ALL] = np.sum(list(own.values()), axis=0)
    return {name: speedup(values) for name, values in own.items()}


def speedups_by_upgrade(
    found: Sequence[Priced], base: Hardware, upgrades: Sequence[Upgrade], overlapped: bool
) -> tuple[UpgradeSpeedup, ...]:
    """Every upgrade alone, on top of the base."""
    return tuple(
        UpgradeSpeedup(
            upgrade.name,
            dict(upgrade.labels),
            speedups(found, upgrade.applied(base), overlapped),
        )
        for upgrade in upgrades
    )


def sensitivity(
    found: Sequence[Priced], base: Hardware, overlapped: bool
) -> dict[str, dict[str, float]]:
    """Class (and "all") -> resource -> mean of ratios if that resource were twice as fast."""
    out: dict[str, dict[str, float]] = {}
    for resource, field in FIELDS.items():
        doubled: dict[str, Any] = {field: 2 * np.asarray(getattr(base, field))}
        twice = replace(base, **doubled)
        for name, ways in speedups(found, twice, overlapped).items():
            out.setdefault(name, {})[resource] = ways.mean_of_ratios
    return out


def most_sensitive(gains: Mapping[str, float]) -> str:
    """The resource that gains most when doubled; of equals the first of RESOURCES."""
    return max(RESOURCES, key=lambda name: gains[name])
