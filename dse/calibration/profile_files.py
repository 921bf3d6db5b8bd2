"""The file of a profile, given by its path or by its name in a folder of profiles."""

from __future__ import annotations

import os
from pathlib import Path

from dse.calibration.files import PROFILE, check_replaces
from dse.errors import ArgumentError, StudyError
from dse.spelling import meant
from dse.yaml_source import Loc, Source

CALIBRATIONS = Path("calibrations")  # where `dse calibrate run` puts its profiles
SUFFIXES = (".yaml", ".yml", ".json")
MOST_NAMES = 12  # listed where a name is not found
LONGEST_NAME = 200


def find_profile(given: str | Path, shipped: Path) -> Path:
    """The file of a profile: ``given`` if it is a path, else NAME.yaml in ./calibrations or in
    ``shipped``, the folder of those that come with dse.

    Raises StudyError, with similar names and how to make a profile, if there is none.
    """
    name = str(given)
    if os.sep in name or name.endswith(SUFFIXES) or len(name) > LONGEST_NAME:
        return Path(name)
    for path in (CALIBRATIONS / f"{name}.yaml", shipped / f"{name}.yaml", Path(name)):
        if os.path.isfile(path):
            return path
    if os.path.isdir(name):
        problem = "is a folder, and no profile has that name"
        raise StudyError(name, 0, 0, problem, "name a file in it")
    known = sorted({path.stem for folder in (CALIBRATIONS, shipped) for path in profiles(folder)})
    near = meant(name, known)
    remedy = f"measure one: dse calibrate run --name {name or 'this-machine'}"
    if near:
        remedy += f", or {near}"
    elif known:
        more = ", ..." if len(known) > MOST_NAMES else ""
        remedy += f", or use {', '.join(known[:MOST_NAMES])}{more}"
    where = f"./{CALIBRATIONS} or among those that come with dse"
    raise StudyError(name or "PROFILE", 0, 0, f"no calibration profile '{name}' in {where}", remedy)


def profile_of_study(source: Source, name: str, position: int, shipped: Path) -> Path:
    """The same for the ``position``-th name under ``calibration`` of a study; StudyError there."""
    try:
        return find_profile(name, shipped)
    except StudyError as cause:
        given = source.data["calibration"]
        where: Loc = ("calibration", position) if isinstance(given, list) else ("calibration",)
        if isinstance(given, dict):  # profiles by fabric
            where = ("calibration", next(key for key, value in given.items()
                                         if value == name or name in value))  # fmt: skip
        raise source.error(where, cause.problem, cause.remedy) from None


def check_replaces_profile(path: Path, rates: bool, option: str = "--name") -> None:
    """Raise ArgumentError rather than lose a file that is no profile, or a profile of another kind:
    a table of training rates by what was measured of communication, or the other way round.

    rates: what is to be written. option: by which its path was given.
    """
    from dse.calibration.profile import read_profile

    check_replaces(path, PROFILE, option)
    if not os.path.isfile(path):
        return
    try:
        there = read_profile(path)
    except StudyError:  # of no use to anybody, or no profile, which is told elsewhere
        return
    if there.only_rates != rates:
        kind = "training rates" if there.only_rates else "measurements"
        problem = f"'{path}' is a profile of {kind}, which would be lost"
        raise ArgumentError(option, problem, "choose another name, or remove it")


def profiles(folder: Path) -> list[Path]:
    """The profile files of a folder, sorted; measurement files beside them are .json."""
    return sorted(folder.glob("*.yaml"))
