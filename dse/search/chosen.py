"""Whether a study may leave the algorithm to the library: only where that was measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from dse import catalog
from dse.calibration import Profile, read_profile
from dse.calibration.finding import CALIBRATIONS, profiles
from dse.errors import OutsideCalibration, StudyError
from dse.model.step import AUTO
from dse.study import Study, split_aggregation
from dse.yaml_source import Loc

MOST_NAMES = 6  # listed where a profile is missing


def check_chosen(study: Study, known: Mapping[str, Profile]) -> None:
    """Raise StudyError for an aggregation ``auto-<transport>`` that no profile of the study has."""
    for place, aggregation in _places(study):
        algorithm, transport = split_aggregation(aggregation)
        if algorithm == AUTO and not any(
            profile.auto and profile.transport == transport for profile in known.values()
        ):
            raise study.source.error(place, *_missing(transport))


def not_measured(transport: str) -> OutsideCalibration:
    """The error for a point that wants the library's own choice where no profile has it."""
    problem, remedy = _missing(transport)
    return OutsideCalibration(f"auto-{transport}: {problem}; {remedy}")


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


def _missing(transport: str) -> tuple[str, str]:
    """What is wrong, and what would be right."""
    problem = f"no profile of this study knows which algorithm {transport} chooses itself"
    names = _ready_made(transport)
    if names:
        more = f" (or {', '.join(names[1:MOST_NAMES])})" if names[1:] else ""
        return problem, f"write calibration: [{names[0]}]{more}"
    remedy = (
        "name an algorithm, as ring, or fit a log of it: dse calibrate import, dse calibrate fit"
    )
    return problem, remedy


def _ready_made(transport: str) -> list[str]:
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
