"""The exhaustive engine: every point of a finite space, streamed in boxes, exact front.

Memory stays flat at any size of the space: one box of arrays, and the front so far. Work is cut
by arithmetic: a unit is a number, and its boxes are made when they are searched.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np

from dse.pricing import constraints
from dse.pricing.evaluation import Evaluation
from dse.pricing.problem import Problem
from dse.search import bounds, cells, pareto, screening
from dse.search.pareto import Front
from dse.search.tally import Tally, total
from dse.study.space import Box, Space

BOX_POINTS = 1 << 21  # counted and screened in one go
CHUNK_POINTS = 1 << 21  # least points of a unit of work that is logged, resumed, sent to a worker
MOST_UNITS = 1 << 10  # of a larger space units are larger, and so are their boxes

GOLDEN = (math.sqrt(5) - 1) / 2


def unit_points(space: Space) -> int:
    """Points of a unit of work: CHUNK_POINTS, doubled until there are at most MOST_UNITS."""
    points = CHUNK_POINTS
    while points * MOST_UNITS < space.size:
        points *= 2
    return points


def units(space: Space) -> int:
    """Number of units of work in a space."""
    return -(-space.size // unit_points(space))


def scattered(space: Space) -> Iterator[int]:
    """All units, neighbours far apart: the first few hold something of everything.

    The front that they leave is nearly the whole space's, and rules out most of what follows. Steps
    of the golden ratio do that at any number of units.
    """
    whole = units(space)
    step = round(whole * GOLDEN)
    while math.gcd(step, whole) > 1:
        step += 1
    return (at * step % whole for at in range(whole))


def unit_boxes(space: Space, unit: int) -> Iterator[Box]:
    """Boxes of a unit, which has :func:`unit_points`, give or take a box.

    They begin in the unit's index range and the last may end beyond it, so a unit may be empty.
    """
    points = unit_points(space)
    first = unit * points
    return space.boxes(points // CHUNK_POINTS * BOX_POINTS, first, first + points)


def search(problem: Problem, boxes: Iterable[Box], rival: Front | None = None) -> Tally:
    """Evaluate boxes; ``rival`` is a front already known, whose losers need not be kept."""
    front = rival if rival is not None else pareto.empty_front()
    tallies = []
    for box in boxes:
        for tally in _tallies(problem, box, front):
            if len(tally.front):
                front = pareto.merge([front, tally.front])
            tallies.append(tally)
    return total(tallies)


def _tallies(problem: Problem, box: Box, rival: Front) -> Iterator[Tally]:
    if not bounds.screens(problem, box):
        for piece in box.pieces(cells.PRICED_POINTS):
            yield screening.whole_box(problem, piece, rival)
        return
    for grid in cells.grids(problem, box, BOX_POINTS):
        tally = screening.screened_box(problem, grid, rival)
        if len(tally.front):
            rival = pareto.merge([rival, tally.front])
        yield tally


def least_violating(problem: Problem, boxes: Iterable[Box]) -> int:
    """Index of the point that is nearest to feasible (see :func:`.feasibility.violation`)."""
    best, best_index = np.inf, 0
    for box in boxes:
        for piece, evaluation in judged(problem, box):
            past = np.broadcast_to(constraints.violation(evaluation, problem.study), piece.shape)
            at = int(np.argmin(past))
            if past.flat[at] < best:
                best, best_index = float(past.flat[at]), piece.first + at
    return best_index


def judged(problem: Problem, box: Box) -> Iterator[tuple[Box, Evaluation]]:
    """Pieces of a box, with evaluations that tell who meets the constraints: without communication
    where that does not matter."""
    if bounds.screens(problem, box):
        yield box, bounds.ideal(problem.placed(box))
        return
    for piece in box.pieces(cells.PRICED_POINTS):
        yield piece, problem.box(piece)
