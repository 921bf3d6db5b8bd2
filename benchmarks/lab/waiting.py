"""Waiting for something to come about, where one can only look again."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from dse.errors import MeasurementError

T = TypeVar("T")
LOOK_S = 0.05


def until(condition: Callable[[], T], deadline_s: float, what: str) -> T:
    """The first true value of ``condition``.

    Raises MeasurementError, which says that ``what`` did not come about, after ``deadline_s``.
    """
    deadline = time.monotonic() + deadline_s
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise MeasurementError(f"{what}: not within {deadline_s:g} s")
        time.sleep(LOOK_S)
    return found
