"""What a profile is good for, in a sentence: by what it measured, and what it missed when held out.

Of every size the error is the median over rank counts of the absolute relative error of times that
a fit had not seen (:class:`~dse.calibration.profile.Point`): of rank counts, or of sizes, which is
said, since a fit misses rank counts that it has not seen by more. A size is good where that is at
most :data:`GOOD`; the range that is named is the widest, by octaves, that begins and ends at good
sizes and in which at most the share :data:`BAD` is not good.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations_with_replacement
from math import hypot, inf, log2, sqrt
from statistics import median

from dse.calibration.number_text import percent, size_text, span_text
from dse.calibration.profile import Point, Profile, measured_speeds

GOOD = 0.25  # of a size's median error
BAD = 0.2
DIFFERENT = 1.5  # times the error of medians: runs were apart
BUSY_CORES = 0.1  # used by other processes while measuring: times come out too long
LEFT_OUT = {"ranks": "rank counts", "sizes": "sizes"}  # what a fit had not seen


def verdict(profile: Profile) -> tuple[str, ...]:
    """A sentence for each algorithm that was measured, and what the profile cannot say.

    Nothing for a profile without allreduce.
    """
    algorithms = profile.measured_algorithms
    return (*_said(profile, algorithms), *_limits(profile)) if algorithms else ()


def good_for(profile: Profile, algorithms: Collection[str]) -> str:
    """The sentences of some algorithms alone; empty where none of them was measured."""
    return "; ".join(_said(profile, [n for n in profile.measured_algorithms if n in algorithms]))


def _said(profile: Profile, algorithms: Sequence[str]) -> Iterator[str]:
    """A sentence for each of these, with its name where there are several."""
    for name in algorithms:
        yield f"{f'{name}: ' if len(algorithms) > 1 else ''}{_judged(profile, name)}"


def _judged(profile: Profile, algorithm: str) -> str:
    """What one algorithm's prices are good for."""
    points = [point for point in profile.points if point.algorithm == algorithm]
    apart = _apart(profile, algorithm, points)
    if not points:
        return "not checked, as the profile has none of the times that it was fitted on"
    errors = _errors(points, apart)
    if not errors:
        return "not checked, as too little was measured to leave any out of the fit"
    by_sizes = profile.held_out(algorithm) == "sizes"
    unseen = LEFT_OUT[profile.held_out(algorithm)]
    good = _widest(errors)
    if not good:
        missed = percent(median(errors.values()))
        return f"of little use: {unseen} left out of the fit are missed by {missed} (median)"
    left_out = [(point.bytes in good, error) for point, error in _held_out(points, apart)]
    inside = median(error for near, error in left_out if near)
    beside = [error for near, error in left_out if not near]
    elsewhere = f", at other sizes by {percent(median(beside))}" if beside else ""
    counts = {point.ranks for point in points}
    several = by_sizes and len(counts) > 1
    unchecked = "; how other rank counts are missed was not checked" if several else ""
    sizes = " to ".join(dict.fromkeys(map(size_text, (good[0], good[-1]))))
    ranks = span_text(min(counts), max(counts))
    return (
        f"good for {sizes}, {ranks} ranks: {unseen} left out of the fit are missed by "
        f"{percent(inside)} (median){elsewhere}{unchecked}"
    )


def _limits(profile: Profile) -> Iterator[str]:
    """What a study must not ask of the profile."""
    counts = {point.ranks for point in profile.points}
    if len(counts) == 1:
        (only,) = counts
        yield f"only {only:,} ranks were measured: other numbers of them are a guess"
    if profile.background_cores > BUSY_CORES:
        yield (
            f"other processes used {profile.background_cores:.1f} of {profile.cores} cores "
            "meanwhile, so its times are too long: measure again when nothing else runs"
        )
    if profile.max_nodes <= 1:
        yield "one node was measured: it says nothing of a network between nodes"
    elif all(measured_speeds(profile, name) is None for name in profile.measured_algorithms):
        yield (
            "how fast the network was is not known, so the profile cannot tell which network to "
            "buy: state it by --link-bandwidth"
        )


def _errors(points: Sequence[Point], apart: float) -> dict[int, float]:
    """The median error of every size that was held out, by size, ascending."""
    missed: dict[int, list[float]] = {}
    for point, error in _held_out(points, apart):
        missed.setdefault(point.bytes, []).append(error)
    return {size: median(missed[size]) for size in sorted(missed)}


def _held_out(points: Sequence[Point], apart: float) -> Iterator[tuple[Point, float]]:
    """What was left out of the fit, and by what share that missed it. apart: of :func:`_apart`."""
    for point in points:
        if point.held_out_s is not None:
            yield point, hypot(point.held_out_s / point.measured_s - 1, apart)


def _apart(profile: Profile, algorithm: str, points: Sequence[Point]) -> float:
    """By what share runs of the same thing differ, where that is more than noise: a fit of their
    medians misses either by it, and the profile's own error has it."""
    own = median([error for _, error in _held_out(points, 0.0)] or [inf])
    error = profile.error(algorithm)
    return sqrt(error**2 - own**2) if error > DIFFERENT * own else 0.0


def _widest(errors: Mapping[int, float]) -> list[int]:
    """The sizes of the widest good range, ascending; empty where no size is good."""
    sizes, good = list(errors), [error <= GOOD for error in errors.values()]
    ends = [
        (first, last)
        for first, last in combinations_with_replacement(range(len(sizes)), 2)
        if good[first]
        and good[last]
        and good[first : last + 1].count(False) <= BAD * (last + 1 - first)
    ]
    if not ends:
        return []
    first, last = max(ends, key=lambda at: (log2(sizes[at[1]] / sizes[at[0]]), at[1]))
    return sizes[first : last + 1]
