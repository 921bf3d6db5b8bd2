"""The recommended point where a study says how sure its limits must be.

A point that meets a limit by its best estimate meets it in about half of what may come true. Asked
for a confidence, only points count that meet all limits with that probability: those of the front,
and those near it, since a point that is a little dearer may be much surer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dse.decision.remarks import USUAL
from dse.report.document import Confidence
from dse.report.recommendation import LEAST_REGRET, recommended
from dse.report.words import exactly
from dse.search.certainty.study_draws import StudyDraws
from dse.search.run import FrontPoint, Outcome, labels_of


@dataclass(frozen=True)
class Chosen:
    """The recommended point. position: among those near the front. because: what the confidence did
    to the choice. instead: why the surest point is taken in place of that of the rule; empty where
    it is not. confidence: None where none is asked for."""

    position: int
    because: str = ""
    instead: str = ""
    confidence: Confidence | None = None


def chosen(found: StudyDraws, outcome: Outcome, rule: str, likely: int) -> Chosen:
    """The point that a rule recommends among those that are sure enough; else the surest.

    found: the points near the front in every draw. likely: position of the point that is
    recommended where nobody asks for a confidence.
    """
    asked = outcome.problem.study.confidence
    if asked is None:
        return Chosen(likely)
    met = found.drawn.meets_all.mean(axis=0)
    at, reached = _surely(found, rule, asked)
    alike = found.as_the_library_does(at)
    at = alike if met[alike] >= asked else at
    of_front = {row: float(share) for row, share in zip(found.near.front, met, strict=False)}
    confidence = Confidence(
        asked=asked,
        reached=reached,
        recommended=float(met[at]),
        best_estimate=(found.near.row(likely) or 0) + 1,
        front=tuple(of_front.get(row) for row in range(len(outcome.front))),
    )
    because = _because(confidence)
    return Chosen(at, because, "" if reached else because, confidence)


def usually(found: StudyDraws, rule: str, at: int) -> int | None:
    """The position of the point that would be recommended if the study asked for the confidence
    USUAL; None where it asks for one, and where point ``at``, the recommended one, has that."""
    asked = found.problem.study.confidence
    if asked is not None or found.drawn.meets_all[:, at].mean() >= USUAL:
        return None
    return _surely(found, rule, USUAL)[0]


def _surely(found: StudyDraws, rule: str, asked: float) -> tuple[int, bool]:
    """The position of what a rule recommends of the points that meet every limit with the
    probability asked, else of the surest, the cheapest of several; and whether it is so sure."""
    points, met = _priced(found), found.drawn.meets_all.mean(axis=0)
    by_cost = sorted(  # then by the other cost, as a front has its points
        range(len(points)),
        key=lambda at: (points[at].cost, points[at].other, -points[at].gain, at),
    )
    sure = [at for at in by_cost if met[at] >= asked]
    if not sure:
        return max(by_cost, key=lambda one: float(met[one])), False
    if rule == LEAST_REGRET:
        return found.by_regret(sure)[0], True
    return sure[recommended([points[one] for one in sure], rule)], True


def _priced(found: StudyDraws) -> list[FrontPoint]:
    """The points near the front that meet every limit, by their best estimates."""
    problem, points = found.problem, found.near.points[: found.near.feasible]
    names = [objective.name for objective in problem.study.objectives]
    numbers = np.zeros((3, len(points)))
    for where, evaluation in problem.rows(points):
        for at, name in enumerate(names):
            numbers[at, where] = evaluation[name]
    return [
        FrontPoint(
            values, labels_of(problem, values), float(gain), float(cost), float(other), 0, ()
        )
        for values, gain, cost, other in zip(points, *numbers, strict=True)
    ]


def _because(found: Confidence) -> str:
    asked = exactly(found.asked)
    if found.reached:
        return f"only points count that meet every limit with at least {asked} probability"
    return f"no point meets every limit with {asked} probability, so that the surest is taken"
