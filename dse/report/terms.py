"""What the report says of where a step's time goes: its terms by their names, by either model.

A step of the calibrated model is passes, optimizer, and what communication and input add to them;
one of the PAI paper's model (``model: pai``) is ``T_d``, ``T_c`` and ``T_w``.
"""

from __future__ import annotations

from dataclasses import dataclass

from dse.report.design_point import Point
from dse.report.document import RunDocument
from dse.report.style import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, YELLOW


@dataclass(frozen=True)
class Term:
    """One term: its key in a point, its name, its look in a bar."""

    key: str
    title: str
    color: str
    pattern: str


TERMS = (
    Term("forward_s", "Forward", SKY, ""),
    Term("backward_s", "Backward", BLUE, ""),
    Term("slowed_s", "Slowed by communication", PURPLE, "\\"),
    Term("waiting_s", "Waiting for the slowest", YELLOW, "."),
    Term("exposed_s", "Communication not hidden", ORANGE, "/"),
    Term("optimizer_s", "Optimizer", GREY, ""),
    Term("stalled_s", "Waiting for input", GREEN, "x"),
)
PAI_TERMS = (
    Term("data_s", "Data loading T_d", GREEN, "x"),
    Term("compute_s", "Computation T_c", BLUE, ""),
    Term("weights_s", "Weights T_w", ORANGE, "/"),
)
# Terms of a point's ``pai`` -> those they add up to.
_ADD_UP = {"data_s": "data_s", "flops_s": "compute_s", "memory_s": "compute_s",
           "update_s": "compute_s", "pcie_s": "weights_s", "ethernet_s": "weights_s",
           "nvlink_s": "weights_s"}  # fmt: skip


def terms(document: RunDocument) -> tuple[Term, ...]:
    """The terms of the document's model."""
    return PAI_TERMS if document.baseline.pai else TERMS


def seconds(point: Point) -> dict[str, float]:
    """How long each term of a point takes. Their sum is the step, unless all overlaps ideally."""
    if not point.pai:
        own = vars(point.terms)
        return {term.key: own[term.key] or 0.0 for term in TERMS}
    found = dict.fromkeys((term.key for term in PAI_TERMS), 0.0)
    for key, value in vars(point.pai.terms).items():
        found[_ADD_UP[key]] += value
    return found


def added(point: Point) -> dict[str, float]:
    """What each term adds to the step: of terms that overlap what is longer than all before it."""
    found = seconds(point)
    if not _ideal(point):
        return found
    longest = 0.0
    for key, whole in found.items():
        found[key] = max(0.0, whole - longest)
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
