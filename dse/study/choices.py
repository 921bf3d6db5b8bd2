"""What a study asks beside the best point: what is one choice, and what one axis alone is worth."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dse.mistakes import Unread
from dse.spelling import alternatives
from dse.study.axes import axis_called
from dse.study.cursor import Cursor
from dse.study.definition import Axis

RESOLUTION = 0.01  # when absent
OUTCOMES = 1000  # that are simulated
SUREST = 1 - 1 / OUTCOMES  # a smaller risk than one outcome in all cannot be told from none


def alike(one: ArrayLike, other: ArrayLike, resolution: float) -> NDArray[np.bool_]:
    """Whether values differ by no more than so large a share of the larger one; they broadcast."""
    larger = np.maximum(np.abs(one), np.abs(other))
    return np.asarray(np.abs(np.subtract(one, other)) <= resolution * larger)


def read_what_if(at: Cursor, axes: Mapping[str, Callable[[], Axis]]) -> str:
    """An axis of the space that has several values. axes: by name, any of which may be mistaken."""
    several = [name for name, axis in axes.items() if _several(axis)]
    remedy = "drop it: no axis of space has several values"
    if several:
        remedy = f"name one with several values: {alternatives(several)}"
    name = axis_called(at.value) if isinstance(at.value, str) else ""
    if name not in axes:
        raise at.wrong(f"what_if: {at.shown} is not an axis of space", remedy)
    if name not in several:
        kind = "continuous" if axes[name]().continuous else "of one value alone"
        raise at.wrong(f"what_if: axis '{name}' is {kind}", remedy)
    return name


def _several(axis: Callable[[], Axis]) -> bool:
    try:
        return len(axis().values) > 1
    except Unread:  # as it will be once it is right
        return True
