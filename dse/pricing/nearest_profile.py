"""Which of several profiles prices a point, or whether the catalogue does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.calibration.evidence import SAME_KIND, Evidence, Surroundings
from dse.model.aggregation.base import Bucketed
from dse.model.arrays import Array

# Scores of profiles are likenesses, 0 or more, where they apply. Those below order what is left:
# the catalogue before a profile of another kind of hardware, that before one without a price, and
# last one that the study names for other networks.
CATALOGUE, OF_ANOTHER_KIND, UNPRICED, FOR_OTHER_NETWORKS = -1.0, -20.0, -30.0, -40.0


@dataclass(frozen=True)
class NearestProfile:
    """The position of the profile that prices a point: a function of its layout.

    Of the profiles that have a price there, the one whose hardware is most like the point's (see
    :meth:`~dse.calibration.evidence.Evidence.likeness`), of equals the first of the study. The
    catalogue, if it comes last, prices what no profile is for and what is of another kind than all
    that was measured: its costs are facts of the very hardware, and so is its error. A profile
    that the study names for a network applies there whatever it measured.

    models, evidence: of each profile, and of the catalogue if that comes last. fabrics: of each
    profile the networks that it is for alone, empty for any.
    """

    models: tuple[Bucketed, ...]
    evidence: tuple[Evidence, ...]
    fabrics: tuple[frozenset[str], ...]

    def __call__(self, layout: Any) -> NDArray[np.intp]:
        """Position in ``models``, for every point of a layout that knows its Surroundings."""
        scores = [self._score(position, layout) for position in range(len(self.fabrics))]
        if len(self.models) > len(self.fabrics):
            scores.append(np.asarray(CATALOGUE))
        return np.asarray(np.argmax(np.stack(np.broadcast_arrays(*scores)), axis=0))

    def _score(self, position: int, layout: Surroundings) -> Array:
        """How well a profile fits each point."""
        likeness, fabrics = self.evidence[position].likeness(layout), self.fabrics[position]
        if fabrics:
            on_one = np.any([layout.on_fabric(fabric) for fabric in fabrics], axis=0)
            score = np.where(on_one, likeness, FOR_OTHER_NETWORKS)
        else:
            same = likeness >= SAME_KIND
            score = np.where(same, likeness, likeness + OF_ANOTHER_KIND)
        return np.where(self.models[position].priced(layout), score, np.minimum(score, UNPRICED))
