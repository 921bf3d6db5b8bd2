"""Where a step waits for images that hosts decode."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dse import catalog
from dse.pricing.problem import Problem
from dse.study import Value

Values = Mapping[str, Value | None]


def bound(problem: Problem, values: Values) -> str | None:
    """What the hosts of a point decode where its step lasts as long, in words; else None."""
    points = problem.points_at(values)
    longest = float(np.ravel(points.decoding_s)[0])
    step_s = float(np.ravel(points.step_time().step_s)[0])  # NaN where it has no price
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


def lines(problem: Problem, recommended: Values) -> list[str]:
    """A sentence where the recommended point or the baseline waits for images."""
    named = (
        ("The recommended point", recommended),
        ("The baseline", problem.study.baseline.values),
    )
    found = [(name, said) for name, values in named if (said := bound(problem, values))]
    if len({said for _, said in found}) == 1 < len(found):
        found = [("Recommended point and baseline alike", found[0][1])]
    return [
        f"{name} {'wait' if name.endswith('alike') else 'waits'} for images: {said} (unverified). "
        "Accelerators that decode (DALI) lift this limit, and input: synthetic leaves it out."
        for name, said in found
    ]
