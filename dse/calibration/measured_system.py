"""The system that a profile was measured on, as the hardware of points, and what speaks for a
prediction there: the same :mod:`~dse.calibration.evidence` as in a study."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from dse.calibration.evidence import (
    MEASURED_ELEMENT_BYTES,
    Evidence,
    OfLibraryChoice,
    OfServers,
    of_algorithm,
)
from dse.calibration.library_part import AUTO
from dse.calibration.profile import Profile
from dse.errors import OutsideCalibration
from dse.model.aggregation.algorithms import ALGORITHMS
from dse.model.aggregation.base import Cluster, Gradients
from dse.model.aggregation.composed import Software
from dse.model.aggregation.measured_library import MeasuredLibrary
from dse.model.arrays import Array, ArrayLike, Mask
from dse.model.links import FREE
from dse.model.overlap import Bucket

_WIRE = Software(FREE, FREE)  # a message on a link of the system takes what the wire takes


@dataclass(frozen=True)
class MeasuredSystem(Cluster):
    """Layouts of the very hardware that was measured, at links of any speed.

    gpus, gpus_per_node: ranks and ranks per node; of parameter servers the workers, one per node.
    """

    own_inside_link: Mask = field(default_factory=lambda: np.ones((), dtype=bool))
    link_name: str = ""

    def has_device(self, measured: str) -> Mask:
        """It does."""
        del measured
        return np.asarray(True)

    def has_link(self, measured: str) -> Mask:
        """It does, whatever its speed."""
        del measured
        return np.asarray(True)

    def on_fabric(self, fabric: str) -> Mask:
        """It is what was measured, not a network of the catalogue."""
        del fabric
        return np.asarray(False)


def evidence_of(profile: Profile, algorithm: str) -> Evidence:
    """What speaks for a prediction of an algorithm on the system of the profile, which prices it.

    Where a library's rules choose, ask for the algorithm that they choose.
    Raises OutsideCalibration for an algorithm that the model or the profile lacks.
    """
    part = profile.servers(algorithm)
    if part is not None:
        return OfServers(profile, part, _WIRE, same_system=True)
    if algorithm == AUTO:
        if profile.auto is None:
            known = ", ".join(profile.measured_algorithms)
            problem = f"profile {profile.name} was measured with forced algorithms"
            raise OutsideCalibration(f"{problem}; choose --algorithm from {known}")
        choice = MeasuredLibrary(profile.auto.cost(), profile.link_bytes_per_s, 1.0, True)
        return OfLibraryChoice(profile, choice, same_system=True)
    if not profile.fits and algorithm not in profile.network:
        known = ", ".join(profile.measured_algorithms)
        problem = f"profile {profile.name} was not measured with '{algorithm}'"
        raise OutsideCalibration(f"{problem}; it measured {known or 'no allreduce'}")
    if algorithm not in ALGORITHMS:
        raise OutsideCalibration(f"unknown allreduce algorithm '{algorithm}'")
    return of_algorithm(profile, algorithm, _WIRE, same_system=True)


@dataclass(frozen=True)
class _OneMessage(Gradients):
    """Gradients that are summed as one message, of ``sizes`` bytes at the points, in shape S."""

    sizes: Array = field(kw_only=True)

    @cached_property
    def message_bytes(self) -> Array:
        """Of the message at every point: (1, *S)."""
        return self.sizes[np.newaxis]


def one_message(message_bytes: ArrayLike) -> Gradients:
    """Float32 gradients that are summed as one message, as a benchmark does.

    message_bytes: of every point, in their shape S.
    """
    sizes = np.asarray(message_bytes, dtype=np.float64)
    elements, largest = sizes[np.newaxis] / MEASURED_ELEMENT_BYTES, float(sizes.max(initial=0.0))
    return _OneMessage(
        elements, MEASURED_ELEMENT_BYTES, largest, (Bucket(0, largest),), elements,
        np.zeros(1, np.intp), sizes=sizes,
    )  # fmt: skip
