"""One word for how sure an answer is.

``measured``: communication was measured on such hardware (or there is none), and the 90 % interval
of the training rate spans no more than a factor of MEASURED. ``near``: no more than one doubling
beyond what was measured, and a factor of NEAR. Else ``estimated``. Both factors are judgements.
"""

from __future__ import annotations

from dse.report.certainty.facts import Word
from dse.report.design_point import Point

MEASURED, NEAR = 1.5, 3.0  # upper over lower end of a 90 % interval
_INSIDE, _BESIDE = frozenset({"inside", "silent"}), frozenset({"inside", "silent", "near"})


def verdict(point: Point) -> tuple[Word, str]:
    """The word for a point, and why it is that one."""
    bounds = point.interval.throughput_samples_per_s if point.interval else None
    wide = bounds[1] / bounds[0] if bounds and bounds[0] > 0 else float("inf")
    spans = f"the 90 % interval of its training rate spans a factor of {wide:.2g}"
    if point.evidence in _INSIDE and wide <= MEASURED:
        return "measured", f"its communication was measured, and {spans}"
    if point.evidence in _BESIDE and wide <= NEAR:
        lies = "was measured" if point.evidence in _INSIDE else "lies just beyond what was measured"
        return "near", f"its communication {lies}, and {spans}"
    if point.evidence in _BESIDE:
        return "estimated", spans
    return "estimated", f"its communication was not measured on such hardware, and {spans}"
