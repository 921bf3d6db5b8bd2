"""One and two workers, without and with Ray; and what a task costs Ray.

Without Ray, several workers are as many processes that search every other unit, side by side and
with no word between them: what the machine can do. On Ray it is the executor that `dse run` uses.
What a task costs is measured by units that lie behind the end of the space, one a task: they are
sent, with the front, and come back, but have no points. A task with points takes Lots.LOT_S, or a
unit where that is longer.
"""

from __future__ import annotations

import logging
import statistics
import time
from pathlib import Path
from typing import Any

from benchmarks.speed.apart import apart, side_by_side
from benchmarks.speed.sweeps import large_study
from benchmarks.speed.table import Table, at_most
from dse.calibration.runners.ray_session import authenticate
from dse.pricing.load import load
from dse.pricing.problem import Problem
from dse.search import exhaustive, pareto
from dse.search.executors import LocalExecutor, RayExecutor
from dse.search.executors.ray_executor import Lots
from dse.search.tally import total

WORKERS = (1, 2)
REPEATS = 3
EMPTY_TASKS = 300
OVERHEAD = 0.05  # of a task's time, at most


def part(study: str, at: int, of: int) -> dict[str, Any]:
    """Search every ``of``-th unit of a study in this process; the clock is the whole machine's."""
    problem = load(Path(study))
    mine = range(at, exhaustive.units(problem.space), of)
    began = time.perf_counter()
    found = total(done.tally for done in LocalExecutor().run(problem, mine, pareto.empty_front()))
    return {"points": found.points, "began": began, "ended": time.perf_counter()}


def processes(study: str, workers: int, repeats: int) -> dict[str, Any]:
    """Search a study in so many processes; the median time from the first's start to the end."""
    walls = []
    for _ in range(repeats):
        parts = side_by_side(part, [(study, at, workers) for at in range(workers)])
        walls.append(max(one["ended"] for one in parts) - min(one["began"] for one in parts))
    return {"points": sum(one["points"] for one in parts), "wall_s": statistics.median(walls)}


def on_ray(study: str, workers: int, repeats: int, empty_tasks: int) -> dict[str, Any]:
    """Search a study through a Ray with so many workers; and tasks without points."""
    authenticate(None)
    import ray

    problem = load(Path(study))
    units = exhaustive.units(problem.space)
    beyond = range(units, units + empty_tasks)
    ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False,
             logging_level=logging.ERROR, configure_logging=False)  # fmt: skip
    cluster = RayExecutor(None)  # uses the connection there is
    try:
        _searched(cluster, problem, beyond)  # starts the workers
        found = [_searched(cluster, problem, range(units)) for _ in range(repeats)]
        Lots.LOT_S = Lots.LOT_S_PER_CPU = 0.0  # a unit a task
        empty_s, _ = _searched(cluster, problem, beyond)
    finally:
        cluster.close()
        ray.shutdown()
    return {"points": found[0][1], "wall_s": statistics.median(wall_s for wall_s, _ in found),
            "task_s": empty_s / empty_tasks}  # fmt: skip


def _searched(cluster: RayExecutor, problem: Problem, units: range) -> tuple[float, int]:
    """Seconds and points."""
    began = time.perf_counter()
    found = total(done.tally for done in cluster.run(problem, units, pareto.empty_front()))
    return time.perf_counter() - began, found.points


def measure(
    study: str | None = None,
    workers: tuple[int, ...] = WORKERS,
    repeats: int = REPEATS,
    empty_tasks: int = EMPTY_TASKS,
) -> dict[str, Any]:
    """Both ways, for every number of workers; by default on the large study."""
    if study is None:
        with large_study() as large:
            return measure(large, workers, repeats, empty_tasks)
    return {
        "units": exhaustive.units(load(Path(study)).space),
        "processes": {str(n): processes(study, n, repeats) for n in workers},
        "ray": {str(n): apart(on_ray, study, n, repeats, empty_tasks) for n in workers},
    }


def table(found: dict[str, Any]) -> Table:
    """Rates, and Ray's part of a task."""
    rows = []
    for workers, alone in found["processes"].items():
        ray = found["ray"][workers]
        unit_s = alone["wall_s"] * int(workers) / found["units"]
        task_s = max(unit_s, Lots.LOT_S)
        share = ray["task_s"] * int(workers) / task_s  # as if nothing else went on meanwhile
        rate, ray_rate = (one["points"] / one["wall_s"] / 1e6 for one in (alone, ray))
        rows.append((
            workers, f"{rate:.1f} M points/s", f"{ray_rate:.1f} M points/s",
            f"{ray_rate / rate:.2f} x", f"{ray['task_s'] * 1e3:.1f} ms",
            f"{share:.1%} of {task_s * 1e3:.0f} ms", at_most(share, OVERHEAD, f"{OVERHEAD:.0%}"),
        ))  # fmt: skip
    points = found["ray"][workers]["points"]
    return Table(
        "Workers",
        ("workers", "processes", "Ray", "Ray's rate to that", "an empty task, Ray",
         "of a task's time", "target"),
        rows,
        f"{points / 1e6:,.0f} M points, {found['units']} units of work; medians of the clock.",
    )  # fmt: skip
