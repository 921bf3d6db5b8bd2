"""What no point of a box can beat: its objectives if communication took no time.

    T_step >= T_step without communication

holds in floating point too: communication enters by sums and maxima, which do not fall where one of
their terms rises, and rounding keeps the order. Throughput and speedup fall with the step, and no
cost does, so the objectives at that step bound those of the point. They need none of the terms of
the network, which are the dearest ones, and depend on fewer axes.
"""

from __future__ import annotations

from dse.pricing.evaluation import Evaluation
from dse.pricing.points import Points
from dse.pricing.problem import Problem
from dse.study import Study
from dse.study.quantities import QUANTITIES
from dse.study.space import Box

# Quantities that communication changes; all others are the same without it.
OF_THE_STEP = frozenset(name for name, row in QUANTITIES.items() if row.communication)

SCREENED_FROM = 1 << 18  # points; pricing all of a smaller box takes no longer than screening it


def ideal(points: Points) -> Evaluation:
    """The same points with communication that takes no time."""
    return Evaluation(points, points.without_communication())


def steps_decide(study: Study) -> list[str]:
    """The constraints that communication may decide, so that no bound can count who meets them."""
    return [
        constraint.text
        for constraint in study.constraints
        if constraint.expression and constraint.expression.names & OF_THE_STEP
    ]


def screens(problem: Problem, box: Box) -> bool:
    """Whether the bounds tell which points of a box are feasible, and it is large enough to pay."""
    if box.size < SCREENED_FROM:
        return False
    return not steps_decide(problem.study) and problem.placed(box).bounded()
