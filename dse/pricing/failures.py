"""The failures that a study's runs meet: its own terms, else those of the catalogue."""

from __future__ import annotations

import numpy as np

from dse import catalog
from dse.model.arrays import ArrayLike
from dse.model.goodput import IDEAL, SECONDS_PER_DAY, SECONDS_PER_MONTH, Failures
from dse.pricing.draws import normal
from dse.study.terms import StudyFailures


def failures(study: StudyFailures, draws: int = 0) -> Failures:
    """By the best estimates, or as many draws of them, (draws,).

    What the study gives is certain; what the catalogue has differs from cluster to cluster,
    log-normal, by one factor for all points.
    """
    if study.ideal:
        return IDEAL
    known = catalog.failure_terms()

    def term(name: str) -> ArrayLike:
        if name in study.given:
            return study.given[name]
        own = known.terms[name]
        if not draws:
            return own.value
        return np.asarray(own.value * np.exp(own.draws * normal(f"failures {name}", draws)))

    return Failures(
        per_accelerator_s=term("per_accelerator_month") / SECONDS_PER_MONTH,
        per_job_s=term("per_job_day") / SECONDS_PER_DAY,
        whole_job=known.whole_job,
        recover_s=term("recover"),
        checkpoint_s=term("checkpoint"),
        interval_s=study.given.get("interval"),
    )
