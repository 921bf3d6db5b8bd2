"""Constraints that a point meets by its best estimate, but not for sure."""

from __future__ import annotations

from collections.abc import Iterator

from dse.report.design_point import Bounds, Point
from dse.report.words import interval
from dse.study import QUANTITIES, Study


def crossed(study: Study, point: Point) -> Iterator[str]:
    """A sentence for every limit that lies inside of the point's interval."""
    for constraint in study.constraints:
        limit = constraint.limit
        if limit is None:
            continue
        bounds, phrase = _bounds(point, limit.name), QUANTITIES[limit.name].phrase
        if bounds and phrase and bounds[0] < limit.value < bounds[1]:
            yield (
                f"{constraint.text} is met by the best estimate, but not for sure: the "
                f"{phrase.title} is {interval(bounds, phrase.unit)} with 90 % confidence."
            )


def _bounds(point: Point, name: str) -> Bounds | None:
    found = point.interval
    if found is None:
        return None
    known = {"speedup": found.speedup, "step": found.step_s,
             "throughput": found.throughput_samples_per_s}  # fmt: skip
    return known.get(name, found.costs.get(name))
