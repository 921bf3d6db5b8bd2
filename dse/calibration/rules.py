"""The rules by which the library of a profile chooses, where its choice was not measured."""

from __future__ import annotations

from collections.abc import Mapping

from dse.calibration.library_part import AUTO
from dse.calibration.profile import Profile
from dse.model.aggregation.library_rules import (
    BY_NAME,
    FLOAT_BYTES,
    MPICH,
    OPENMPI,
    Mpich,
    OpenMpi,
    Rules,
)

MPI_TRANSPORTS = ("mpi", "mpi-gdr")
MPI_RULES: Mapping[str, type[OpenMpi | Mpich]] = {OPENMPI: OpenMpi, MPICH: Mpich}


def mpi_library(name: str) -> str:
    """The MPI whose rules are taken for a library of that name: MPICH for itself, else Open MPI."""
    return MPICH if MPICH in name.lower() else OPENMPI


def mpi_rules(library: str, element_bytes: float = FLOAT_BYTES) -> Rules:
    """The rules of OPENMPI or MPICH, for elements of so many bytes."""
    return MPI_RULES[library](element_bytes)


def rules_of(profile: Profile, algorithm: str) -> Rules | None:
    """What chooses where ``algorithm`` is 'auto', 'auto-openmpi' or 'auto-mpich'; else None.

    'auto' has none where the profile measured the choice. NCCL's rules need the machine's links,
    which a profile does not hold.
    """
    if profile.transport not in MPI_TRANSPORTS:
        return None
    if algorithm in BY_NAME:
        return mpi_rules(BY_NAME[algorithm])
    unmeasured = algorithm == AUTO and profile.auto is None
    return mpi_rules(mpi_library(profile.library)) if unmeasured else None
