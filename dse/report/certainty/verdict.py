"""One word for how sure an answer is.

``measured``: communication was measured on such hardware (or there is none), such computing was
timed (COMPUTING says by whom), and the 90 % intervals of the training rate, and of the time of a
run where the study has a target, span no more than a factor of MEASURED. ``near``: communication no
more than one doubling beyond what was measured, some computing like it was timed, and a factor of
NEAR. Else ``estimated``. Both factors are judgements.
"""

from __future__ import annotations

from dse.pricing.anchors import ALIKE, NOBODY, OWN, PUBLISHED
from dse.pricing.computing import GIVEN
from dse.report.certainty.facts import Word
from dse.report.design_point import Bounds, Point

MEASURED, NEAR = 1.5, 3.0  # upper over lower end of a 90 % interval
_INSIDE, _BESIDE = frozenset({"inside", "silent"}), frozenset({"inside", "silent", "near"})
# What stands behind the time of computing; an older version does not say.
COMPUTING = {
    OWN: "its computing was timed by you",
    PUBLISHED: "others published training of this network and on this accelerator",
    ALIKE: "only computing like it was timed",
    NOBODY: "nobody timed computing like it",
    GIVEN: "its computing is a share of peak that was not timed",
    "": "",
}
_TIMED, _LIKE = frozenset({OWN, PUBLISHED, ""}), frozenset({OWN, PUBLISHED, ALIKE, ""})


def verdict(point: Point) -> tuple[Word, str]:
    """The word for a point, and why it is that one."""
    rate = point.interval.throughput_samples_per_s if point.interval else None
    time = point.interval.costs.get("time_to_target") if point.interval else None
    wide, lasts = _factor(rate), _factor(time) if time else 0.0
    of = "the time of its run" if lasts > wide else "its training rate"
    wide = max(wide, lasts)
    computed = COMPUTING.get(point.computing, "")
    spans = f"the 90 % interval of {of} spans a factor of {wide:.2g}"
    spans = f"{computed}, and {spans}" if computed else f"and {spans}"
    if point.evidence in _INSIDE and point.computing in _TIMED and wide <= MEASURED:
        return "measured", f"its communication was measured, {spans}"
    lies = "was not measured on such hardware"
    if point.evidence in _BESIDE:
        lies = "was measured" if point.evidence in _INSIDE else "lies just beyond what was measured"
    if point.evidence in _BESIDE and point.computing in _LIKE and wide <= NEAR:
        return "near", f"its communication {lies}, {spans}"
    return "estimated", f"its communication {lies}, {spans}"


def _factor(bounds: Bounds | None) -> float:
    """From the lower end of an interval to the upper; infinite where there is none."""
    return bounds[1] / bounds[0] if bounds and bounds[0] > 0 else float("inf")
