"""By what factor training takes longer than its rows of work, and how sure that is."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dse.catalog import Accelerator, Anchors, Workload, computing
from dse.catalog.computing import FORMATS, OTHER
from dse.model.arrays import Array, ArrayLike
from dse.pricing.draws import normal

FAMILY, WORKLOAD, SOURCE, UNSEEN = "family", "workload", "source", "unseen generation"
# Of code that nobody but its owner knows, beside the source: mostly slower than what is published.
OWN_CODE = "own code"
# One workload in one format on one accelerator under one stack. Published rows have no such
# effect, it is noise to them; whoever has measured it knows it.
CONFIGURATION = "configuration"
# By what a step errs besides computing, see :mod:`.step_errors`: standard normal, by its name. What
# computes has no such effect; a rate of a whole step knows something of it.
STEP_ERROR = "step error"
# Between batches of one configuration, as a standard deviation of the logarithm: 24 published
# configurations with two to four rows each, 32 degrees of freedom.
BETWEEN_BATCHES = 0.06
# Deviations of a source that are tried, up to a factor of e.
_LARGEST_SOURCE, _TRIED_SOURCES = 1.0, 60
# Components whose effects are multiplied by the scatter of the family.
SCATTERED = frozenset({
    "family format generation", "family stack", "accelerator", "network", WORKLOAD, SOURCE
})  # fmt: skip
KNOWN = "computing: published rates"  # draws of all known effects together
_MEMORY_SIZE = re.compile(r"-\d+gb$")


def chip(accelerator: str) -> str:
    """The name of an accelerator without the size of its memory."""
    return _MEMORY_SIZE.sub("", accelerator)


def levels(
    workload: Workload, accelerator: Accelerator, precision: str, stack: str
) -> Mapping[str, str]:
    """Component -> level of one kind of training."""
    family = workload.family
    generation = accelerator.generation or OTHER
    software = computing().stacks.get(stack)  # None of those that lay networks out
    kind = precision if precision == "tf32" else FORMATS[precision][0]
    return {
        FAMILY: family,
        "family format generation": f"{family} {kind} {generation}",
        "family stack": f"{family} {stack}",
        "accelerator": chip(accelerator.name),
        "network": workload.network,
        WORKLOAD: workload.name,
        # Whoever asks is a source of their own.
        SOURCE: f"{family} here",
        # 0 for certain of generations with rows, see benchmarks/anchors.
        UNSEEN: generation,
        **({OWN_CODE: f"{family} here"} if software and software.own_code else {}),
    }


def configured(kind: Mapping[str, str]) -> Mapping[str, str]:
    """The same kind of training, of which somebody may know more than its effects."""
    return {**kind, CONFIGURATION: _name(kind)}


def _name(of: Mapping[str, str]) -> str:
    unnamed = (CONFIGURATION, OWN_CODE)
    return " ".join(level for component, level in of.items() if component not in unnamed)


def _weight(anchors: Anchors, component: str, family: str) -> float:
    """The weight of an effect in the sum."""
    return anchors.scatter.get(family, 1.0) if component in SCATTERED else 1.0


def _noise(anchors: Anchors, family: str) -> float:
    """The standard deviation of the noise of a published row."""
    return anchors.noise * anchors.scatter.get(family, 1.0)


def between_batches(anchors: Anchors, family: str) -> float:
    """The standard deviation of a row about its configuration, which is a part of the noise."""
    return min(BETWEEN_BATCHES, _noise(anchors, family))


def log_factor(anchors: Anchors, of: Mapping[str, str]) -> float:
    """The expected logarithm of the factor: the sum of the effects known, 0 of all others."""
    return float(sum(
        _weight(anchors, component, of[FAMILY]) * anchors.mean[anchors.effects[component, level]]
        for component, level in of.items()
        if (component, level) in anchors.effects
    ))  # fmt: skip


# Who timed the computing of a kind of training, from the surest.
OWN, PUBLISHED, ALIKE, NOBODY = "own", "published", "alike", "nobody"


def known(anchors: Anchors, of: Mapping[str, str]) -> str:
    """Who timed such training: ``own``, the user this very configuration; ``published``, others
    its workload and its accelerator; ``alike``, others its network or accelerator, or such networks
    in its format on that generation; else ``nobody``. :data:`UNSEEN` and :data:`OWN_CODE` where
    nobody timed any accelerator of its generation, or code like the user's."""
    rows = {component for component, level in of.items() if (component, level) in anchors.effects}
    if CONFIGURATION in rows:
        return OWN
    for component in (UNSEEN, OWN_CODE):
        if component in of and component not in rows:
            return component
    if {WORKLOAD, "accelerator"} <= rows:
        return PUBLISHED
    return ALIKE if rows & {"network", "accelerator", "family format generation"} else NOBODY


