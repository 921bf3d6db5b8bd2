"""Which point is recommended, by what rule, and where a study says how sure its limits must be.

A point that meets a limit by its best estimate meets it in about half of what may come true. Asked
for a confidence, only points count that meet all limits with that probability: those of the front,
and those near it, since a point that is a little dearer may be much surer.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dse.decision.remarks import USUAL
from dse.report.document import Confidence
from dse.report.words import exactly
from dse.search.certainty.study_draws import StudyDraws
from dse.search.certainty.usefulness import (
    CHEAPEST,
    FASTEST,
    NEAR_FASTEST,
    SPEED_PER_DOLLAR,
    WITHIN,
    gain_per_cost,
)
from dse.search.run import FrontPoint, Outcome, labels_of
from dse.study import Constraint, Objective
from dse.study.quantities import PURCHASE, QUANTITIES, RENT

# (quantity, first character of the comparison) of constraints on speed
_LEAST_SPEEDS = {("speedup", ">"), ("throughput", ">"), ("step", "<"), ("time_to_target", "<")}
_BELOW = ("<=", "<")
LEAST_REGRET = "least-regret"
# Of the rule speed-per-dollar, where the study owns hardware.
_OVER_OWNED = ". Speed that what is owned has for nothing does not count"
RULES = {
    WITHIN: "the point with the least {cost} of those within 5 % of the fastest",
    FASTEST: "the fastest point",
    CHEAPEST: "the point with the least {cost} that meets every constraint",
    SPEED_PER_DOLLAR: "the point with the most {gain} for its {cost}",
    LEAST_REGRET: "the point that is expected to miss least of what the best choice would bring in "
    "{gain} and {cost}, over all simulated outcomes. It need not lie on the front of the best "
    "estimates",
}
# Where two objectives are minimised.
_THEN = ". Of several that are equal it has the least {other}"


def needed(outcome: Outcome) -> tuple[str, str]:
    """The rule that the study asks for, or that answers its need, and why that one.

    Where a speed is demanded, the cheapest point that has it; where a budget is given, the cheapest
    that is as fast to 5 % as any within it, so that more money never buys less speed; else the most
    speed for a dollar.
    """
    study = outcome.problem.study
    if study.recommend is not None:
        return study.recommend, ""
    return by_need(outcome)


def by_need(outcome: Outcome) -> tuple[str, str]:
    """The rule that the needs of a study ask for, and why, whatever rule it names."""
    study = outcome.problem.study
    if speeds := [constraint.text for constraint in study.constraints if _of_speed(constraint)]:
        return CHEAPEST, f"the study demands {' and '.join(speeds)}"
    if limits := [constraint.text for constraint in study.constraints if _of_money(constraint)]:
        return WITHIN, f"the study has a budget: {' and '.join(limits)}"
    return SPEED_PER_DOLLAR, "the study demands no speed and has no budget"


def _of_money(constraint: Constraint) -> bool:
    """Whether a constraint says how much money may be spent: ``capital <= 2 MUSD``."""
    limit = constraint.limit
    if limit is None or limit.comparison not in _BELOW:
        return False
    return bool(QUANTITIES[limit.name].facts & {PURCHASE, RENT})


def _of_speed(constraint: Constraint) -> bool:
    """Whether a constraint says how fast training must be at least."""
    limit = constraint.limit
    return limit is not None and (limit.name, limit.comparison[0]) in _LEAST_SPEEDS


def why(rule: str, objectives: Sequence[Objective], because: str = "", owned: bool = False) -> str:
    """The rule in words, and why that one where the study does not ask for it. owned: whether the
    study owns hardware."""
    phrases = (QUANTITIES[objective.name].phrase for objective in objectives)
    gain, *costs = (phrase.title for phrase in phrases if phrase is not None)
    said = RULES[rule].format(gain=gain, cost=costs[0])
    said += "".join(_THEN.format(other=other) for other in costs[1:])
    if owned and rule == SPEED_PER_DOLLAR:
        said += _OVER_OWNED
    return f"{said}. Chosen because {because}" if because else said


def recommended(front: Sequence[FrontPoint], rule: str) -> int:
    """Position of the recommended front point (rising cost, then other) by one of :data:`RULES`.

    What ``cheapest``, ``fastest`` and ``speed-per-dollar`` recommend stays recommended whatever
    other point is left out; that of ``cheapest-within-5%`` unless it is the fastest.
    """
    gain = np.array([point.gain for point in front])
    if rule == CHEAPEST:
        return 0
    if rule == SPEED_PER_DOLLAR:
        price = np.array([point.cost for point in front])
        every = np.ones((1, len(front)), dtype=bool)
        return int(np.argmax(gain_per_cost(gain[np.newaxis], price[np.newaxis], every)))
    if rule == WITHIN:
        return int(np.argmax(gain >= (1 - NEAR_FASTEST) * gain.max()))
    return int(np.argmax(gain))


def chosen(
    found: StudyDraws, outcome: Outcome, rule: str, likely: int
) -> tuple[int, Confidence | None]:
    """The position of the point that a rule recommends among those that are sure enough, else of
    the surest; and how sure it is, None where no confidence is asked for.

    found: the points near the front in every draw. likely: position of the point that is
    recommended where nobody asks for a confidence.
    """
    asked = outcome.problem.study.confidence
    if asked is None:
        return likely, None
    met = found.drawn.meets_all.mean(axis=0)
    at, reached = _surely(found, rule, asked)
    alike = found.as_the_library_does(at)
    at = alike if met[alike] >= asked else at
    of_front = {row: float(share) for row, share in zip(found.near.front, met, strict=False)}
    return at, Confidence(
        asked=asked,
        reached=reached,
        recommended=float(met[at]),
        best_estimate=(found.near.row(likely) or 0) + 1,
        front=tuple(of_front.get(row) for row in range(len(outcome.front))),
    )


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
    columns = [column.tolist() for column in problem.numbers(points, names).values()]
    columns += [[0.0] * len(points)] * (3 - len(columns))
    return [
        FrontPoint(values, labels_of(problem, values), gain, cost, other, 0, ())
        for values, gain, cost, other in zip(points, *columns, strict=True)
    ]


def because(found: Confidence | None) -> str:
    """What the confidence that is asked for did to the choice; empty where none is."""
    if found is None:
        return ""
    asked = exactly(found.asked)
    if found.reached:
        return f"only points count that meet every limit with at least {asked} probability"
    return f"no point meets every limit with {asked} probability, so that the surest is taken"
