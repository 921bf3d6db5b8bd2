"""Whole sweeps: rate, time and memory; and how soon the command line answers.

Where the time of the billion goes (cProfile, one core of a shared virtual machine, 17 s of CPU):
25 % adds and compares the ends of the buckets of the points that are priced (overlap.last_end_s);
20 % is counting, mostly by masks that depend on nearly every axis (screening.counted); 9 % prices
messages (Bucketed.bucket_s), 8 % clusters (money.cost); 6 % tells which cells are left, 5 %
merges fronts; the rest is spread over many small arrays. Communication is priced once for all batch
sizes, and not at all for 97 points of 100: even if it took no time, another point would gain as
much for less.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.speed.apart import apart
from benchmarks.speed.memory import peak_bytes_of_all
from benchmarks.speed.table import Table, at_least, at_most
from dse.pricing.load import load
from dse.pricing.problem import Problem
from dse.search import cells, exhaustive, pareto, screening
from dse.search.executors import LocalExecutor, RayExecutor
from dse.search.fingerprint import fingerprint
from dse.search.run import run
from dse.search.runlog import RunLog

REPEATS = 5
LARGE_GPUS = "gpus: {from: 1, to: 900, scale: linear, step: 1}"
BILLION = "billion"
# The example of 2025, in which searches were always timed.
EXAMPLE = str(Path(__file__).parents[1] / "search" / "studies" / "example.yaml")


def sweep(problem: Problem) -> int:
    """Counts and front of every point, in this process; how many points were priced for it."""
    front, priced = pareto.empty_front(), 0
    for done in LocalExecutor().run(problem, exhaustive.scattered(problem.space), front):
        priced += done.tally.priced
    return priced


def sweep_priced(problem: Problem) -> int:
    """The same with every point priced."""
    front = pareto.empty_front()
    for box in problem.space.boxes(cells.PRICED_POINTS):
        front = pareto.merge([front, screening.whole_box(problem, box, front).front])
    return problem.space.size


def measured(action: Callable[[], object], repeats: int = REPEATS) -> tuple[float, float]:
    """Median seconds of CPU and of the clock."""
    cpu, wall = [], []
    for _ in range(repeats):
        before = time.process_time(), time.perf_counter()
        action()
        cpu.append(time.process_time() - before[0])
        wall.append(time.perf_counter() - before[1])
    return statistics.median(cpu), statistics.median(wall)


def swept(
    study: Path | str, action: Callable[[Problem], int], repeats: int = REPEATS
) -> dict[str, Any]:
    """A study in this process, with nothing remembered from one repetition to the next."""
    size = load(Path(study)).space.size  # the catalogue is read once per process
    times = []
    for _ in range(repeats):
        problem = load(Path(study))
        times.append(measured(lambda problem=problem: action(problem), 1))  # type: ignore[misc]
    cpu = statistics.median(cpu for cpu, _ in times)
    wall = statistics.median(wall for _, wall in times)
    return {"points": size, "cpu_s": cpu, "wall_s": wall, "points_per_s_per_core": size / cpu}


@contextmanager
def large_study() -> Iterator[str]:
    """The example's space made a hundred times as large: the path of that study."""
    text = Path(EXAMPLE).read_text(encoding="utf-8")
    line = next(row for row in text.splitlines() if row.strip().startswith("gpus:"))
    with tempfile.TemporaryDirectory() as folder:
        study = Path(folder) / "large.yaml"
        study.write_text(text.replace(line, "  " + LARGE_GPUS), encoding="utf-8")
        yield str(study)


def here(study: str) -> dict[str, Any]:
    """Sweep a study in this process and say how much memory that took at most."""
    problem = load(Path(study))
    priced = 0

    def action() -> None:
        nonlocal priced
        priced = sweep(problem)

    cpu, wall = measured(action, 1)
    peak = peak_bytes_of_all()
    size = problem.space.size
    return {"points": size, "cpu_s": cpu, "wall_s": wall, "peak_bytes": peak, "priced": priced,
            "points_per_s_per_core": size / cpu}  # fmt: skip


def through_ray(study: str) -> dict[str, Any]:
    """Sweep a study through a Ray started here, with a run log as `dse run` has one.

    peak_bytes: of the driver, and of all processes of that Ray.
    """
    problem = load(Path(study))
    begun = time.perf_counter()
    cluster = RayExecutor(None)
    start_s = time.perf_counter() - begun
    try:
        with tempfile.TemporaryDirectory() as folder:
            log = RunLog(Path(folder) / "run.log.jsonl", fingerprint(problem, "exhaustive"), False)
            with closing(log):
                found = run(problem, "exhaustive", cluster, log, lambda *_: None, 0, 0)
        peak = peak_bytes_of_all()
    finally:
        cluster.close()
    return {"points": found.tally.points, "wall_s": found.search_s, "peak_bytes": peak,
            "priced": found.tally.priced, "start_s": start_s}  # fmt: skip


def command_s(*arguments: str) -> float:
    """Median seconds of a command, from the shell's point of view."""
    command = [sys.executable, "-m", "dse", *arguments]
    return measured(lambda: subprocess.run(command, capture_output=True, check=True))[1]


def measure(billion: bool) -> dict[str, Any]:
    """Everything here; billion: also the billion points, which take most of the time."""
    found: dict[str, Any] = {
        "example": swept(EXAMPLE, sweep), "every_point_priced": swept(EXAMPLE, sweep_priced),
    }  # fmt: skip
    with large_study() as large:
        found["large"] = {"in one process": apart(here, large), "on Ray": apart(through_ray, large)}
    if billion:
        found["billion"] = {
            "in one process": apart(here, BILLION), "on Ray": apart(through_ray, BILLION),
        }  # fmt: skip
    return {**found, "help_s": command_s("--help"), "check_s": command_s("check", "example")}


def table(found: dict[str, Any]) -> Table:
    """What :func:`measure` found, beside the targets."""
    example = found["example"]
    wall_s = example["wall_s"]
    rate = example["points_per_s_per_core"] / 1e6
    priced = found["every_point_priced"]["points_per_s_per_core"] / 1e6
    rows = [
        ("example study, a core", f"{rate:.1f} M points/s", at_least(rate, 10, "10 M points/s")),
        ("the same, every point priced", f"{priced:.1f} M points/s", ""),
        ("example study, one process", f"{wall_s:.3f} s", at_most(wall_s, 2, "2 s")),
    ]  # fmt: skip
    for size, limit_s, bytes_ in (("large", 8, 500e6), ("billion", 60, 1e9)):
        for where, one in found.get(size, {}).items():
            seconds, peak, share = one["wall_s"], one["peak_bytes"], one["priced"] / one["points"]
            rows += [
                (f"{one['points'] / 1e6:,.0f} M points, {where}", f"{seconds:.1f} s",
                 at_most(seconds, limit_s, f"{limit_s} s")),
                ("its memory at most", f"{peak / 1e6:.0f} MB",
                 at_most(peak, bytes_, f"{bytes_ / 1e6:,.0f} MB")),
                ("its points that had to be priced", f"{share:.1%}", ""),
            ]  # fmt: skip
    start_s = found["large"]["on Ray"]["start_s"]
    rows += [
        ("starting Ray", f"{start_s:.1f} s", ""),
        ("dse --help", f"{found['help_s']:.2f} s", at_most(found["help_s"], 0.5, "0.5 s")),
        ("dse check example", f"{found['check_s']:.2f} s", at_most(found["check_s"], 1, "1 s")),
    ]
    return Table("Sweeps", ("what", "measured", "target"), rows)
