"""What accelerators that work together lose, as a study takes it."""

from __future__ import annotations

from dse import catalog
from dse.model.scale import IDEAL, Scale
from dse.study import PAI, Study

IDEAL_SCALE = "ideal"  # a study's word for it


def losses(study: Study, workload: catalog.Workload) -> tuple[Scale, Scale]:
    """What accelerators lose to one another, and standard deviations of the logarithms of these
    terms; nothing by the closed model, which knows of none."""
    if study.scale == IDEAL_SCALE or study.model == PAI:
        return IDEAL, IDEAL
    terms = catalog.scale_terms()
    spread = terms.varying_spread if workload.varying_length else terms.spread
    parts = (spread, terms.slowdown, terms.sharing)
    return Scale(*(part.value for part in parts)), Scale(*(part.draws for part in parts))
