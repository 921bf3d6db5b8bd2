"""Where the host launches kernels more slowly than the accelerator runs them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dse.pricing.problem import Problem
from dse.report.words import duration
from dse.study import Value

Values = Mapping[str, Value | None]


def bound(problem: Problem, values: Values) -> str | None:
    """What a launch takes where launches decide how long both passes of a point take; else None."""
    if not problem.step_model.measurable:
        return None
    points = problem.points_at(values)
    if not np.any(points.host_decides):
        return None
    each = duration(float(np.asarray(points.stack.launch_s)))
    return f"{each} a row of work (stack {points.stack.name})"


def lines(problem: Problem, recommended: Values) -> list[str]:
    """A sentence where that is so of the recommended point or the baseline."""
    named = (
        ("the recommended point", recommended),
        ("the baseline", problem.study.baseline.values),
    )
    return [
        f"At {name} the host decides how long computing takes: it launches kernels in {said}, "
        "within a factor 2 (judged, unverified), more slowly than the accelerator runs them. A "
        "faster accelerator gains nothing there; larger batches and recorded launches (CUDA "
        "graphs) do."
        for name, values in named
        if (said := bound(problem, values))
    ]
