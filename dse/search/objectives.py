"""What a study wants of a point: which of its numbers, and which way is better."""

from __future__ import annotations

from collections.abc import Sequence

from dse.study import Objective


def by_goal(objectives: Sequence[Objective]) -> tuple[Objective, Objective]:
    """The maximised objective and the minimised one."""
    most = next(o for o in objectives if o.goal == "maximize")
    least = next(o for o in objectives if o.goal == "minimize")
    return most, least
