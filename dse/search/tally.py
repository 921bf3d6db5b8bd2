"""What is known after evaluating some points: counts, reasons for rejection, and their front."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from dse.search import pareto
from dse.search.pareto import Front

_COLUMNS = tuple(field.name for field in fields(Front))


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
            "front": {
                **{name: getattr(self.front, name).tolist() for name in _COLUMNS[:-1]},
                "indices": [one.tolist() for one in self.front.indices],
            },
        }


def from_record(record: Mapping[str, Any]) -> Tally:
    """The inverse of :meth:`Tally.record`; raises KeyError, TypeError or ValueError on nonsense."""
    *values, ties, indices = (record["front"][name] for name in _COLUMNS)
    gain, cost, other = (np.array(column, dtype=np.float64) for column in values)
    front = Front(
        gain,
        cost,
        other,
        np.array(ties, dtype=np.int64),
        tuple(np.array(one, dtype=np.int64) for one in indices),
    )
    rejected = {str(k): int(v) for k, v in record["rejected"].items()}
    return Tally(
        int(record["points"]), int(record["feasible"]), rejected, front, int(record["priced"])
    )


def total(tallies: Iterable[Tally]) -> Tally:
    """The tally of all points of several disjoint sets, in any order."""
    every, rejected = list(tallies), Counter[str]()
    for tally in every:
        rejected.update(tally.rejected)
    points, feasible, priced = (
        sum(getattr(tally, name) for tally in every) for name in ("points", "feasible", "priced")
    )
    front = pareto.merge([tally.front for tally in every])
    return Tally(points, feasible, dict(rejected), front, priced)
