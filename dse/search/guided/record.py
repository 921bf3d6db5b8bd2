"""Blocks of priced points as JSON, for the log of a run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from dse.search import pareto
from dse.search.guided.archive import Block
from dse.search.guided.points import Points
from dse.search.tally import Tally


def block_record(block: Block, space: Points) -> dict[str, Any]:
    """Every point of the block with its numbers; floats survive unchanged, NaN is null."""
    return {
        "points": [space.codes(point) for point in block.points],
        "values": [[_finite(x) for x in row] for row in block.values],
        "violation": block.violation.tolist(),
        "excesses": block.excesses.tolist(),
        "rejected": dict(block.rejected),
    }


def block_from(record: Mapping[str, Any], space: Points) -> Block:
    """The inverse; raises KeyError, TypeError, ValueError or IndexError on nonsense."""
    points = [space.decoded(codes) for codes in record["points"]]
    values = np.array(
        [[math.nan if x is None else float(x) for x in row] for row in record["values"]]
    )
    violation = np.array([float(x) for x in record["violation"]])
    excesses = np.array([[float(x) for x in row] for row in record["excesses"]])
    if values.shape != (len(points), len(space.study.objectives)) or not (
        len(violation) == len(points) == len(excesses)
    ):
        raise ValueError("a block of points has numbers for others")
    rejected = {str(reason): int(count) for reason, count in record["rejected"].items()}
    return Block(points, values, violation, excesses, rejected)


def block_tally(block: Block) -> Tally:
    """The block as the log of any search counts it; its front is found again from its points."""
    feasible = int(np.count_nonzero(block.violation == 0))
    count = len(block.points)
    return Tally(count, feasible, block.rejected, pareto.empty_front(), count)


def _finite(number: float) -> float | None:
    return float(number) if math.isfinite(number) else None
