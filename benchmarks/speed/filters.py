"""Which points are not dominated: dse's function beside moocore's and Optuna's, on one core.

Each gets the points as it wants them, and ties stay. No time counts unless all keep the
same points.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.peers.rate import one_core
from benchmarks.speed.sweeps import measured
from benchmarks.speed.table import Table, number
from dse.model.arrays import Array
from dse.search import pareto
from dse.search.pareto import Indices

SIZES = (1_000, 10_000, 100_000, 1_000_000)
OBJECTIVES = (2, 3)
KINDS = ("independent", "correlated", "correlated, ties")
REPEATS = 3
TOO_LONG_S = 0.5  # one that took longer is not asked about ten times as many points, nor again
LEVELS = 1e4  # values of an objective, where there are ties
TRADE = 0.05  # how far from the best trade-off correlated points are


def points_of(kind: str, objectives: int, size: int) -> Array:
    """Objectives to be minimised, shape (size, objectives); the first is a gain with its sign."""
    chance = np.random.default_rng(size)
    costs = chance.random((size, objectives - 1))
    if kind == "independent":
        gain = chance.random(size)
    else:  # more for more money
        gain = costs.mean(axis=1) - TRADE * np.abs(chance.standard_normal(size))
    points = np.column_stack([-gain, costs])
    return np.round(points * LEVELS) / LEVELS if "ties" in kind else points


def by_dse(points: Array) -> Callable[[], object]:
    """Positions."""
    loss, *costs = (np.ascontiguousarray(column) for column in points.T)
    gain = -loss
    return lambda: pareto.nondominated(gain, *costs)


def by_moocore(points: Array) -> Callable[[], object]:
    """A mask."""
    import moocore

    return lambda: moocore.is_nondominated(points, keep_weakly=True)


def by_optuna(points: Array) -> Callable[[], object]:
    """A mask; what study.best_trials calls."""
    from optuna.study._multi_objective import _is_pareto_front

    return lambda: _is_pareto_front(points, assume_unique_lexsorted=False)


METHODS = {"dse": by_dse, "moocore": by_moocore, "Optuna": by_optuna}


def kept(found: Any) -> Indices:
    """Positions in rising order, of a mask or of positions."""
    found = np.asarray(found)
    return np.flatnonzero(found) if found.dtype == bool else np.sort(found)


def measure(
    sizes: Sequence[int] = SIZES, objectives: Sequence[int] = OBJECTIVES, repeats: int = REPEATS
) -> list[dict[str, Any]]:
    """Median seconds of CPU of each method, None where it would take too long.

    Raises RuntimeError if two methods keep different points.
    """
    found = []
    with one_core():
        for count in objectives:
            for kind in KINDS:
                slow: set[str] = set()
                for size in sizes:
                    line = _line(kind, count, size, repeats, slow)
                    slow |= {name for name, s in line["cpu_s"].items() if s and s > TOO_LONG_S}
                    found.append(line)
    return found


def _line(kind: str, count: int, size: int, repeats: int, slow: set[str]) -> dict[str, Any]:
    points = points_of(kind, count, size)
    calls = {name: method(points) for name, method in METHODS.items() if name not in slow}
    fronts, seconds = {}, dict.fromkeys(METHODS)
    for name, call in calls.items():
        fronts[name], seconds[name] = _timed(call, repeats)
    first, *rest = fronts.values()
    if any(not np.array_equal(first, other) for other in rest):
        raise RuntimeError(f"different fronts of {size} points, {kind}: {fronts}")
    return {"kind": kind, "objectives": count, "points": size, "front": len(first),
            "cpu_s": seconds}  # fmt: skip


def _timed(call: Callable[[], object], repeats: int) -> tuple[Indices, float]:
    """What it keeps, and the median seconds of CPU; of one call, where that takes long."""
    begun = time.process_time()
    front = kept(call())
    once = time.process_time() - begun
    return front, once if once > TOO_LONG_S else measured(call, repeats)[0]


def table(found: list[dict[str, Any]]) -> Table:
    """Milliseconds, and the others' time as a multiple of dse's."""
    rows = []
    for line in found:
        own = line["cpu_s"]["dse"]
        cells = [
            f"{line['objectives']}, {line['kind']}",
            f"{line['points']:,}",
            f"{line['front']:,}",
        ]
        for name, seconds in line["cpu_s"].items():
            if seconds is None:
                cells.append("too long")
            elif name == "dse" or own is None:
                cells.append(f"{number(seconds * 1e3)} ms")
            else:
                cells.append(f"{number(seconds * 1e3)} ms, {number(seconds / own)} x")
        rows.append(cells)
    return Table(
        "Non-dominated points",
        ("objectives", "points", "kept", *METHODS),
        rows,
        f"Milliseconds of CPU, and how many times dse's that is. Too long: a tenth of the points "
        f"took more than {TOO_LONG_S} s.",
    )
