"""Bandwidth of large allreduces on a growing number of nodes, as published."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dse.model.arrays import Array

JUDGED, FITTED = "all_reduce", ("all_gather", "reduce_scatter")
QUANTILE = 1.645  # of a standard normal, at either end of a 90 % interval
NETWORKS = Path(__file__).parent / "data" / "scale_networks.csv"


@dataclass(frozen=True)
class Shared:
    """Bandwidth of an allreduce of one size on one network, by rising number of nodes: (nodes,)."""

    system: str
    nodes: Array
    bytes_per_s: Array

    @property
    def lost(self) -> Array:
        """Logarithm of what is left of that of the fewest nodes, (nodes - 1,)."""
        return np.asarray(np.log(self.bytes_per_s[1:] / self.bytes_per_s[0]))

    @property
    def doublings(self) -> Array:
        """Logarithm of the nodes over the fewest, (nodes - 1,)."""
        return np.asarray(np.log(self.nodes[1:] / self.nodes[0]))

    @property
    def exponent(self) -> float:
        """The power law that fits best."""
        return float(-np.sum(self.lost * self.doublings) / np.sum(self.doublings**2))


def read_networks(
    collectives: Sequence[str] = (JUDGED,), column: str = "bus_gb_per_s"
) -> list[Shared]:
    """Those of some collectives, a network for each and for each size."""
    groups: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
    with NETWORKS.open(newline="", encoding="utf-8") as file:
        lines = [line for line in csv.DictReader(file) if line["collective"] in collectives]
    for line in lines:
        key = line["system"], line["collective"], line["megabytes"]
        groups.setdefault(key, []).append((float(line["nodes"]), float(line[column])))
    return [Shared(of[0], *np.array(sorted(set(rows))).T) for of, rows in groups.items()]


def fitted_cloud() -> tuple[float, float]:
    """What tenants of a cloud lose, by a power of the nodes, and the deviation of its logarithm.

    From all-gathers and reduce-scatters of one cluster: the power by the medians of its runs, the
    deviation by that of the fastest twentieth. Its allreduces are left to be judged.
    """
    medians, fast = (read_networks(FITTED, column) for column in ("bus_gb_per_s", "p95"))
    of_fast = [
        replace(one, bytes_per_s=np.append(of.bytes_per_s[:1], one.bytes_per_s[1:])).exponent
        for of, one in zip(medians, fast, strict=True)
    ]
    power = float(np.mean([of.exponent for of in medians]))
    return power, float(np.log(power / np.mean(of_fast)) / QUANTILE)
