"""Machines, networks and aggregations that the answer cannot have, since no point is feasible."""

from __future__ import annotations

from dse.pricing import constraints
from dse.report import words
from dse.report.document import NoneFeasible, RunDocument
from dse.search.rejected_values import rejected_values
from dse.search.run import Outcome
from dse.spelling import enumerated

MOST = 3  # reasons that are told
_SAID = (constraints.SOLD, constraints.COMPUTABLE)  # demands of which notes tell


def none_feasible(outcome: Outcome) -> tuple[NoneFeasible, ...]:
    """Those of a finished search."""
    told = []
    found = rejected_values(outcome.problem, [point.labels for point in outcome.front])
    for (axis, label), one in found.items():
        reasons = sorted(constraints.counted_once(one.demands).items(), key=lambda item: -item[1])
        if reasons[0][0] not in _SAID:
            because = enumerated([_because(*reason, one.points) for reason in reasons[:MOST]])
            told.append(NoneFeasible(axis=axis, value=label, points=one.points, because=because))
    return tuple(told)


def _because(demand: str, count: int, points: int) -> str:
    share = "" if count == points else f" ({words.percent(count / points)} of its points)"
    return f"{constraints.unmet(demand)}{share}"


def said(document: RunDocument) -> list[str]:
    """A sentence for each reason, of those of one axis together."""
    alike: dict[tuple[str, str], list[str]] = {}
    for one in document.none_feasible:
        alike.setdefault((one.axis, one.because), []).append(words.title(one.axis, one.value))
    return [f"No point with {' or '.join(names)} is feasible: {because}."
            for (_, because), names in alike.items()]  # fmt: skip
