"""How fast: the numbers `make bench` prints, and writes to reports/bench/speed.json.

Every figure is measured here and now; none is a pass or a fail of the tests.

Where the time of the billion goes (cProfile, one core of a shared virtual machine, 17 s of CPU):
25 % adds and compares the ends of the buckets of the points that are priced (overlap.last_end_s);
20 % is counting, mostly by masks that depend on nearly every axis (screening.counted); 9 % prices
messages (step.bucket_costs_s), 8 % clusters (money.cost); 6 % tells which cells are left, 5 %
merges fronts; the rest is spread over many small arrays. Communication is priced once for all batch
sizes, and not at all for 97 points of 100: even if it took no time, another point would gain as
much for less.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dse.search import cells, exhaustive, pareto, screening
from dse.search.executors import RayExecutor
from dse.search.load import load, shipped_studies
from dse.search.problem import Problem
from dse.search.run import run

REPEATS = 5
OUT = Path("reports/bench/speed.json")
LARGE_GPUS = "gpus: {from: 1, to: 900, scale: linear, step: 1}"
BILLION = "billion"
KIBIBYTE = 1024


def sweep(problem: Problem) -> int:
    """Counts and front of every point, in this process; how many points were priced for it."""
    return exhaustive.search(problem, problem.space.boxes(exhaustive.BOX_POINTS)).priced


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


def example_sweep(action: Callable[[Problem], int]) -> dict[str, Any]:
    """The example study, with nothing remembered from one repetition to the next."""
    load("example")  # the catalogue is read once per process
    times = []
    for _ in range(REPEATS):
        problem = load("example")
        times.append(measured(lambda problem=problem: action(problem), 1))  # type: ignore[misc]
    cpu = statistics.median(cpu for cpu, _ in times)
    wall = statistics.median(wall for _, wall in times)
    size = load("example").space.size
    return {"points": size, "cpu_s": cpu, "wall_s": wall, "points_per_s_per_core": size / cpu}


def large_sweep() -> dict[str, Any]:
    """A space a hundred times the example's."""
    text = (shipped_studies() / "example.yaml").read_text(encoding="utf-8")
    line = next(row for row in text.splitlines() if row.strip().startswith("gpus:"))
    with tempfile.TemporaryDirectory() as folder:
        study = Path(folder) / "large.yaml"
        study.write_text(text.replace(line, "  " + LARGE_GPUS), encoding="utf-8")
        return apart("child", str(study))


def apart(function: str, study: str) -> dict[str, Any]:
    """What a function here says of a study, in a process of its own: its memory is its own."""
    code = (
        f"import json,sys; from benchmarks.speed import {function}; "
        f"print(json.dumps({function}(sys.argv[1])))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, study], capture_output=True, text=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def child(study: str) -> dict[str, Any]:
    """Sweep a study and say how much memory that took at most."""
    problem = load(study)
    priced = 0

    def action() -> None:
        nonlocal priced
        priced = sweep(problem)

    cpu, wall = measured(action, 1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KIBIBYTE
    size = problem.space.size
    return {"points": size, "cpu_s": cpu, "wall_s": wall, "peak_bytes": peak, "priced": priced,
            "points_per_s_per_core": size / cpu}  # fmt: skip


def child_ray(study: str) -> dict[str, Any]:
    """Sweep a study through a Ray started here; the memory of the driver and of all workers."""
    problem = load(study)
    cluster = RayExecutor(None)
    try:
        found = run(problem, "exhaustive", cluster, None, lambda *_: None, 0, 0)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KIBIBYTE + _workers_bytes()
    finally:
        cluster.close()
    return {"points": found.tally.points, "wall_s": found.search_s, "peak_bytes": peak,
            "priced": found.tally.priced}  # fmt: skip


def _workers_bytes() -> int:
    """The most memory that Ray's workers have had, as Linux counts it."""
    total = 0
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            rows = dict(row.split(":", 1) for row in status.read_text().splitlines() if ":" in row)
        except OSError:  # it has just ended
            continue
        if rows["Name"].strip().startswith("ray::"):
            total += int(rows["VmHWM"].split()[0]) * KIBIBYTE
    return total


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


def _sweep_rows(name: str, found: dict[str, Any], wall: str, memory: str) -> list[Sequence[str]]:
    share = 100 * found["priced"] / found["points"]
    return [
        (f"{found['points'] / 1e6:,.0f} M points, {name}", f"{found['wall_s']:.1f} s", wall),
        ("  its peak memory", f"{found['peak_bytes'] / 1e6:.0f} MB", memory),
        ("  of its points had to be priced", f"{share:.1f} %", ""),
    ]


def main() -> None:
    """Measure everything, print the table, write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-billion", action="store_true", help="leave out the billion points")
    load_before = os.getloadavg()
    billion = {} if parser.parse_args().no_billion else {
        "in this process": apart("child", BILLION), "through Ray": apart("child_ray", BILLION),
    }  # fmt: skip
    example, priced = example_sweep(sweep), example_sweep(sweep_priced)
    large, ray = large_sweep(), through_ray()
    help_s, check_s = command_s("--help"), command_s("check", "example")
    rows: list[Sequence[str]] = [
        ("exhaustive, example, per core",
         f"{example['points_per_s_per_core'] / 1e6:.1f} M points/s", ">= 10 M points/s"),
        ("  with every point priced",
         f"{priced['points_per_s_per_core'] / 1e6:.1f} M points/s", ""),
        ("example sweep, in this process", f"{example['wall_s']:.3f} s", "< 2 s"),
        *_sweep_rows("in this process", large, "< 8 s", "< 500 MB"),
    ]  # fmt: skip
    for where, found in billion.items():
        rows += _sweep_rows(where, found, "< 60 s", "< 1 GB")
    rows += [
        ("example sweep, through Ray", f"{ray['wall_s']:.3f} s", ""),
        ("  starting Ray", f"{ray['start_s']:.1f} s", ""),
        ("dse --help", f"{help_s:.2f} s", "< 0.5 s"),
        ("dse check example", f"{check_s:.2f} s", "< 1 s"),
    ]
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, load before "
          f"{load_before[0]:.1f}, Python {platform.python_version()}")  # fmt: skip
    for name, value, target in rows:
        print(f"{name:<36} {value:>18}   {target}")
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(
        json.dumps({"example": example, "every_point_priced": priced, "large": large,
                    "billion": billion, "ray": ray, "help_s": help_s, "check_s": check_s,
                    "load_before": load_before}, indent=1)
    )  # fmt: skip
    print(f"wrote {OUT}")


if __name__ == "__main__":
    main()
