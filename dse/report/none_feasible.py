"""Machines, networks and aggregations that the answer cannot have, since no point is feasible."""

from __future__ import annotations

from dse.pricing import constraints
from dse.pricing.memory_remedies import WHOLE_COPIES
from dse.report import words
from dse.report.document import NoneFeasible, RunDocument
from dse.search.rejected_values import RejectedValue, rejected_values
from dse.search.run import Outcome
from dse.spelling import enumerated
from dse.study.quantities import QUANTITIES

_SHORT = "too little memory"
MOST = 3  # that are told
_SAID = (constraints.SOLD, constraints.COMPUTABLE)  # demands of which notes tell


def none_feasible(outcome: Outcome) -> tuple[NoneFeasible, ...]:
    """Those of a finished search."""
    found = rejected_values(outcome.problem, [point.labels for point in outcome.front])
    return tuple(
        NoneFeasible(axis=one.axis, value=one.label, points=one.points, because=_because(one))
        for one in found
        if one.demands[0][0] not in _SAID
    )


def _because(found: RejectedValue) -> str:
    """What rejects all of its points, and by how much the nearest misses it; else each demand with
    the share that it rejects."""
    first, count = found.demands[0]
    if count < found.points:
        each = [
            f"{_missed(name)} ({words.percent(many / found.points)} of its points)"
            for name, many in found.demands[:MOST]
        ]
        return enumerated(each)
    if found.nearest is None or (first == constraints.FITS and not found.nearest[1] < 0):
        return _missed(first)
    name, value = found.nearest
    if first == constraints.FITS:
        return f"{_missed(first)} (short by {-value / 2**30:,.3g} GiB at least)"
    return f"{_missed(first)} (the nearest has {QUANTITIES[name].text(value)})"


def _missed(demand: str) -> str:
    return _SHORT if demand == constraints.FITS else constraints.unmet(demand)


def clauses(document: RunDocument) -> list[str]:
    """A clause for each reason, of those of one axis together."""
    alike: dict[tuple[str, str], list[str]] = {}
    for one in document.none_feasible:
        alike.setdefault((one.axis, one.because), []).append(_named(one))
    said = [f"no point with {' or '.join(names)} is feasible: {because}"
            for (_, because), names in alike.items()]  # fmt: skip
    if len(said) <= MOST:
        return said
    rest = sum(map(len, [*alike.values()][MOST:]))
    return [*said[:MOST], f"nor is any with {words.many(rest, 'other choice')}"]


def said(document: RunDocument) -> list[str]:
    """The same in sentences, and where memory is why, what must fit into it."""
    short = any(_SHORT in one.because for one in document.none_feasible)
    return [f"{clause[:1].upper()}{clause[1:]}." for clause in clauses(document)] + (
        [f"{WHOLE_COPIES}."] * short
    )


def _named(one: NoneFeasible) -> str:
    return words.title(one.axis, one.value) if words.titled(one.axis) else one.value
