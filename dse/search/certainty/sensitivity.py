"""The share of each source of uncertainty in what is not known of a point: total-order indices."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from dse.model.arrays import Array
from dse.pricing.drawn_points import drawn_quantities
from dse.pricing.draws import Variation
from dse.pricing.problem import Problem
from dse.search.certainty.usefulness import above_nothing
from dse.study import Value

SOBOL_DRAWS = 500  # of all, and again with one source drawn anew: indices to within 0.05


@dataclass(frozen=True)
class Effect:
    """The total-order Sobol indices of one source at a point, of variances of logarithms.

    gain: of what the study maximises. cost: of its first cost per gain. limits: of what each
    constraint limits, as a share of its limit, by the constraint's text.
    """

    source: str
    gain: float
    cost: float
    limits: Mapping[str, float]


def total_order(usual: Array, redrawn: Array) -> float:
    """The share of the variance that goes with one source, alone or together with others.

    ``S = mean((f - f')^2) / (2 var f)`` (Jansen, Computer Physics Communications 117, 1999;
    Saltelli et al. 2010, table 2). usual: f of the draws, (draws,). redrawn: f' of the same draws
    but for the source, which is drawn anew.
    """
    variance = float(np.var(usual))
    if not variance > 0:  # nor where a quantity is not known
        return 0.0
    return float(np.mean(np.square(usual - redrawn)) / (2 * variance))


def effects(
    problem: Problem,
    point: Mapping[str, Value | None],
    sources: Mapping[str, frozenset[str]],
) -> list[Effect]:
    """The effects of sources on a point, by falling share of the variance of gain or cost; sources
    that move nothing are left out."""
    gain_name, cost_name, *_ = (objective.name for objective in problem.study.objectives)
    limits = {one.text: one.expression for one in problem.study.constraints if one.expression}
    limited = (name for limit in limits.values() for name in sorted(limit.names))
    numbers = tuple(dict.fromkeys((gain_name, cost_name, *limited)))
    behind: dict[str, set[str]] = {}  # what each number is drawn from
    for name in numbers:
        behind[name] = set()
        asked = Variation(asked=behind[name])
        drawn_quantities(problem, [point], [name], asked, 1, judged=False)

    def drawn(variation: Variation, moved: Collection[str]) -> dict[str, Array]:
        """The numbers moved, (draws,)."""
        found = drawn_quantities(problem, [point], moved, variation, SOBOL_DRAWS, judged=False)
        return {name: found[name][:, 0] for name in moved}

    def logs(found: Mapping[str, Array]) -> Array:
        """Logarithms of the gain, of the cost per gain, and of each limited quantity as a share of
        its limit, (2 + limits, draws)."""
        gain, cost = np.log(found[gain_name]), found[cost_name]
        per_gain = np.zeros(SOBOL_DRAWS)  # where all of it is owned, nothing moves what it costs
        if cost.any():
            per_gain = np.log(above_nothing(cost)) - gain
        return np.stack([gain, per_gain, *(one.excess(found) for one in limits.values())])

    kept = drawn(Variation(), numbers)
    usual = logs(kept)
    found = []
    for source, names in sources.items():
        moved = [name for name in numbers if behind[name] & names]
        if not moved:
            continue
        anew = logs({**kept, **drawn(Variation(anew=names), moved)})
        gain, cost, *others = map(total_order, usual, anew)
        if max(gain, cost, *others) > 0:
            found.append(Effect(source, gain, cost, dict(zip(limits, others, strict=True))))
    return sorted(found, key=lambda effect: -max(effect.gain, effect.cost))
