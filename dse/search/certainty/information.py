"""What it is worth to know something before deciding.

Whoever decides now takes the point with the least expected regret. Whoever first measures x takes
the one with the least given x. The difference is the expected value of that (perfect) information
(Raiffa and Schlaifer, Applied Statistical Decision Theory, 1961), here in shares of the rule's aim.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dse.model.arrays import Array
from dse.search.certainty.usefulness import least_regret, regret

DEGREE = 3  # of the polynomial that expected regrets follow
IDLE = 40  # random numbers on which nothing depends, to see what chance alone would show


def value_of_all(worths: Array) -> float:
    """Of knowing everything: the least expected regret. worths: (draws, points)."""
    return float(regret(worths).mean(axis=0).min())


def values_of(noted: Mapping[str, Array], worths: Array) -> dict[str, float]:
    """Of knowing each number alone, by its name, at least 0.

    noted: draws of the numbers, (draws,). Expected regrets given x are polynomials of it, fitted to
    one half of the draws and judged on the other, so that chance does not look like knowledge.
    """
    lost = regret(worths)
    now = lost[:, least_regret(worths)].mean()
    half = len(lost) // 2
    found = {}
    for name, drawn in noted.items():
        spread = float(np.std(drawn))
        if spread <= 0:
            continue
        powers = np.vander((drawn - np.mean(drawn)) / spread, DEGREE + 1)
        taken = np.empty(len(lost))
        for fitted, judged in ((slice(None, half), slice(half, None)),
                               (slice(half, None), slice(None, half))):  # fmt: skip
            x = powers[fitted]
            weights = np.linalg.solve(x.T @ x, x.T @ lost[fitted])
            best = np.argmin(powers[judged] @ weights, axis=1)
            taken[judged] = np.take_along_axis(lost[judged], best[:, np.newaxis], axis=1)[:, 0]
        found[name] = max(0.0, float(now - taken.mean()))
    return found


def value_by_chance(worths: Array) -> float:
    """The most that any of IDLE numbers on which no point depends seems to be worth, at least 0.

    With a limited number of draws such numbers have a value above 0. Whatever has no larger one may
    be of no use to any point. worths: (draws, points).
    """
    drawn = np.random.default_rng(0).standard_normal((IDLE, len(worths)))
    idle = values_of({str(at): row for at, row in enumerate(drawn)}, worths)
    return max(idle.values(), default=0.0)