@dataclass(frozen=True)
class Rows:
    """What measured training says: ``y = share (sum of effects) + errors . e`` and noise.

    kinds: component -> level of each row. y: log(measured / modelled seconds), (rows,). noise:
    standard deviation of each row about its effects, (rows,). share: of its effects by which a
    row's y rises, (rows,): 1 where all of the time is computing. errors: of each row, by how much
    y rises with every error of the step besides computing; of none where it is empty.
    """

    kinds: Sequence[Mapping[str, str]]
    y: Array
    noise: Array
    share: ArrayLike = 1.0
    errors: Sequence[Mapping[str, float]] = ()

    def __len__(self) -> int:
        return len(self.kinds)

    def take(self, where: NDArray[np.intp]) -> Rows:
        """Some of the rows."""
        errors = [self.errors[at] for at in where] if len(self.errors) else ()
        share = np.broadcast_to(self.share, len(self))[where]
        return Rows(
            [self.kinds[at] for at in where], self.y[where], self.noise[where], share, errors
        )


def conditioned(anchors: Anchors, rows: Rows) -> Anchors:
    """Anchors that have seen more rows: ``m + G (y - Z m)`` and ``C - G Z C``.

    ``G = C Z' (Z C Z' + noise^2)^-1`` is the gain of the normal distribution's conditioning
    (Gelman et al., Bayesian Data Analysis, 3rd edition, section 14.2), m and C mean and covariance
    of all effects, also of levels that no row had before: those are 0, with their component's
    deviation. Z: weights of the effects in each row, (rows, effects).
    """
    if not len(rows):
        return anchors
    extended = _with_levels(anchors, rows)
    design = _design(extended, rows)
    through = extended.covariance @ design.T
    gain = np.linalg.solve(design @ through + np.diag(np.square(rows.noise)), through.T).T
    covariance = extended.covariance - gain @ through.T
    return replace(
        extended,
        mean=extended.mean + gain @ (rows.y - design @ extended.mean),
        covariance=(covariance + covariance.T) / 2,
    )


def with_likeliest_source(anchors: Anchors, rows: Rows) -> Anchors:
    """Anchors whose deviation of sources is the one likeliest for these rows, at least their own.

    Whoever measured their own software need not be like those who publish: where rows are farther
    off than effects and noise explain, their source may be far off too (empirical Bayes; Gelman et
    al., section 5.1). The deviation maximises the rows' normal density, with mean ``Z m`` and
    covariance ``Z C Z' + noise^2``, see :func:`conditioned`.
    """
    if not len(rows):
        return anchors
    found = _with_levels(anchors, rows)
    design = _design(found, rows)
    left = rows.y - design @ found.mean
    covariance = design @ found.covariance @ design.T + np.diag(np.square(rows.noise))
    sources = design[:, [at for (name, _), at in found.effects.items() if name == SOURCE]]
    least = anchors.deviations[SOURCE]

    def unlikely(deviation: float) -> float:
        wider = covariance + (deviation**2 - least**2) * sources @ sources.T
        return float(np.linalg.slogdet(wider)[1] + left @ np.linalg.solve(wider, left))

    tried = np.geomspace(least, max(least, _LARGEST_SOURCE), _TRIED_SOURCES)
    best = min(tried.tolist(), key=unlikely)
    return replace(anchors, deviations={**anchors.deviations, SOURCE: best})


def _with_levels(anchors: Anchors, rows: Rows) -> Anchors:
    """With an effect for every level of the kinds and every error, before any row of theirs is
    seen."""
    deviations: dict[tuple[str, str], float] = {}
    for of in rows.kinds:
        for component, level in of.items():
            if (component, level) not in anchors.effects:
                deviations[component, level] = _deviation(anchors, component, of[FAMILY])
    for effect in ((STEP_ERROR, name) for row in rows.errors for name in row):
        if effect not in anchors.effects:
            deviations[effect] = 1.0
    known, more = len(anchors.mean), len(deviations)
    covariance = np.zeros((known + more, known + more))
    covariance[:known, :known] = anchors.covariance
    covariance[known:, known:] = np.diag(np.square(list(deviations.values())))
    new = {effect: known + number for number, effect in enumerate(deviations)}
    return replace(
        anchors,
        effects={**anchors.effects, **new},
        mean=np.concatenate([anchors.mean, np.zeros(more)]),
        covariance=covariance,
    )


