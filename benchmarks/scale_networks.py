"""Bandwidth of large allreduces on a growing number of nodes, as published."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dse.model.arrays import Array

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


def read_networks() -> list[Shared]:
    """All of the table."""
    groups: dict[tuple[str, str], list[tuple[float, float]]] = {}
    with NETWORKS.open(newline="", encoding="utf-8") as file:
        for line in csv.DictReader(file):
            key = line["system"], line["megabytes"]
            groups.setdefault(key, []).append((float(line["nodes"]), float(line["bus_gb_per_s"])))
    return [Shared(system, *np.array(sorted(set(rows))).T) for (system, _), rows in groups.items()]
