"""What it is worth to know a number before deciding.

Whoever decides now takes the purchase with the least expected regret. Whoever first measures x
takes the one with the least given x. The difference is the expected value of that (perfect)
information (Raiffa and Schlaifer, Applied Statistical Decision Theory, 1961), here in shares of the
rule's aim.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dse.model.arrays import Array
from dse.search.certainty.usefulness import regret

DEGREE = 3  # of the polynomial that expected regrets follow


def values_of(noted: Mapping[str, Array], worths: Array) -> dict[str, float]:
    """The value of knowing each number alone, by its name, at least 0.

    noted: draws of the numbers, (draws,). worths: (draws, purchases). Expected regrets given x are
    polynomials of it, fitted to one half of the draws and judged on the other. In a thousand draws
    a number is correlated with others a little, so that values below a percent may be chance.
    """
    lost = regret(worths)
    now = lost.mean(axis=0).min()
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
