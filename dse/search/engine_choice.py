"""Which engine searches a study, and why: by how long an exhaustive search takes.

That is told from boxes of the study that are searched on this machine. A small space is not worth
the measuring: its time follows from the number of points.
"""

from __future__ import annotations

import resource
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from dse.errors import DseError
from dse.pricing.problem import Problem
from dse.search import bounds, cells, exhaustive, pareto
from dse.search.tally import Tally
from dse.study import AggregationName
from dse.study.space import Box, Slab

EXHAUSTIVE_SECONDS = 120.0  # an exhaustive search that takes longer is run only on request
# One core, `make bench`; only where nothing is measured.
SECONDS_PER_POINT = 1e-7
SECONDS_PER_LAYOUT = 1.5e-6  # of a point where transformers are laid out
SECONDS_PER_SLAB = 1e-3  # whatever its size: a combination of looped values
SECONDS_PER_TENSOR = 5e-8  # of a point, each time its tensors are followed one by one
MEASURED_FROM_POINTS = 1 << 22  # where a search takes longer than it takes to measure
MOST_OF_MIX = 20_000_000  # points, all of which are priced for every workload but one
SAMPLES = 8  # boxes, evenly spaced over the space
MEASURING_S = 1.0  # enough of it, even with fewer boxes
KIBIBYTE = 1024
STATUS = Path("/proc/self/status")  # of Linux


@dataclass(frozen=True)
class Estimate:
    """The time of an exhaustive search on one core. boxes: that were timed here; 0 if none was.

    bytes: the most memory that
    this process had then; None where nothing was timed.
    """

    points: int
    seconds: float
    boxes: int = 0
    bytes: int | None = None

    def __str__(self) -> str:
        """As the reason for an engine."""
        text = f"{self.points:,} points take about {_duration(self.seconds)} on one core"
        if self.bytes is None:
            return text
        return f"{text} and {self.bytes / 1e6:,.0f} MB (by {self.boxes} boxes timed here)"


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{max(seconds, 0.1):.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:,.0f} min" if seconds < 7200 else f"{seconds / 3600:,.0f} h"


def choose_engine(problem: Problem, wanted: str) -> tuple[str, str]:
    """(engine, why)."""
    if problem.study.mix:
        if wanted == "guided" or problem.space.size > MOST_OF_MIX:
            most = f"of at most {MOST_OF_MIX:,} points; drop engine guided, or give fewer values"
            raise DseError(f"a mix is searched exhaustively, {most}")
        return "exhaustive", f"a mix: {estimate(problem)}"
    if problem.points is None:
        if wanted == "exhaustive":
            raise DseError("engine exhaustive needs finite axes; use guided, or list the values")
        return "guided", "as requested" if wanted == "guided" else "an axis is continuous"
    if wanted == "guided":
        return "guided", "as requested"
    expected = estimate(problem)
    affordable = expected.seconds <= EXHAUSTIVE_SECONDS
    if wanted == "exhaustive":
        return "exhaustive", f"as requested: {expected}"
    more = "" if affordable else f", more than {EXHAUSTIVE_SECONDS:.0f} s"
    return "exhaustive" if affordable else "guided", f"{expected}{more}"


def estimate(problem: Problem) -> Estimate:
    """The time that a search takes of a space without continuous axes."""
    points = problem.space.size
    if points < MEASURED_FROM_POINTS:
        each = SECONDS_PER_LAYOUT if problem.study.laid_out else SECONDS_PER_POINT
        seconds = points * each + len(problem.space.slabs) * SECONDS_PER_SLAB
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
    return Estimate(whole, elapsed * whole / points, len(tallies), peak_bytes())


def peak_bytes(status: Path = STATUS) -> int:
    """The most memory that this process has had.

    ru_maxrss tells it where the system has no such file. On Linux that begins with what the process
    that started this one had.
    """
    with suppress(OSError):
        for line in status.read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * KIBIBYTE
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * KIBIBYTE


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
