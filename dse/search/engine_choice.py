"""Which engine searches a study, and why."""

from __future__ import annotations

from dse.errors import DseError
from dse.pricing.problem import Problem
from dse.search.estimate import estimate

EXHAUSTIVE_SECONDS = 120.0  # an exhaustive search that takes longer is run only on request


def choose_engine(problem: Problem, wanted: str) -> tuple[str, str]:
    """(engine, why)."""
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
