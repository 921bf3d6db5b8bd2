"""What a study wants of a point: which of its numbers, and which way is better."""

from __future__ import annotations

from collections.abc import Sequence

from dse.study import Objective


def by_goal(objectives: Sequence[Objective]) -> tuple[Objective, ...]:
    """The maximised objective, then the minimised ones (one or two) in the study's order."""
    most = [o for o in objectives if o.goal == "maximize"]
    least = [o for o in objectives if o.goal == "minimize"]
    return (*most, *least)
