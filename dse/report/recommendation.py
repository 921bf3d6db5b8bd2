"""Which point of the front is recommended, and by what rule."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dse.search.run import FrontPoint
from dse.study import Objective

NEAR_FASTEST = 0.05  # "within 5 % of the fastest"

SPEED_PER_DOLLAR = "speed-per-dollar"
RULES = {
    "knee": "the point of the front that stands highest above the line from its cheapest to its "
    "fastest point, both objectives on logarithmic scales. It depends on the front's ends, so on "
    "what the study offers",
    "cheapest-within-5%": "the cheapest point within 5 % of the fastest",
    "fastest": "the fastest point",
    "cheapest": "the cheapest point that meets every constraint",
    SPEED_PER_DOLLAR: "the point with the most speed for its cost",
}
# Where two objectives are minimised: {0} and {1}.
RULES_OF_THREE = {
    "knee": "the point of the front whose {gain} stands highest above the mean of its {0} and "
    "{1}, each as a share of its span along the front on a logarithmic scale. It depends on the "
    "front's ends, so on what the study offers",
    "cheapest-within-5%": "the point with the least {0} of those within 5 % of the fastest; if "
    "several are equal, the one with the least {1}",
    "fastest": "the fastest point; if several are equal, the one with the least {0}",
    "cheapest": "the point with the least {0} that meets every constraint; if several are equal, "
    "the one with the least {1}",
    SPEED_PER_DOLLAR: "the point with the most {gain} for its {0}; if several are equal, the one "
    "with the least {1}",
}


def why(rule: str, objectives: Sequence[Objective]) -> str:
    """The rule in words."""
    gain, *costs = (objective.name.replace("_", " ") for objective in objectives)
    return RULES[rule] if len(costs) == 1 else RULES_OF_THREE[rule].format(*costs, gain=gain)


def recommended(front: Sequence[FrontPoint], rule: str) -> int:
    """Position of the recommended front point (rising cost, then other) by one of :data:`RULES`.

    What ``cheapest``, ``fastest`` and ``speed-per-dollar`` recommend stays recommended whatever
    other point is left out; that of ``cheapest-within-5%`` unless it is the fastest; the knee hangs
    on both ends.
    """
    gain = np.array([point.gain for point in front])
    if rule == "cheapest":
        return 0
    if rule == SPEED_PER_DOLLAR:
        with np.errstate(divide="ignore"):
            return int(np.argmax(gain / np.array([point.cost for point in front])))
    if rule == "cheapest-within-5%":
        return int(np.argmax(gain >= (1 - NEAR_FASTEST) * gain.max()))
    if rule == "fastest" or len(front) < 3:  # two points have no knee
        return int(np.argmax(gain))
    y = np.log(np.maximum(gain, 1e-300))
    rise = y.max() - y.min()
    shares = []
    for cost in ([point.cost for point in front], [point.other for point in front]):
        x = np.log(np.maximum(cost, 1e-300))
        if x.max() > x.min():
            shares.append(rise * (x - x.min()) / (x.max() - x.min()))
    chord = y.min() + sum(shares, np.zeros(len(front))) / max(1, len(shares))
    return int(np.argmax(y - chord))
