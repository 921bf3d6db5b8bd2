"""What the commands on profiles are asked: lists of sizes and counts, algorithms, layouts."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Sequence

from dse.calibration.library_part import AUTO
from dse.calibration.profile import Point, Profile
from dse.errors import OutsideCalibration, StudyError
from dse.model.collectives import ALGORITHMS
from dse.units import UnitError, parse

MOST_RANKS = 10**9
MOST_BYTES = 2**60


def sizes(text: str, option: str = "--bytes") -> tuple[int, ...]:
    """'4KiB,1MiB,4096' -> whole bytes; a plain number is bytes. StudyError for what is no size."""

    def read(part: str) -> float:
        try:
            return parse(part, "count")
        except UnitError:
            return parse(part, "bytes")

    return _list(text, option, read, MOST_BYTES, "4KiB,1MiB,1GiB")


def counts(text: str, option: str) -> tuple[int, ...]:
    """'8,128,1e6' -> whole numbers from 1 up. StudyError for what is none."""
    return _list(text, option, lambda part: parse(part, "count"), MOST_RANKS, "8,128")


def count(text: str | None, option: str) -> int | None:
    """One whole number from 1 up; None stays None."""
    if text is None:
        return None
    found = counts(text, option)
    if len(found) > 1:
        raise StudyError(option, 0, 0, f"'{text}' is more than one value", "give one")
    return found[0]


def check_budget(budget_s: float) -> None:
    """Refuse a budget that is no time."""
    if not 0 < budget_s < math.inf:
        raise StudyError("--budget", 0, 0, f"{budget_s:g} s is no time", "give for example 60")


def _list(
    text: str, option: str, read: Callable[[str], float], most: int, example: str
) -> tuple[int, ...]:
    found = []
    for part in text.split(","):
        try:
            value = read(part.strip())
        except UnitError as cause:
            problem = f"{cause.problem}" if part.strip() else f"'{text}' lacks a value"
            raise StudyError(option, 0, 0, problem, f"write for example {example}") from None
        if value < 1 or value > most:
            problem = f"'{part.strip()}' is not from 1 to {most:g}"
            raise StudyError(option, 0, 0, problem, f"write for example {example}")
        if value != round(value) and option != "--bytes":
            problem = f"'{part.strip()}' is not a whole number"
            raise StudyError(option, 0, 0, problem, f"write for example {example}")
        found.append(round(value))
    return tuple(dict.fromkeys(found))


def algorithms(profile: Profile, given: str | None) -> tuple[str, ...]:
    """The algorithms to predict: the one given, else 'auto' if measured, else every one measured.

    Raises StudyError for a name that is no algorithm, OutsideCalibration where none is measured.
    """
    if given is not None:
        known = tuple(dict.fromkeys((*ALGORITHMS, AUTO)))
        if given not in known:
            near = difflib.get_close_matches(given, known, n=1, cutoff=0.4)
            remedy = f"did you mean {near[0]}?" if near else f"choose from {', '.join(known)}"
            raise StudyError("--algorithm", 0, 0, f"'{given}' is not known", remedy)
        return (given,)
    measured = profile.measured_algorithms
    found = (AUTO,) if AUTO in measured else tuple(a for a in measured if a in ALGORITHMS)
    if not found:
        raise OutsideCalibration(f"profile {profile.name} holds no allreduce; give --algorithm")
    return found


def local_ranks(profile: Profile, point: Point) -> int:
    """Ranks of a full node where a point was measured; all of them if there was one node only."""
    return point.ranks if profile.max_nodes <= 1 else min(point.ranks, point.ranks_per_node)


def usual_ranks_per_node(profile: Profile, ranks: int) -> int:
    """Where nothing is said: all ranks on one node, or as many as a full node had that was measured
    beside others."""
    if profile.max_nodes <= 1:
        return ranks
    local = [point.ranks_per_node for point in profile.points if point.ranks_per_node < point.ranks]
    fallback = profile.auto.ranks_per_node[1] if profile.auto else 1
    return min(ranks, max(local, default=fallback))


def check_ranks_per_node(ranks_per_node: int | None, ranks: Sequence[int]) -> None:
    """Refuse nodes that hold more than all ranks of the largest layout asked for."""
    if ranks_per_node is not None and ranks_per_node > max(ranks):
        problem = f"{ranks_per_node:,} ranks per node are more than all {max(ranks):,} ranks"
        raise StudyError("--ranks-per-node", 0, 0, problem, "give fewer, or leave it out")
