"""Where hosts hold up a step: they decode images, and launch kernels."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dse import catalog
from dse.model.arrays import scalar
from dse.pricing.problem import Problem
from dse.report.words import duration
from dse.study import Value

Values = Mapping[str, Value | None]


def decoding(problem: Problem, values: Values) -> str | None:
    """What the hosts of a point decode where its step lasts as long, in words; else None."""
    points = problem.points_at(values)
    longest = scalar(points.decoding_s)
    step_s = scalar(points.step_time().step_s)  # NaN where it has no price
    if not longest or not longest >= step_s:
        return None
    machine, rate = catalog.node(str(values["node"])), problem.images_per_core_s(points.stack.name)
    assert machine.cores is not None
    assert rate is not None
    each = float(np.asarray(rate))
    return (
        f"the {machine.cores} CPU cores of {machine.title} decode {each:,.0f} images a second "
        f"each (stack {points.stack.name}), {machine.cores * each:,.0f} in all"
    )


def launching(problem: Problem, values: Values) -> str | None:
    """What a launch takes where launches decide how long both passes of a point take; else None."""
    if not problem.step_model.measurable:
        return None
    points = problem.points_at(values)
    if not np.any(points.host_decides):
        return None
    each = duration(float(np.asarray(points.stack.launch_s)))
    return f"{each} a row of work (stack {points.stack.name})"
