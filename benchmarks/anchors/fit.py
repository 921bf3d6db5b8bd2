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
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from dse import catalog
from dse.catalog import Anchors
from dse.catalog.rows_of_work import FAMILIES
from dse.pricing.anchors import FAMILY, SCATTERED, SOURCE, UNSEEN, WORKLOAD, Rows, conditioned

Array = NDArray[np.float64]
Kind = Mapping[str, str]  # component -> level

# Families whose steps are a few large products scatter less: the ratio of deviations, by marginal
# likelihood over all rows.
SCATTER: Mapping[str, float] = {"encoder": 0.5, "decoder": 0.5, "encoder-decoder": 0.5}
# Of what all families have in common, and the least of whole families: six of them cannot tell.
COMMON, LEAST_FAMILY = 0.3, 0.25
# Least deviation of a source. Twelve sources, most of networks that no other has, cannot tell it
# from networks: marginal likelihood says 0.01, and 80 % of rows then lay in their intervals when
# their source was left out.
LEAST_SOURCE = 0.10
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
    if SOURCE in named:
        named[SOURCE] = max(named[SOURCE], LEAST_SOURCE)
    return Deviations(named, noise)


def _alike(kinds: Sequence[Kind], component: str) -> Array:
    """Covariance of rows through a component of deviation 1, (rows, rows)."""
    levels = np.array([kind[component] for kind in kinds])
    weights = _weights(kinds, component)
    return np.asarray((levels[:, None] == levels) * np.outer(weights, weights))


def _weights(kinds: Sequence[Kind], component: str) -> Array:
    return scatter_of(kinds) if component in SCATTERED else np.ones(len(kinds))


def posterior(kinds: Sequence[Kind], y: Array, found: Deviations) -> Anchors:
    """The effects after all rows were seen, by :func:`dse.pricing.anchors.conditioned`.

    All families have an effect, also those without rows, because of what families have in common.
    Generations with rows have an effect of 0 for certain in the component
    :data:`~dse.pricing.anchors.UNSEEN`. Effects that nobody can ask for are left out: of sources,
    and of workloads outside the catalogue.
    """
    families = {(FAMILY, family): number for number, family in enumerate(FAMILIES)}
    prior = Anchors(
        deviations={**found.components, UNSEEN: UNSEEN_GENERATION},
        noise=found.noise,
        scatter=SCATTER,
        effects=families,
        mean=np.zeros(len(families)),
        covariance=found.components[FAMILY] ** 2 * np.eye(len(families)) + COMMON**2,
        facts=(),
    )
    fitted = [{name: kind[name] for name in kind if name != UNSEEN} for kind in kinds]
    after = conditioned(prior, Rows(fitted, y, found.noise * scatter_of(kinds)))
    asked = frozenset(catalog.names("workloads"))
    named = [
        *families,
        *(
            (name, level)
            for name in fitted[0]
            if name not in (FAMILY, SOURCE)
            for level in _levels(kinds, name)
            if name != WORKLOAD or level in asked
        ),
    ]
    seen = [(UNSEEN, level) for level in _levels(kinds, UNSEEN)]
    kept = [after.effects[effect] for effect in named]
    covariance = np.zeros((len(named) + len(seen),) * 2)
    covariance[: len(named), : len(named)] = after.covariance[np.ix_(kept, kept)]
    return replace(
        after,
        effects={effect: number for number, effect in enumerate([*named, *seen])},
        mean=np.concatenate([after.mean[kept], np.zeros(len(seen))]),
        covariance=covariance,
    )


def _levels(kinds: Sequence[Kind], component: str) -> list[str]:
    return sorted({kind[component] for kind in kinds})
