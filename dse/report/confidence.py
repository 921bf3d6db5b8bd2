"""The recommended point where a study says how sure its limits must be.

A point that meets a limit by its best estimate meets it in about half of what may come true. Asked
for a confidence, only points count that meet all limits with that probability: those of the front,
and those near it, since a point that is a little dearer may be much surer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dse.model.arrays import Array
from dse.pricing import probability
from dse.report.document import Certainty, RunDocument
from dse.report.recommendation import recommended
from dse.report.words import describe, percent, show_cost
from dse.search import exhaustive
from dse.search.run import FrontPoint, Outcome, labels_of
from dse.search.runners_up import nearest_points
from dse.study import QUANTITIES, Study

NEAR = 0.05  # points so little behind the front may be recommended, too
MOST_POINTS = 100_000_000  # of a space in which they are looked for: it takes as long as a search


@dataclass(frozen=True)
class Chosen:
    """The recommended point. row: its position on the front; None for one near it. because: what
    the confidence did to the choice. certainty: None where no confidence is asked for."""

    point: FrontPoint
    row: int | None
    because: str = ""
    certainty: Certainty | None = None


class _Candidates(NamedTuple):
    """Points by rising cost, their probabilities, and their positions on the front, -1 for none."""

    points: Sequence[FrontPoint]
    probabilities: Array
    rows: Sequence[int]


def chosen(outcome: Outcome, rule: str) -> Chosen:
    """The point that a rule recommends among those that are sure enough; else the surest."""
    best = recommended(outcome.front, rule)
    asked = outcome.problem.study.confidence
    if asked is None:
        return Chosen(outcome.front[best], best)
    known = _candidates(outcome)
    sure = np.flatnonzero(known.probabilities >= asked)
    if len(sure):
        at = int(sure[recommended([known.points[int(i)] for i in sure], rule)])
    else:  # the surest, the cheapest of several
        at = int(np.argmax(known.probabilities))
    front = {row: float(p) for row, p in zip(known.rows, known.probabilities, strict=True)}
    certainty = Certainty(
        asked=asked,
        reached=bool(len(sure)),
        recommended=float(known.probabilities[at]),
        best_estimate=best + 1,
        front=tuple(front[row] for row in range(len(outcome.front))),
        considered=len(known.points),
        limits=tuple(_uncertain(outcome.problem.study)),
    )
    row = known.rows[at] if known.rows[at] >= 0 else None
    return Chosen(known.points[at], row, _because(certainty), certainty)


def _because(found: Certainty) -> str:
    asked = _share(found.asked)
    if found.reached:
        return f"only points count that meet every limit with at least {asked} probability"
    return f"no point meets every limit with {asked} probability, so that the surest is taken"


def _candidates(outcome: Outcome) -> _Candidates:
    """The front and, where every point of a space of MOST_POINTS was looked at, what is near it."""
    points = [*outcome.front, *_near(outcome)]
    order = sorted(range(len(points)), key=lambda i: (points[i].cost, -points[i].gain, i))
    found = probability.of_meeting_all(outcome.problem, [points[i].values for i in order])
    front = len(outcome.front)
    return _Candidates([points[i] for i in order], found, [i if i < front else -1 for i in order])


def _near(outcome: Outcome) -> Iterator[FrontPoint]:
    problem = outcome.problem
    if outcome.engine != "exhaustive" or problem.space.size > MOST_POINTS:
        return
    boxes = problem.space.boxes(exhaustive.BOX_POINTS)
    found = nearest_points(problem, boxes, outcome.tally.front, NEAR)
    for index, gain, cost, *other in zip(found.index, *found.values, strict=True):
        values = problem.space.point(int(index))
        yield FrontPoint(
            values, labels_of(problem, values), float(gain), float(cost),
            float(other[0]) if other else 0.0, 0, (),
        )  # fmt: skip


def _uncertain(study: Study) -> Iterator[str]:
    """The constraints on what has an interval; a count of samples, say, has none."""
    for constraint in study.constraints:
        for name in sorted(constraint.expression.names if constraint.expression else ()):
            if QUANTITIES[name].communication or QUANTITIES[name].facts:
                yield constraint.text
                break


def said(document: RunDocument) -> list[str]:
    """How sure it is that the recommended point meets the limits; nothing where nobody asked."""
    found = document.certainty
    if found is None:
        return []
    limits = " and ".join(found.limits) or "every limit"
    with_ = f"with {_share(found.recommended)} probability"
    if not found.reached:
        return [
            f"No point meets {limits} with {_share(found.asked)} probability; the recommended one "
            f"comes closest, {with_}. Loosen a limit, or measure more to be surer."
        ]
    sentence = f"It meets {limits} {with_}; {_share(found.asked)} was asked for."
    likely = document.front[found.best_estimate - 1]
    if likely.config == document.recommended.config:
        return [sentence]
    chance = found.front[found.best_estimate - 1]
    return [
        f"{sentence} By the best estimate alone it would be {describe(likely)} for "
        f"{show_cost(document, likely)}, which meets {'them' if ' and ' in limits else 'it'} with "
        f"only {_share(chance)} probability."
    ]


def _share(probability_: float) -> str:
    """A probability that does not round to certainty."""
    return "more than 99.5 %" if 0.995 <= probability_ < 1 else percent(probability_)
