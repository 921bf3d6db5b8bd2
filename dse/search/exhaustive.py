"""The exhaustive engine: every point of a finite space, streamed in boxes, exact front.

Memory stays flat at any size of the space: one box of arrays, and the front so far. Work is cut
by arithmetic: a unit is a number, and its boxes are made when they are searched.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from dse.search import feasibility, pareto
from dse.search.pareto import Front
from dse.search.problem import Problem
from dse.search.tally import Tally, total
from dse.study import Objective
from dse.study.space import Box, Space

BOX_POINTS = 1 << 17  # a megabyte per array; measured best, see benchmarks/speed.py
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
        tally = search_box(problem, box, front)
        if len(tally.front):
            front = pareto.merge([front, tally.front])
        tallies.append(tally)
    return total(tallies)


def search_box(problem: Problem, box: Box, rival: Front) -> Tally:
    """Evaluate one box: model, constraints, counts, and the points that may enter the front."""
    evaluation = problem.box(box)
    mask, rejected = np.ones((1,) * len(box.shape), dtype=bool), {}
    for reason, passed in feasibility.checks(evaluation, problem.study):
        failed = passed.size - int(np.count_nonzero(passed))
        if failed:
            rejected[reason] = failed * (box.size // passed.size)
            mask = mask & passed
    feasible = int(np.count_nonzero(mask)) * (box.size // mask.size)
    if not feasible:
        return Tally(box.size, 0, rejected, pareto.empty_front())
    gain, cost = (evaluation[o.name] for o in by_goal(problem.study.objectives))
    whole = np.broadcast_to(gain, box.shape)
    front = pareto.box_front(whole, cost, mask, box.first, rival)
    return Tally(box.size, feasible, rejected, front)


def by_goal(objectives: Sequence[Objective]) -> tuple[Objective, Objective]:
    """The maximised objective and the minimised one."""
    most = next(o for o in objectives if o.goal == "maximize")
    least = next(o for o in objectives if o.goal == "minimize")
    return most, least


def least_violating(problem: Problem, boxes: Iterable[Box]) -> int:
    """Index of the point that is nearest to feasible (see :func:`.feasibility.violation`)."""
    best, best_index = np.inf, 0
    for box in boxes:
        past = feasibility.violation(problem.box(box), problem.study)
        past = np.broadcast_to(past, box.shape)
        at = int(np.argmin(past))
        if past.flat[at] < best:
            best, best_index = float(past.flat[at]), box.first + at
    return best_index
