"""How much each source of uncertainty moves a point's speed, what it costs per speed, and what its
study limits."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np

from dse.model.arrays import Array
from dse.pricing.drawn_points import drawn_quantities
from dse.pricing.draws import Record, Variation
from dse.pricing.problem import Problem
from dse.pricing.uncertainty import INTERVAL
from dse.search.certainty.usefulness import above_nothing
from dse.study import Value

ALONE_DRAWS = 400  # of one source, the others at their best fit
SOBOL_DRAWS = 500  # of all, and again with one source drawn anew: indices to within 0.05
DEAD = 0.01  # what moves nothing by more is dead


@dataclass(frozen=True)
class Effect:
    """What one source does to a point.

    gain, cost_per_gain: relative to the best fit, the 5th and the 95th percentile of the draws in
    which this source alone varies. gain_total, cost_total: total-order Sobol indices, of the
    variance of the logarithm. limits: the same of what a constraint limits, as a share of its
    limit, by the text of those that the source moves by more than :data:`DEAD`.
    """

    source: str
    gain: tuple[float, float]
    cost_per_gain: tuple[float, float]
    gain_total: float
    cost_total: float
    limits: Mapping[str, float] = field(default_factory=dict)

    @property
    def moves(self) -> bool:
        """Whether it moves the speed, or the cost per speed, by more than :data:`DEAD`."""
        return any(abs(end - 1) > DEAD for end in (*self.gain, *self.cost_per_gain))

    @property
    def dead(self) -> bool:
        """Whether it moves nothing by more than :data:`DEAD`."""
        return not self.moves and not self.limits


def total_order(usual: Array, redrawn: Array) -> float:
    """The share of the variance that goes with one source, alone or together with others.

    ``S = mean((f - f')^2) / (2 var f)`` (Jansen, Computer Physics Communications 117, 1999;
    Saltelli et al. 2010, table 2). usual: f of the draws, (draws,). redrawn: f' of the same draws
    but for the source, which is drawn anew.
    """
    variance = float(np.var(usual))
    if variance <= 0:
        return 0.0
    return float(np.mean(np.square(usual - redrawn)) / (2 * variance))


def effects(
    problem: Problem,
    point: Mapping[str, Value | None],
    sources: Mapping[str, frozenset[str]],
) -> list[Effect]:
    """The effects of sources on a point, by falling share of the variance.

    What the study maximises, its first cost over that, and what it limits.
    """
    gain_name, cost_name, *_ = (objective.name for objective in problem.study.objectives)
    limits = {one.text: one.expression for one in problem.study.constraints if one.expression}
    limited = (name for limit in limits.values() for name in sorted(limit.names))
    numbers = tuple(dict.fromkeys((gain_name, cost_name, *limited)))
    behind: dict[str, set[str]] = {}  # what each number is drawn from
    for name in numbers:
        behind[name] = (record := Record()).asked
        drawn_quantities(problem, [point], [name], Variation(record=record), 1, judged=False)

    def drawn(variation: Variation, count: int, moved: Collection[str]) -> dict[str, Array]:
        """Of the numbers moved, (draws,)."""
        found = drawn_quantities(problem, [point], moved, variation, count, judged=False)
        return {name: found[name][:, 0] for name in moved}

    def logs(found: Mapping[str, Array], count: int) -> Array:
        """(2 + limits, draws): of the gain, of the cost per gain, and of each limited quantity as a
        share of its limit."""
        gain, cost = np.log(found[gain_name]), found[cost_name]
        per_gain = np.zeros(count)  # where all of it is owned, nothing moves what it costs
        if cost.any():
            per_gain = np.log(above_nothing(cost)) - gain
        return np.stack([gain, per_gain, *(one.excess(found) for one in limits.values())])

    kept = drawn(Variation(), SOBOL_DRAWS, numbers)
    usual = logs(kept, SOBOL_DRAWS)
    estimates = drawn(Variation(alone=frozenset()), 1, numbers)
    best = logs(estimates, 1)
    still = {name: np.repeat(estimates[name], ALONE_DRAWS) for name in numbers}
    told = [*limits]
    found = []
    for source, names in sources.items():
        moved = [name for name in numbers if behind[name] & names]
        if not moved:
            continue
        varied = drawn(Variation(alone=names), ALONE_DRAWS, moved)
        alone = logs({**still, **varied}, ALONE_DRAWS)
        low, high = np.exp(np.percentile(alone, INTERVAL, axis=1) - best[:, 0])
        if np.ptp(alone, axis=1).max() == 0:  # it does nothing here
            continue
        redrawn = drawn(Variation(anew=names), SOBOL_DRAWS, moved)
        anew = logs({**kept, **redrawn}, SOBOL_DRAWS)
        found.append(Effect(
            source,
            (float(low[0]), float(high[0])),
            (float(low[1]), float(high[1])),
            total_order(usual[0], anew[0]),
            total_order(usual[1], anew[1]),
            {
                text: total_order(usual[at], anew[at])
                for at, text in enumerate(told, 2)
                if max(abs(low[at] - 1), abs(high[at] - 1)) > DEAD
            },
        ))  # fmt: skip
    return sorted(found, key=lambda effect: -max(effect.gain_total, effect.cost_total))


def dead_axes(problem: Problem, point: Mapping[str, Value | None]) -> list[str]:
    """Axes of several values that move no objective by more than DEAD around a point, whatever
    value that can be priced they have; the others stay as they are."""
    names = [objective.name for objective in problem.study.objectives]
    here = problem.point(point)
    best = {name: float(np.ravel(here[name])[0]) for name in names}
    found = []
    for axis in problem.study.axes:
        others = [value for value in axis.values if value != point.get(axis.name)]
        if axis.continuous or not others or point.get(axis.name) is None:
            continue
        moved = [problem.applicable({**point, axis.name: value}) for value in others]
        if any(None in (now[name],) for now in moved for name in now if point[name] is not None):
            continue
        away = False
        for _, evaluation in problem.rows(moved):
            for name in names:
                off = np.abs(np.asarray(evaluation[name]) - best[name])
                away |= bool(np.any(np.isfinite(off) & (off > DEAD * abs(best[name]))))
        if not away:
            found.append(axis.name)
    return found
