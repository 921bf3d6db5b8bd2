"""What is known after evaluating some points: counts, reasons for rejection, and their front."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dse.search import pareto
from dse.search.pareto import Front


@dataclass(frozen=True)
class Tally:
    """points: evaluated. feasible: meeting every constraint. rejected: reason -> points it rejects
    (a point may be rejected by several). front: of the feasible points; may lack points that the
    front known elsewhere dominates. priced: points whose step was computed; those that cannot enter
    the front whatever their communication takes are only counted.
    """

    points: int
    feasible: int
    rejected: Mapping[str, int]
    front: Front
    priced: int

    def record(self) -> dict[str, Any]:
        """As JSON; floats survive unchanged."""
        return {
            "points": self.points,
            "feasible": self.feasible,
            "priced": self.priced,
            "rejected": dict(self.rejected),
            "front": [
                [float(gain), float(cost), float(other), int(ties), [int(at) for at in indices]]
                for gain, cost, other, ties, indices in zip(
                    self.front.gain,
                    self.front.cost,
                    self.front.other,
                    self.front.ties,
                    self.front.indices,
                    strict=True,
                )
            ],
        }


def from_record(record: Mapping[str, Any]) -> Tally:
    """The inverse of :meth:`Tally.record`; raises KeyError, TypeError or ValueError on nonsense."""
    rows = record["front"]
    front = Front(
        np.array([row[0] for row in rows], dtype=np.float64),
        np.array([row[1] for row in rows], dtype=np.float64),
        np.array([row[2] for row in rows], dtype=np.float64),
        np.array([row[3] for row in rows], dtype=np.int64),
        tuple(np.array(row[4], dtype=np.int64) for row in rows),
    )
    rejected = {str(k): int(v) for k, v in record["rejected"].items()}
    return Tally(
        int(record["points"]), int(record["feasible"]), rejected, front, int(record["priced"])
    )


def total(tallies: Iterable[Tally]) -> Tally:
    """The tally of all points of several disjoint sets, in any order."""
    points = feasible = priced = 0
    rejected: dict[str, int] = {}
    fronts: list[Front] = []
    for tally in tallies:
        points += tally.points
        feasible += tally.feasible
        priced += tally.priced
        for reason, count in tally.rejected.items():
            rejected[reason] = rejected.get(reason, 0) + count
        fronts.append(tally.front)
    return Tally(points, feasible, rejected, pareto.merge(fronts), priced)
