"""How fast: the numbers `make bench` prints, and writes to reports/bench/speed.json.

Every figure is measured here and now; none is a pass or a fail of the tests.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dse.search import exhaustive
from dse.search.executors import RayExecutor
from dse.search.load import load, shipped_studies
from dse.search.problem import Problem
from dse.search.run import run

REPEATS = 5
OUT = Path("reports/bench/speed.json")
LARGE_GPUS = "gpus: {from: 1, to: 900, scale: linear, step: 1}"


def sweep(problem: Problem) -> None:
    """Model, constraints, counts and front of every point, in this process."""
    exhaustive.search(problem, list(problem.space.boxes(exhaustive.BOX_POINTS)))


def measured(action: Callable[[], object], repeats: int = REPEATS) -> tuple[float, float]:
    """Median seconds of CPU and of the clock."""
    cpu, wall = [], []
    for _ in range(repeats):
        before = time.process_time(), time.perf_counter()
        action()
        cpu.append(time.process_time() - before[0])
        wall.append(time.perf_counter() - before[1])
    return statistics.median(cpu), statistics.median(wall)


def example_sweep() -> dict[str, Any]:
    """The example study, with nothing remembered from one repetition to the next."""
    load("example")  # the catalogue is read once per process
    times = []
    for _ in range(REPEATS):
        problem = load("example")
        times.append(measured(lambda problem=problem: sweep(problem), 1))  # type: ignore[misc]
    cpu = statistics.median(cpu for cpu, _ in times)
    wall = statistics.median(wall for _, wall in times)
    size = load("example").space.size
    return {"points": size, "cpu_s": cpu, "wall_s": wall, "points_per_s_per_core": size / cpu}


def large_sweep() -> dict[str, Any]:
    """A space a hundred times the example's, in a process of its own: memory stays flat."""
    text = (shipped_studies() / "example.yaml").read_text(encoding="utf-8")
    line = next(row for row in text.splitlines() if row.strip().startswith("gpus:"))
    with tempfile.TemporaryDirectory() as folder:
        study = Path(folder) / "large.yaml"
        study.write_text(text.replace(line, "  " + LARGE_GPUS), encoding="utf-8")
        code = (
            "import json,sys; from benchmarks.speed import child; "
            "print(json.dumps(child(sys.argv[1])))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, str(study)], capture_output=True, text=True, check=True
        )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def child(study: str) -> dict[str, Any]:
    """Sweep a study and say how much memory that took at most."""
    problem = load(study)
    cpu, wall = measured(lambda: sweep(problem), 1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    size = problem.space.size
    return {"points": size, "cpu_s": cpu, "wall_s": wall, "peak_bytes": peak,
            "points_per_s_per_core": size / cpu}  # fmt: skip


def through_ray() -> dict[str, Any]:
    """The example on a Ray started here: the sweep, and what starting Ray costs."""
    problem = load("example")
    begun = time.perf_counter()
    cluster = RayExecutor(None)
    start_s = time.perf_counter() - begun
    try:
        run(problem, "exhaustive", cluster, None, lambda *_: None, 0, 0)  # warms the workers
        _, wall = measured(
            lambda: run(problem, "exhaustive", cluster, None, lambda *_: None, 0, 0), 3
        )
    finally:
        cluster.close()
    return {"points": problem.space.size, "start_s": start_s, "wall_s": wall}


def command_s(*arguments: str) -> float:
    """Median seconds of a command, from the shell's point of view."""
    command = [sys.executable, "-m", "dse.cli", *arguments]
    return measured(lambda: subprocess.run(command, capture_output=True, check=True))[1]


def main() -> None:
    """Measure everything, print the table, write the JSON."""
    example, large, ray = example_sweep(), large_sweep(), through_ray()
    help_s, check_s = command_s("--help"), command_s("check", "example")
    rows = [
        ("exhaustive, example, per core",
         f"{example['points_per_s_per_core'] / 1e6:.1f} M points/s", ">= 10 M points/s"),
        ("example sweep, in this process", f"{example['wall_s']:.3f} s", "< 2 s"),
        (f"exhaustive, {large['points'] / 1e6:.0f} M points, per core",
         f"{large['points_per_s_per_core'] / 1e6:.1f} M points/s", ""),
        ("  its peak memory", f"{large['peak_bytes'] / 1e6:.0f} MB", "< 500 MB"),
        ("example sweep, through Ray", f"{ray['wall_s']:.3f} s", ""),
        ("  starting Ray", f"{ray['start_s']:.1f} s", ""),
        ("dse --help", f"{help_s:.2f} s", "< 0.5 s"),
        ("dse check example", f"{check_s:.2f} s", "< 1 s"),
    ]  # fmt: skip
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, "
          f"load {os.getloadavg()[0]:.1f}, Python {platform.python_version()}")  # fmt: skip
    for name, value, target in rows:
        print(f"{name:<36} {value:>18}   {target}")
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(
        json.dumps({"example": example, "large": large, "ray": ray, "help_s": help_s,
                    "check_s": check_s, "load": os.getloadavg()}, indent=1)
    )  # fmt: skip
    print(f"wrote {OUT}")


if __name__ == "__main__":
    main()
