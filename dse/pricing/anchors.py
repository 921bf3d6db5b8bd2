"""By what factor training takes longer than its rows of work, and how sure that is."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from zlib import crc32

import numpy as np

from dse.catalog import Accelerator, Anchors, Workload
from dse.catalog.computing import FORMATS, OTHER
from dse.model.arrays import Array

FAMILY, WORKLOAD, SOURCE, UNSEEN = "family", "workload", "source", "unseen generation"
# Components whose effects are multiplied by the scatter of the family.
SCATTERED = frozenset({
    "family format generation", "family stack", "accelerator", "network", WORKLOAD, SOURCE
})  # fmt: skip
DRAWS_SEED = 2026
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
    }


def _weight(anchors: Anchors, component: str, family: str) -> float:
    """Of an effect in the sum."""
    return anchors.scatter.get(family, 1.0) if component in SCATTERED else 1.0


def log_factor(anchors: Anchors, of: Mapping[str, str]) -> float:
    """The expected logarithm of the factor: the sum of the effects known, 0 of all others."""
    return float(sum(
        _weight(anchors, component, of[FAMILY]) * anchors.mean[anchors.effects[component, level]]
        for component, level in of.items()
        if (component, level) in anchors.effects
    ))  # fmt: skip


def drawn_errors(
    anchors: Anchors,
    kinds: Sequence[Mapping[str, str]],
    log_spreads: Sequence[float],
    draws: int,
) -> Array:
    """Factors by which the expected ones err, (draws, kinds), log-normal.

    Kinds that share a level share its error, so that it cancels in their ratio. Effects known are
    drawn from their posterior, others from before any row was seen, and every kind has noise of its
    own. log_spreads: of measured efficiencies, (kinds,), which add to it.
    """
    log = np.zeros((draws, len(kinds)))
    known = _posterior_draws(anchors, draws)
    for number, of in enumerate(kinds):
        family = of[FAMILY]
        for component, level in of.items():
            at = anchors.effects.get((component, level))
            effect = (
                _normal(f"{component} {level}", draws) * anchors.deviations[component]
                if at is None
                else known[:, at]
            )
            log[:, number] += _weight(anchors, component, family) * effect
        noise = np.hypot(anchors.noise * anchors.scatter.get(family, 1.0), log_spreads[number])
        log[:, number] += noise * _normal(" ".join(of.values()), draws)
    return np.asarray(np.exp(log))


def _posterior_draws(anchors: Anchors, draws: int) -> Array:
    """Deviations of the effects from their mean, (draws, effects)."""
    values, vectors = np.linalg.eigh(anchors.covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    normal = np.random.default_rng(DRAWS_SEED).standard_normal((draws, len(values)))
    return np.asarray(normal @ root.T)


def _normal(name: str, draws: int) -> Array:
    return np.random.default_rng(crc32(name.encode())).standard_normal(draws)
