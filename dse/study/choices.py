"""What a study asks beside the best point: what is one choice, and what one axis alone is worth."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dse import units
from dse.mistakes import Unread
from dse.spelling import alternatives
from dse.study.cursor import Cursor
from dse.study.definition import Axis

RESOLUTION = 0.01  # when absent
MOST_RESOLUTION = 0.5
OUTCOMES = 1000  # that are simulated
SUREST = 1 - 1 / OUTCOMES  # a smaller risk than one outcome in all cannot be told from none


def alike(one: ArrayLike, other: ArrayLike, resolution: float) -> NDArray[np.bool_]:
    """Whether values differ by no more than so large a share of the larger one; they broadcast."""
    larger = np.maximum(np.abs(one), np.abs(other))
    return np.asarray(np.abs(np.subtract(one, other)) <= resolution * larger)


def too_sure(asked: float) -> tuple[str, str]:
    """What is wrong with a confidence that so many outcomes cannot carry, and what would be right;
    empty where nothing is."""
    if asked <= SUREST:
        return "", ""
    surest = f"{100 * SUREST:g} %"
    return (
        f"{OUTCOMES:,} simulated outcomes show no smaller risk than 1 in {OUTCOMES:,}, so that "
        f"{surest} is the highest confidence",
        f"write {SUREST:g} or less",
    )


def read_resolution(at: Cursor) -> float:
    """A share, ``1 %`` or ``0.01``, of at most one half; 0 where every point is by itself."""
    try:
        share = units.parse(at.value, "share")
    except units.UnitError:
        share = math.nan
    if not 0 <= share <= MOST_RESOLUTION:
        problem = f"resolution: {at.shown} is not a share from 0 to 50 %"
        raise at.wrong(problem, "write for example 1 %, or 0 for every point by itself")
    return share


def read_what_if(at: Cursor, axes: Mapping[str, Callable[[], Axis]]) -> str:
    """An axis of the space that has several values. axes: by name, any of which may be mistaken."""
    several = [name for name, axis in axes.items() if _several(axis)]
    remedy = "drop it: no axis of space has several values"
    if several:
        remedy = f"name one with several values: {alternatives(several)}"
    if not isinstance(at.value, str) or at.value not in axes:
        raise at.wrong(f"what_if: {at.shown} is not an axis of space", remedy)
    if at.value not in several:
        kind = "continuous" if axes[at.value]().continuous else "of one value alone"
        raise at.wrong(f"what_if: axis '{at.value}' is {kind}", remedy)
    return at.value


def _several(axis: Callable[[], Axis]) -> bool:
    try:
        return len(axis().values) > 1
    except Unread:  # as it will be once it is right
        return True
