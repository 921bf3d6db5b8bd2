"""How long a run is: a study's target in samples, by the global batch."""

from __future__ import annotations

import math

import numpy as np

from dse import catalog
from dse.catalog import QualityTarget
from dse.model.convergence import Convergence
from dse.pricing.draws import normal
from dse.spelling import meant
from dse.study import Study
from dse.study.objectives import TARGETS


def quality_of(study: Study) -> QualityTarget | None:
    """The quality that runs train to; None where their length is given, or none is."""
    target = study.target
    return catalog.quality_target(target.quality) if target and target.quality else None


def convergence(study: Study, workload: catalog.Workload) -> Convergence | None:
    """The samples of a run; None where the study has no target.

    The target must be one of :func:`check`.
    """
    target = study.target
    if target is None:
        return None
    if found := quality_of(study):
        return Convergence(found.least_samples, found.critical_batch, found.fitted)
    if target.tokens is not None:
        return Convergence(target.tokens / (workload.tokens_per_sample or math.nan))
    if target.epochs is not None:
        return Convergence(target.epochs * (target.epoch_samples or math.nan))
    return Convergence(target.samples)


def drawn(curve: Convergence, quality: QualityTarget | None, draws: int) -> Convergence:
    """The same with both parameters as draws, (draws,), log-normal and correlated; all points of a
    study have the same draws. A length that the study gives is certain."""
    if quality is None:
        return curve
    least, other = (normal(name, draws) for name in ("least samples", "critical batch"))
    along = quality.correlation
    critical = along * least + math.sqrt(1 - along**2) * other
    return Convergence(
        curve.least_samples * np.exp(quality.least_samples_spread * least),
        curve.critical_batch * np.exp(quality.critical_batch_spread * critical),
        curve.fitted,
    )


def check(study: Study, workload: catalog.Workload) -> None:
    """Raise where the study's target says nothing of its workload."""
    target = study.target
    if target is None:
        return
    if target.tokens is not None and workload.tokens_per_sample is None:
        raise study.source.error(
            ("target", "tokens"),
            f"how many tokens a sample of {workload.name} has is not known",
            "give target: {samples: ..}, or a workload file with tokens_per_sample",
        )
    if target.quality is not None:
        _check_quality(study, target.quality, workload)
        return
    curve = convergence(study, workload)
    if curve is not None and curve.least_samples < 1:
        unit = next(name for name in TARGETS if getattr(target, name) is not None)
        of = f" of {workload.tokens_per_sample:g} tokens" if unit == "tokens" else ""
        raise study.source.error(
            ("target", unit), f"a run of less than one sample{of}", f"give all {unit} of a run"
        )


def _check_quality(study: Study, name: str, workload: catalog.Workload) -> None:
    place = ("target", "quality")
    known = catalog.names("convergence")
    mine = [one.name for one in catalog.quality_targets() if one.workload == workload.name]
    if not catalog.is_path(name) and name not in known:
        listed = f"known: {', '.join(known)}"
        remedy = meant(name, mine or known, listed)
        raise study.source.error(place, f"no quality target '{name}'", remedy)
    found = quality_of(study)
    assert found is not None, "a study with a quality has none"
    if found.workload == workload.name:
        return
    problem = f"{found.name} is a quality of {found.workload}, not of {workload.name}"
    remedy = f"write {' or '.join(mine)}" if mine else "give target: {samples: ..}"
    raise study.source.error(place, problem, remedy)
