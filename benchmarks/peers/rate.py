"""How often a function is called per second, on one core.

Imports the standard library only: other tools' environments run it too.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

CALLS = 20  # between two looks at the clock


@contextmanager
def one_core() -> Iterator[None]:
    """This thread, and what it starts, on one core only, where the system can do that."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def rate(call: Callable[[int], object], seconds: float, repeats: int) -> dict[str, Any]:
    """Calls per second of CPU and of the clock: medians over repeats of at least ``seconds`` each.

    call: takes the number of the call, from 0 on. It is called a few times before.
    """
    for number in range(CALLS):
        call(number)
    calls, cpu, wall = 0, [], []
    for _ in range(repeats):
        first, began = calls, (time.process_time(), time.perf_counter())
        while calls == first or time.process_time() - began[0] < seconds:
            for number in range(calls, calls + CALLS):
                call(number)
            calls += CALLS
        cpu.append((calls - first) / max(time.process_time() - began[0], 1e-9))
        wall.append((calls - first) / (time.perf_counter() - began[1]))
    return {"per_cpu_s": statistics.median(cpu), "per_s": statistics.median(wall), "calls": calls}
