"""What the report says of where a step's time goes: its terms by their names, by either model.

A step of the calibrated model is passes, optimizer, and what communication and input add to them;
one of the PAI paper's model (``model: pai``) is ``T_d``, ``T_c`` and ``T_w``.
"""

from __future__ import annotations

from dse.model.terms import TERMS, Term
from dse.report.design_point import Point
from dse.report.document import RunDocument


def terms(document: RunDocument) -> tuple[Term, ...]:
    """The terms of the document's model that some point of it spends time on."""
    points = (document.baseline, document.recommended, *document.front)
    found = [seconds(point) for point in points]
    return tuple(term for term in found[0] if any(of.get(term) for of in found))


def seconds(point: Point) -> dict[Term, float]:
    """How long each term of a bar takes. Their sum is the step, unless all overlaps ideally."""
    found: dict[Term, float] = {}
    for name, value in (point.pai or point).terms.items():
        term = TERMS[name].shown_as
        found[term] = found.get(term, 0.0) + (value or 0.0)
    return found


def added(point: Point) -> dict[Term, float]:
    """What each term adds to the step: of terms that overlap what is longer than all before it."""
    found = seconds(point)
    if not _ideal(point):
        return found
    longest = 0.0
    for term, whole in found.items():
        found[term] = max(0.0, whole - longest)
        longest = max(longest, whole)
    return found


def _ideal(point: Point) -> bool:
    """Whether the step is the longest of its terms, not their sum."""
    return point.pai is not None and point.pai.ideal


def note(document: RunDocument) -> str:
    """What to know of the terms under their chart and table; empty where they just add up."""
    if not any(map(_ideal, (document.baseline, *document.front))):
        return ""
    return (
        "Where all overlaps ideally a step is the longest of its terms: the bar shows what each "
        "adds to those before it, the table the whole of each."
    )
