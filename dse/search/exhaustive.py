"""The exhaustive engine: every point of a finite space, streamed in boxes, exact front.

Memory stays flat at any size of the space: one box of arrays, and the front so far. Work is cut
by arithmetic: a unit is a number, and its boxes are made when they are searched.
"""

from __future__ import annotations

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
CHUNK_POINTS = 1 << 21  # points per unit of work that is logged, resumed and sent to a worker


def units(space: Space) -> int:
    """Number of units of work in a space."""
    return -(-space.size // CHUNK_POINTS)


def unit_boxes(space: Space, unit: int) -> Iterator[Box]:
    """Boxes of a unit, which has CHUNK_POINTS points, give or take a box.

    They begin in the unit's index range and the last may end beyond it, so a unit may be empty.
    """
    first = unit * CHUNK_POINTS
    return space.boxes(BOX_POINTS, first, first + CHUNK_POINTS)


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
    if bounds.screens(problem, box):
        yield screening.screened_box(problem, box, rival)
        return
    for piece in box.pieces(cells.PRICED_POINTS):
        yield screening.whole_box(problem, piece, rival)


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