def _deviation(anchors: Anchors, component: str, family: str) -> float:
    """The standard deviation of an effect before any row is seen. Of a configuration it is the part
    of a published row's noise that is not between its batches."""
    if component != CONFIGURATION:
        return anchors.deviations[component]
    return float(np.sqrt(_noise(anchors, family) ** 2 - between_batches(anchors, family) ** 2))


def _design(anchors: Anchors, rows: Rows) -> Array:
    """Weights of the effects, (rows, effects)."""
    design = np.zeros((len(rows), len(anchors.mean)))
    for row, of in zip(design, rows.kinds, strict=True):
        for component, level in of.items():
            row[anchors.effects[component, level]] = _weight(anchors, component, of[FAMILY])
    design = design * np.reshape(rows.share, (-1, 1))
    for row, weights in zip(design, rows.errors, strict=False):
        for name, weight in weights.items():
            row[anchors.effects[STEP_ERROR, name]] = weight
    return np.asarray(design)


def drawn_errors(
    anchors: Anchors,
    kinds: Sequence[Mapping[str, str]],
    log_spreads: Sequence[float],
    draws: int,
) -> Array:
    """Factors by which the expected ones err, (draws, kinds), log-normal.

    Kinds that share a level share its error, so that it cancels in their ratio. Effects known are
    drawn from their posterior, others from before any row was seen, and every kind has noise of its
    own: of a configuration that was measured only that between batches. log_spreads: of measured
    efficiencies, (kinds,), which add to it.
    """
    log = np.zeros((draws, len(kinds)))
    effects = {effect for of in kinds for effect in of.items()}
    places = sorted(anchors.effects[effect] for effect in effects if effect in anchors.effects)
    known = dict(zip(places, _posterior_draws(anchors, places, draws).T, strict=True))
    for number, of in enumerate(kinds):
        family, noise = of[FAMILY], _noise(anchors, of[FAMILY])
        for component, level in of.items():
            at = anchors.effects.get((component, level))
            if component == CONFIGURATION:
                if at is None:  # a part of the noise
                    continue
                noise = between_batches(anchors, family)
            effect = _drawn_unknown(anchors, component, level, draws) if at is None else known[at]
            log[:, number] += _weight(anchors, component, family) * effect
        log[:, number] += np.hypot(noise, log_spreads[number]) * normal(
            f"computing: {_name(of)}", draws
        )
    return np.asarray(np.exp(log))


def _drawn_unknown(anchors: Anchors, component: str, level: str, draws: int) -> Array:
    """Draws of an effect that no row tells of, (draws,): half of them make steps longer."""
    drawn = normal(f"computing: {component} {level}", draws) * anchors.deviations[component]
    return np.asarray(np.where(drawn < 0, anchors.faster.get(component, 1.0), 1.0) * drawn)


def step_error(anchors: Anchors, name: str) -> float:
    """What an error of a step besides computing is expected to be: 0 where no rate says more."""
    at = anchors.effects.get((STEP_ERROR, name))
    return 0.0 if at is None else float(anchors.mean[at])


def drawn_step_error(anchors: Anchors, name: str, draws: int) -> Array | None:
    """Draws of it, (draws,), together with those of computing; None where no rate says more."""
    at = anchors.effects.get((STEP_ERROR, name))
    if at is None:
        return None
    return np.asarray(anchors.mean[at] + _posterior_draws(anchors, [at], draws)[:, 0])


def _posterior_draws(anchors: Anchors, effects: Sequence[int], draws: int) -> Array:
    """Deviations of some effects from their mean, (draws, effects)."""
    drawn = normal(KNOWN, draws, len(anchors.mean))
    return np.asarray(drawn @ _root(anchors)[:, effects])


@lru_cache(maxsize=8)
def _root(anchors: Anchors) -> Array:
    """The symmetric root of the effects' covariance, the one root that does not depend on the signs
    that a processor's linear algebra gives eigenvectors: draws are the same on all machines."""
    values, vectors = np.linalg.eigh(anchors.covariance)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)
