"""What the report says of where a step's time goes: its terms by their names, by either model.

A step of the calibrated model is passes, optimizer, and what communication and input add to them;
one of the PAI paper's model (``model: pai``) is ``T_d``, ``T_c`` and ``T_w``.
"""

from __future__ import annotations

from dataclasses import dataclass

from dse.report import words
from dse.report.design_point import Point
from dse.report.document import RunDocument
from dse.report.fleet_words import CLASSES
from dse.report.style import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, YELLOW


@dataclass(frozen=True)
class Term:
    """One term: its key in a point, its name as a heading and in a sentence, its look in a bar."""

    key: str
    title: str
    phrase: str
    color: str
    pattern: str


TERMS = (
    Term("forward_s", "Forward", "the forward pass", SKY, ""),
    Term("backward_s", "Backward", "the backward pass", BLUE, ""),
    Term("slowed_s", "Slowed by communication", "what communication slows down",
         PURPLE, "\\"),
    Term("waiting_s", "Waiting for the slowest", "waiting for the slowest accelerator", YELLOW,
         "."),
    Term("exposed_s", "Communication not hidden", "communication that computing waits for", ORANGE,
         "/"),
    Term("optimizer_s", "Optimizer", "the optimizer", GREY, ""),
    Term("stalled_s", "Waiting for input", "waiting for input", GREEN, "x"),
)  # fmt: skip
PAI_TERMS = (
    Term("data_s", "Data loading T_d", "data loading (T_d)", GREEN, "x"),
    Term("compute_s", "Computation T_c", "computation (T_c)", BLUE, ""),
    Term("weights_s", "Weights T_w", "the exchange of weights (T_w)", ORANGE, "/"),
)
_FELT = 0.001  # a smaller share is not told
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


def times(document: RunDocument) -> list[str]:
    """Where the time goes at the recommended point and the baseline, in sentences."""
    found = []
    named = (("recommended point", document.recommended), ("baseline", document.baseline))
    for name, point in named:
        step, parts = point.step_s, seconds(point)
        largest = max(terms(document), key=lambda term: parts[term.key])
        share = words.percent(parts[largest.key] / step if step else 0.0)
        took = f"At the {name} a step takes {words.duration(step)}"
        if _ideal(point):
            found.append(f"{took}, as long as its longest term, {largest.phrase}.{_more(point)}")
        else:
            found.append(f"{took}; the largest part is {largest.phrase}, {share}.{_more(point)}")
    return found


def _more(point: Point) -> str:
    """What communication costs a point, beside computing and after it; by the closed model, what it
    was priced as."""
    if point.pai:
        name = CLASSES[point.pai.architecture]
        how = "all overlaps ideally" if point.pai.ideal else "nothing overlaps"
        return f" It is priced as {name}, and {how}."
    comm, exposed = point.comm_s, point.terms.exposed_s or 0.0
    if not comm:
        return ""
    slowed, hidden = point.terms.slowed_s or 0.0, 1 - exposed / comm
    felt = slowed > _FELT * (point.step_s or 0.0)
    lasts = f" It communicates for {words.duration(comm)}"
    if hidden <= _FELT:
        return f"{lasts}, and computing waits for all of it."
    if hidden >= 1 - _FELT:
        longer = f", but computing takes {words.duration(slowed)} longer beside it" * felt
        return f"{lasts}, all of it while it computes: nothing waits for it{longer}."
    longer = f", which takes {words.duration(slowed)} longer beside it" * felt
    return (
        f"{lasts}, {words.percent(hidden)} of it while it computes{longer}; for the other "
        f"{words.duration(exposed)} computing waits."
    )


def note(document: RunDocument) -> str:
    """What to know of the terms under their chart and table; empty where they just add up."""
    if not any(map(_ideal, (document.baseline, *document.front))):
        return ""
    return (
        "Where all overlaps ideally a step is the longest of its terms: the bar shows what each "
        "adds to those before it, the table the whole of each."
    )
