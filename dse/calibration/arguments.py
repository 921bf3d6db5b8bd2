"""Arguments of the commands on profiles: lists of sizes and counts, algorithms, layouts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path

from dse.calibration.library_part import AUTO
from dse.calibration.profile import Profile
from dse.calibration.ps_part import PS
from dse.errors import ArgumentError, OutsideCalibration, StudyError
from dse.model.aggregation.algorithms import ALGORITHMS
from dse.model.aggregation.library_rules import BY_NAME
from dse.spelling import LONGEST, meant
from dse.units import UnitError, parse

MOST_RANKS = 10**9
MOST_BYTES = 2**60
_NOT_WHOLE = "is not a whole number"


def sizes(text: str) -> tuple[int, ...]:
    """'4KiB,1MiB,4096' -> whole bytes; a plain number is in bytes. Raises StudyError otherwise."""

    def read(part: str) -> float:
        try:
            return parse(part, "count")
        except UnitError:
            return parse(part, "bytes")

    return _list(text, "--bytes", read, MOST_BYTES, "4KiB,1MiB,1GiB")


def counts(text: str, option: str) -> tuple[int, ...]:
    """'8,128,1e6' -> whole numbers of at least 1. Raises StudyError otherwise."""
    return _list(text, option, lambda part: parse(part, "count"), MOST_RANKS, "8,128")


def named(given: str | None, known: Sequence[str], option: str) -> str | None:
    """One of the ``known`` names; None stays None.

    Raises StudyError, with a suggestion, for any other name.
    """
    if given is None or given in known:
        return given
    remedy = meant(given, known, f"choose from {', '.join(known)}")
    raise ArgumentError(option, f"'{given}' is not known", remedy)


def link_speed(text: str | None) -> float | None:
    """'25 Gbps' -> bytes per second; None stays None. Raises StudyError otherwise."""
    if text is None:
        return None
    try:
        speed = parse(text, "bytes_per_s")
    except UnitError as cause:
        raise ArgumentError("--link-bandwidth", cause.problem, cause.remedy) from None
    if speed <= 0:
        raise ArgumentError(
            "--link-bandwidth", "the speed must be positive", "write for example 25 Gbps"
        )
    return speed


def link_name(text: str | None) -> str | None:
    """The name of a network; None stays None. Raises StudyError for a speed or an unusable name."""
    if text is None:
        return None
    name = text.strip()
    if not name or not name.isprintable() or len(name) > LONGEST:
        raise ArgumentError(
            "--link", f"'{name[:LONGEST]}' is not a name", "write for example ib-hdr"
        )
    if _is_number(name):
        remedy = f"give --link-bandwidth '{name}', and --link a name such as ib-hdr"
        raise ArgumentError("--link", f"'{name}' is a speed, not a name", remedy)
    return name


def _is_number(text: str) -> bool:
    """Whether a text is a number with or without a unit of speed or size."""
    for dimension in ("bytes_per_s", "bytes", "count"):
        try:
            parse(text, dimension)
        except UnitError:
            continue
        return True
    return False


def check_budget(budget_s: float) -> None:
    """Refuse a budget that is not positive."""
    if not 0 < budget_s < math.inf:
        raise ArgumentError("--budget", "must be positive", "write for example 60", "budget_s")


def check_profile_name(name: str) -> None:
    """Refuse a name that is not a file's."""
    if not name or name != Path(name).name or name.startswith("."):
        raise ArgumentError("--name", f"'{name}' is not a file name", "use letters and dashes")


def check_once(paths: Sequence[str | PathLike[str]]) -> None:
    """Refuse a file given twice: its times would count as two runs that agree."""
    seen: dict[Path, str] = {}
    for path in map(str, paths):
        place = Path(path).resolve()
        if place in seen:
            problem = "is given twice" if seen[place] == path else f"is the same as {seen[place]}"
            raise StudyError(path, 0, 0, problem, "give it once")
        seen[place] = path


def _list(
    text: str, option: str, read: Callable[[str], float], most: int, example: str
) -> tuple[int, ...]:
    found = []
    for part in text.split(","):
        try:
            value = read(part.strip())
        except UnitError as cause:
            problem = cause.problem if option == "--bytes" else f"'{part.strip()}' {_NOT_WHOLE}"
            if not part.strip():
                problem = f"a value is missing in '{text}'"
            remedy = f"write for example {example}"
            if problem.endswith("in bits"):
                remedy = cause.remedy
            raise ArgumentError(option, problem, remedy) from None
        if value < 1 or value > most:
            problem = f"'{part.strip()}' is not between 1 and {most:g}"
            raise ArgumentError(option, problem, f"write for example {example}")
        if value != round(value) and option != "--bytes":
            problem = f"'{part.strip()}' {_NOT_WHOLE}"
            raise ArgumentError(option, problem, f"write for example {example}")
        found.append(round(value))
    return tuple(dict.fromkeys(found))


def algorithms(profile: Profile, given: str | None) -> tuple[str, ...]:
    """The algorithms to predict: the one given, else 'auto' if measured, else all those measured.

    Raises StudyError for an unknown algorithm, OutsideCalibration if none was measured.
    """
    if given is not None:
        named(given, tuple(dict.fromkeys((*ALGORITHMS, AUTO, *BY_NAME, PS))), "--algorithm")
        return (given,)
    measured = profile.measured_algorithms
    found = (AUTO,) if AUTO in measured else tuple(a for a in measured if a in ALGORITHMS)
    if not found:
        problem = f"profile {profile.name} has no allreduce measurements"
        raise OutsideCalibration(f"{problem}; give --algorithm")
    return found


def server_algorithm(
    profile: Profile, algorithm: str | None, servers: Sequence[int] | None
) -> str | None:
    """'ps' or 'ps-TRANSPORT' if parameter servers are asked for; None if allreduce is.

    Raises StudyError if ``servers`` is given with another algorithm, OutsideCalibration if no
    parameter servers were measured.
    """
    only = bool(profile.ps) and not profile.measured_algorithms
    name = PS if algorithm is None and (only or servers is not None) else algorithm
    if name is None or not (name == PS or name.startswith(f"{PS}-")):
        if servers is not None:
            raise ArgumentError("--servers", f"'{name}' uses no servers", f"give --algorithm {PS}")
        return None
    if profile.servers(name) is None:
        known = ", ".join([*profile.measured_algorithms, *(f"{PS}-{t}" for t in profile.ps)])
        problem = f"profile {profile.name} did not measure {name}"
        raise OutsideCalibration(f"{problem}; it measured {known or 'no communication'}")
    return name
