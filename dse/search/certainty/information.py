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


def value_of_all(worths: Array) -> float:
    """Of knowing everything: the least expected regret. worths: (draws, points)."""
    return float(regret(worths).mean(axis=0).min())


def values_of(noted: Mapping[str, Array], worths: Array) -> dict[str, float]:
    """Of knowing each number alone at a first look, by its name, at least 0.

    noted: draws of the numbers, (draws,). Expected regrets given x are polynomials of it, fitted to
    one half of the draws and judged on the other. It needs no draws beside those at hand, and is as
    large as chance makes it: see :func:`value_apart`.
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


def value_apart(drawn: Array, worths: Array, drawn_anew: Array, worths_anew: Array) -> float:
    """Of knowing one number, at least 0, whatever else chance drew high or low beside it.

    In a limited number of draws any number is correlated with others a little, and seems to be
    worth a part of what those are. So every draw is priced a second time with this number alone
    drawn anew. With ``L(x)`` the regrets of a draw, ``x'`` the number drawn anew, ``d(x)`` the
    point taken by who knows x and ``g(x) = L(x)[now] - L(x)[d(x)]`` what that saves:

        f      from  L(x) - L(x') = f(x) - f(x'),  in which all that does not depend on x cancels
        d(x)   the point of least f(x) + mean (L - f)
        value  mean g(x) - b (mean g' - G),  g' = L(x')[now] - L(x')[d(x)]

    g' is a control variate (Owen, Monte Carlo theory, methods and examples, 2013, section 8.9): x'
    has nothing to do with d(x), so that its mean is known, the G of regrets averaged over all
    draws; b = cov(g, g') / var g'. A number that moves no regret has g = g' and G at most 0: it is
    worth exactly nothing. f is a polynomial, fitted to one half of the draws and judged on the
    other.

    drawn, drawn_anew: x and x', (draws,). worths, worths_anew: in the same draws, (draws, points).
    """
    spread = float(np.std(drawn))
    if spread <= 0:
        return 0.0
    lost, lost_anew = regret(worths), regret(worths_anew)
    usual, now = lost.mean(axis=0), least_regret(worths)
    powers, powers_anew = (
        np.vander((x - np.mean(drawn)) / spread, DEGREE + 1)[:, :-1] for x in (drawn, drawn_anew)
    )
    half, taken = len(lost) // 2, np.empty(len(lost), dtype=np.intp)
    for fitted, judged in ((slice(None, half), slice(half, None)),
                           (slice(half, None), slice(None, half))):  # fmt: skip
        moved = lost[fitted] - lost_anew[fitted]
        weights, *_ = np.linalg.lstsq(powers[fitted] - powers_anew[fitted], moved)
        level = (lost[fitted] - powers[fitted] @ weights).mean(axis=0)
        taken[judged] = np.argmin(level + powers[judged] @ weights, axis=1)
    every = np.arange(len(lost))
    saved, control = (of[every, now] - of[every, taken] for of in (lost, lost_anew))
    varies = float(np.var(control))
    share = float(np.mean((saved - saved.mean()) * control)) / varies if varies > 0 else 0.0
    expected = float((usual[now] - usual[taken]).mean())
    return max(0.0, float(saved.mean() - share * (control.mean() - expected)))
