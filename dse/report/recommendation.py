"""Which point of the front is recommended, and by what rule."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dse.search.certainty.usefulness import (
    CHEAPEST,
    FASTEST,
    NEAR_FASTEST,
    SPEED_PER_DOLLAR,
    WITHIN,
    gain_per_cost,
)
from dse.search.run import FrontPoint, Outcome
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
