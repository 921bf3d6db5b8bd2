"""Whether, and by whose rules, a study may leave the algorithm to the library."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from dse import catalog
from dse.calibration import Profile, read_profile
from dse.calibration.profile_files import CALIBRATIONS, profiles
from dse.calibration.rules import mpi_library
from dse.errors import OutsideCalibration, StudyError
from dse.model.selection import BY_NAME, MPICH, NCCL, OPENMPI
from dse.model.step import AUTO
from dse.study import Study, split_aggregation
from dse.yaml_source import Loc

MOST_NAMES = 6  # listed where a profile is missing
# Libraries whose rules are known, by transport; without a profile the first chooses.
LIBRARIES: Mapping[str, tuple[str, ...]] = {
    "mpi": (OPENMPI, MPICH),
    "mpi-gdr": (OPENMPI, MPICH),
    "nccl": (NCCL,),
}


def is_chosen(algorithm: str) -> bool:
    """Whether this names no algorithm but that the library chooses."""
    return algorithm == AUTO or algorithm in BY_NAME


def ruling(algorithm: str, transport: str, known: Iterable[Profile]) -> str | None:
    """The library whose rules choose the algorithm; None if none do.

    ``auto`` is what was measured, where a profile has that. Else it is the rules of the library
    that the first profile of the transport was measured with, Open MPI's for one without rules.
    """
    libraries = LIBRARIES.get(transport, ())
    if algorithm in BY_NAME:
        return BY_NAME[algorithm] if BY_NAME[algorithm] in libraries else None
    mine = [profile for profile in known if profile.transport == transport]
    if algorithm != AUTO or not libraries or any(profile.auto for profile in mine):
        return None
    named = [profile.library for profile in mine if profile.fits or profile.network]
    return mpi_library(named[0]) if named and OPENMPI in libraries else libraries[0]


def check_chosen(study: Study, known: Mapping[str, Profile]) -> None:
    """Raise StudyError where the library is to choose, but nobody knows how it does."""
    for place, aggregation in _places(study):
        algorithm, transport = split_aggregation(aggregation)
        if not is_chosen(algorithm) or ruling(algorithm, transport, known.values()):
            continue
        measured = (profile.transport for profile in known.values() if profile.auto)
        if algorithm != AUTO or transport not in measured:
            raise study.source.error(place, *_missing(algorithm, transport))


def not_known(algorithm: str, transport: str) -> OutsideCalibration:
    """The error for a point that wants the library's own choice where nobody knows it."""
    problem, remedy = _missing(algorithm, transport)
    return OutsideCalibration(f"{algorithm}-{transport}: {problem}; {remedy}")


def _places(study: Study) -> Iterator[tuple[Loc, str]]:
    """Every aggregation a study names, and where."""
    axis = study.axis("aggregation")
    listed = isinstance(study.source.data["space"].get("aggregation"), list)
    for at, value in enumerate(axis.values if axis else ()):
        yield (("space", "aggregation", at) if listed else ("space", "aggregation")), str(value)
    for at, condition in enumerate(study.conditions):
        if condition.axis == "aggregation":
            for value in condition.values:
                yield ("when", at, "values"), str(value)
    if "aggregation" in study.baseline.values:
        yield ("baseline", "aggregation"), str(study.baseline.values["aggregation"])


def _missing(algorithm: str, transport: str) -> tuple[str, str]:
    """What is wrong, and what would be right."""
    if algorithm in BY_NAME:
        library = BY_NAME[algorithm]
        over = [name for name, libraries in LIBRARIES.items() if library in libraries]
        return f"{library} does not choose over {transport}", f"write {algorithm}-{over[0]}"
    problem = f"neither rules nor a profile tell which algorithm {transport} chooses itself"
    names = measured_choices(transport)
    if names:
        return problem, f"write calibration: [{names[0]}]{_or(names[1:MOST_NAMES])}"
    remedy = (
        "name an algorithm, as ring, or fit a log of it: dse calibrate import, dse calibrate fit"
    )
    return problem, remedy


def _or(names: list[str]) -> str:
    return f" (or {', '.join(names)})" if names else ""


def measured_choices(transport: str) -> list[str]:
    """Names of the profiles at hand that know what the library chooses over the transport."""
    found = []
    for folder in (CALIBRATIONS, catalog.models_dir() / "calibrations"):
        for path in profiles(folder):
            if _serves(path, transport) and path.stem not in found:
                found.append(path.stem)
    return found


def _serves(path: Path, transport: str) -> bool:
    try:
        profile = read_profile(path)
    except StudyError:  # not what the user asked about
        return False
    return profile.auto is not None and profile.transport == transport
