"""Whether an aggregation was measured like this, why not, and how wide its error is.

All arrays broadcast to the points' shape S, see :class:`~dse.model.aggregation.base.Layout`. The
messages of gradients have the same sizes at all points, (messages,), or sizes of their own at each,
(messages, *S).
"""

from dse.calibration.evidence.base import SAME_KIND, Evidence, Grade, Surroundings, Unmeasured
from dse.calibration.evidence.checks import MEASURED_ELEMENT_BYTES
from dse.calibration.evidence.fits import BetweenNodes, OfAlgorithm, OfLibraryChoice, OfServers
from dse.calibration.evidence.joined import ByLayoutEvidence, OfRules, by_nodes, of_algorithm

__all__ = [
    "MEASURED_ELEMENT_BYTES",
    "SAME_KIND",
    "BetweenNodes",
    "ByLayoutEvidence",
    "Evidence",
    "Grade",
    "OfAlgorithm",
    "OfLibraryChoice",
    "OfRules",
    "OfServers",
    "Surroundings",
    "Unmeasured",
    "by_nodes",
    "of_algorithm",
]
