"""Partial pooling of published training rates.

``y = log(measured / modelled seconds)`` of a row is the sum of an effect of each component, and
noise; effects of a component are normal around 0 with a deviation of its own::

    y = family + s (family format generation + family stack + accelerator
                    + network + workload + source + e)

where s is 1/2 for families of a few large products and 1 for others (:data:`SCATTER`). Families
share a mean which is itself normal around 0. Deviations maximise the marginal likelihood of all
rows; given them, the effects' posterior is normal (Gelman and Hill, Data Analysis Using Regression
and Multilevel/Hierarchical Models, 2007, chapter 12).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from dse import catalog
from dse.catalog import Anchors
from dse.catalog.rows_of_work import FAMILIES
from dse.pricing.anchors import FAMILY, SCATTERED, SOURCE, UNSEEN, WORKLOAD

Array = NDArray[np.float64]
Kind = Mapping[str, str]  # component -> level

# Families whose steps are a few large products scatter less: the ratio of deviations, by marginal
# likelihood over all rows.
SCATTER: Mapping[str, float] = {"encoder": 0.5, "decoder": 0.5, "encoder-decoder": 0.5}
# Of what all families have in common, and the least of whole families: six of them cannot tell.
COMMON, LEAST_FAMILY = 0.3, 0.25
# A judgement: no rows tell how far off a generation is of which no row is there.
UNSEEN_GENERATION = 0.2
# Prior of a component's deviation: half normal of this width, times deviation ^ -0.2, so that
# neither few levels make it large nor none of it vanishes.
WIDTH, POWER = 0.2, 0.2
START, LEAST, MOST = 0.1, np.exp(-6.0), 1.0


@dataclass(frozen=True)
class Deviations:
    """Standard deviations: of the effects of each component, and of a row's noise."""

    components: Mapping[str, float]
    noise: float


def fit(kinds: Sequence[Kind], y: Array) -> Anchors:
    """Deviations by marginal likelihood, then the effects' posterior.

    kinds: level of each component, (rows,); y: log(measured / modelled seconds), (rows,).
    """
    return posterior(kinds, y, deviations(kinds, y))


def scatter_of(kinds: Sequence[Kind]) -> Array:
    """By what a row's effects and noise are multiplied, (rows,)."""
    return np.array([SCATTER.get(kind[FAMILY], 1.0) for kind in kinds])


def deviations(kinds: Sequence[Kind], y: Array) -> Deviations:
    """Those of maximum marginal likelihood, under a weak prior."""
    components = [name for name in kinds[0] if name != UNSEEN]
    unit = np.diag(scatter_of(kinds) ** 2)
    parts = [*(_alike(kinds, name) for name in components), unit]
    common = np.full((len(y), len(y)), COMMON**2)

    def loss(logs: Array) -> tuple[float, Array]:
        variances = np.exp(2 * logs)
        covariance = common + sum(v * part for v, part in zip(variances, parts, strict=True))
        inverse = np.linalg.inv(covariance)
        solved = inverse @ y
        _, log_determinant = np.linalg.slogdet(covariance)
        squares = (np.exp(logs[:-1]) / WIDTH) ** 2
        value = 0.5 * (y @ solved + log_determinant + squares.sum()) - POWER * logs[:-1].sum()
        gradient = np.array([
            v * ((inverse * part).sum() - solved @ part @ solved)
            for v, part in zip(variances, parts, strict=True)
        ])  # fmt: skip
        gradient[:-1] += squares - POWER
        return float(value), gradient

    start = np.full(len(parts), np.log(START))
    bounds = [(np.log(LEAST), np.log(MOST))] * len(parts)
    best = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds)
    *found, noise = np.exp(best.x).tolist()
    named = dict(zip(components, found, strict=True))
    named[FAMILY] = max(named[FAMILY], LEAST_FAMILY)
    return Deviations(named, noise)


def _alike(kinds: Sequence[Kind], component: str) -> Array:
    """Covariance of rows through a component of deviation 1, (rows, rows)."""
    levels = np.array([kind[component] for kind in kinds])
    weights = _weights(kinds, component)
    return np.asarray((levels[:, None] == levels) * np.outer(weights, weights))


def _weights(kinds: Sequence[Kind], component: str) -> Array:
    return scatter_of(kinds) if component in SCATTERED else np.ones(len(kinds))


def posterior(kinds: Sequence[Kind], y: Array, found: Deviations) -> Anchors:
    """Mean and covariance of the effects, ``C - C Z' S^-1 Z C`` with ``S = Z C Z' + noise``.

    C: their covariance before any row is seen; Z: (rows, effects). All families have an effect,
    also those without rows, because of what families have in common. Generations with rows have an
    effect of 0 for certain in the component :data:`~dse.pricing.anchors.UNSEEN`. Effects that
    nobody can ask for are left out: of sources, and of workloads outside the catalogue.
    """
    fitted = [name for name in kinds[0] if name != UNSEEN]
    effects = [(FAMILY, family) for family in FAMILIES]
    effects += [
        (name, level) for name in fitted if name != FAMILY for level in _levels(kinds, name)
    ]
    at = {effect: number for number, effect in enumerate(effects)}
    before = np.diag([found.components[name] ** 2 for name, _ in effects])
    families = len(FAMILIES)
    before[:families, :families] += COMMON**2
    design = np.zeros((len(kinds), len(effects)))
    for name in fitted:
        columns = [at[name, kind[name]] for kind in kinds]
        design[np.arange(len(kinds)), columns] = _weights(kinds, name)
    noise = np.diag((found.noise * scatter_of(kinds)) ** 2)
    through = before @ design.T
    gain = np.linalg.solve(design @ through + noise, through.T).T
    mean, covariance = gain @ y, before - gain @ through.T

    gone = {
        (name, level)
        for name, level in effects
        if name == SOURCE or (name == WORKLOAD and level not in catalog.names("workloads"))
    }
    kept = [number for number, effect in enumerate(effects) if effect not in gone]
    named = [effects[number] for number in kept]
    seen = [(UNSEEN, level) for level in _levels(kinds, UNSEEN)]
    empty = np.zeros((len(seen), len(kept)))
    covariance = np.block([
        [covariance[np.ix_(kept, kept)], empty.T],
        [empty, np.zeros((len(seen), len(seen)))],
    ])  # fmt: skip
    widths = {**found.components, UNSEEN: UNSEEN_GENERATION}
    return Anchors(
        deviations=widths,
        noise=found.noise,
        scatter=SCATTER,
        effects={effect: number for number, effect in enumerate([*named, *seen])},
        mean=np.concatenate([mean[kept], np.zeros(len(seen))]),
        covariance=(covariance + covariance.T) / 2,
        facts=(),
    )


def _levels(kinds: Sequence[Kind], component: str) -> list[str]:
    return sorted({kind[component] for kind in kinds})
