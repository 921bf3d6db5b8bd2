"""How long an exhaustive search takes, from boxes of the study that are searched on this machine.

A small space is not worth the measuring: its time follows from the number of points.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import islice

from dse.pricing.problem import Problem
from dse.search import bounds, cells, exhaustive, pareto
from dse.search.tally import Tally
from dse.study import AggregationName
from dse.study.space import Box, Slab

# One core, `make bench`; only where nothing is measured.
SECONDS_PER_POINT = 1e-7
SECONDS_PER_SLAB = 1e-3  # whatever its size: a combination of looped values
SECONDS_PER_TENSOR = 5e-8  # of a point, each time its tensors are followed one by one
MEASURED_FROM_POINTS = 1 << 22  # where a search takes longer than it takes to measure
SAMPLES = 8  # boxes, evenly spaced over the space
MEASURING_S = 1.0  # enough of it, even with fewer boxes


@dataclass(frozen=True)
class Estimate:
    """The time of an exhaustive search on one core. boxes: that were timed here; 0 if none was."""

    points: int
    seconds: float
    boxes: int = 0

    def __str__(self) -> str:
        """As the reason for an engine."""
        text = f"{self.points:,} points take about {_duration(self.seconds)} on one core"
        return f"{text} (by {self.boxes} boxes timed here)" if self.boxes else text


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{max(seconds, 0.1):.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:,.0f} min" if seconds < 7200 else f"{seconds / 3600:,.0f} h"


def estimate(problem: Problem) -> Estimate:
    """The time that a search takes of a space without continuous axes."""
    points = problem.space.size
    if points < MEASURED_FROM_POINTS:
        seconds = points * SECONDS_PER_POINT + len(problem.space.slabs) * SECONDS_PER_SLAB
        passes = sum(slab.size * _passes(problem, slab) for slab in problem.space.slabs)
        tensors = len(problem.tensors[0])
        return Estimate(points, seconds + passes * tensors * SECONDS_PER_TENSOR)
    found: Estimate = problem.remember(("estimate",), lambda: _measured(problem))
    return found


def _passes(problem: Problem, slab: Slab) -> int:
    """How often pricing follows the tensors of a step through one backward pass, one by one."""
    name = slab.fixed["aggregation"]
    assert isinstance(name, AggregationName)
    return problem.aggregation(name).model.tensor_passes


def _measured(problem: Problem) -> Estimate:
    """Search boxes here and there. Each knows the front of those before it, as in a whole search.

    The first one is searched twice: what is read and made once would count in every box.
    """
    sampled = list(_sampled(problem))
    front = exhaustive.search(problem, sampled[:1]).front
    tallies: list[Tally] = []
    begun = time.process_time()
    for box in sampled:
        tallies.append(exhaustive.search(problem, [box], front))
        front = pareto.merge([front, tallies[-1].front])
        elapsed = time.process_time() - begun
        if elapsed > MEASURING_S:
            break
    points = sum(tally.points for tally in tallies)
    whole = problem.space.size
    return Estimate(whole, elapsed * whole / points, len(tallies))


def _sampled(problem: Problem) -> list[Box]:
    """Boxes spread over the space, the middle first; small ones where every point is priced."""
    size = problem.space.size
    whole = bool(bounds.steps_decide(problem.study))
    largest = cells.PRICED_POINTS if whole else exhaustive.unit_points(problem.space)
    step = size // SAMPLES
    firsts = sorted(
        (step // 2 + k * step for k in range(SAMPLES)), key=lambda f: abs(f - size // 2)
    )
    return [box for first in firsts for box in islice(problem.space.boxes(largest, first), 1)]
