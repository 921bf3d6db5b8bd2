"""How time and memory grow from a million points to a hundred thousand million.

All sizes are of one study, growth.yaml: a smaller one has fewer values of its axes, evenly spread.
Each is searched in a process of its own as `dse run` does, with a run log. CPU time counts, so the
table holds for a machine that does something else besides.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.speed.apart import apart
from benchmarks.speed.memory import peak_bytes_of_all
from benchmarks.speed.table import Table, number
from dse.pricing.load import load
from dse.pricing.problem import Problem
from dse.search import exhaustive
from dse.search.executors import LocalExecutor
from dse.search.fingerprint import fingerprint
from dse.search.runlog import RunLog
from dse.search.tally import total
from dse.study import Axis

STUDY = Path(__file__).with_name("growth.yaml")
FIGURE = Path(__file__).parents[2] / "docs" / "figures" / "growth.svg"
# How many values each axis has; all of those that are not named.
SIZES: Mapping[str, Mapping[str, int]] = {
    "1e6": {"gpus": 8, "batch_per_gpu": 3, "accumulation": 1, "bucket": 1, "oversubscription": 1,
            "nics_per_node": 2},
    "1e7": {"gpus": 16, "batch_per_gpu": 4, "accumulation": 1, "bucket": 2, "oversubscription": 1},
    "1e8": {"gpus": 32, "batch_per_gpu": 6, "accumulation": 2, "bucket": 2, "oversubscription": 2},
    "1e9": {"gpus": 64, "batch_per_gpu": 8, "accumulation": 2, "bucket": 4},
    "1e10": {"gpus": 128, "batch_per_gpu": 12, "accumulation": 3},
    "1e11": {},
}  # fmt: skip
# m7g.large has two, at 0.0816 USD an hour on demand in us-east-1 in June 2026:
# www.factualminds.com/blog/amazon-ec2-on-demand-pricing-instance-families-2026, read 2026-11-25.
USD_PER_CORE_HOUR = 0.0408
HOUR_S = 3600.0
WHOLE_S = 100_000  # no search takes so long


def thinned(axis: Axis, count: int) -> Axis:
    """So many values of an axis, evenly spread, its ends among them; the first where it is one."""
    at = np.round(np.linspace(0, len(axis.values) - 1, count)).astype(int)
    return replace(
        axis, values=tuple(axis.values[k] for k in at), labels=tuple(axis.labels[k] for k in at)
    )


def part(problem: Problem, counts: Mapping[str, int]) -> Problem:
    """The problem whose axes have so many values."""
    axes = [
        thinned(axis, counts[axis.name]) if axis.name in counts else axis
        for axis in problem.study.axes
    ]
    return replace(problem, study=replace(problem.study, axes=tuple(axes)))


def searched(size: str, most_s: int) -> dict[str, Any]:
    """Search one size in this process; its CPU time, and the most memory it had.

    It ends after ``most_s`` seconds of CPU time; the units that it has searched by then lie all
    over the space, as those of a whole search do.
    """
    problem = part(load(STUDY), SIZES[size])
    tally = total([])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.log.jsonl"
        with closing(RunLog(path, fingerprint(problem, "exhaustive"), False)) as log:
            began_s = time.process_time()
            units = exhaustive.scattered(problem.space)
            for unit, found, attempts in LocalExecutor().run(problem, units, tally.front):
                tally = total([tally, found])
                log.append(unit, found, attempts)
                cpu_s = time.process_time() - began_s
                if cpu_s >= most_s:
                    break
        log_bytes = path.stat().st_size
    return {
        "points": problem.space.size, "searched": tally.points, "priced": tally.priced,
        "front": len(tally.front), "cpu_s": cpu_s, "log_bytes": log_bytes,
        "peak_bytes": peak_bytes_of_all(),
    }  # fmt: skip


def measure(whole: bool, most_s: int = WHOLE_S) -> dict[str, Any]:
    """All sizes, one after the other; ``whole``: also the two largest."""
    sizes = list(SIZES) if whole else list(SIZES)[:-2]
    return {size: apart(searched, size, most_s) for size in sizes}


def whole_s(one: Mapping[str, Any]) -> float:
    """CPU time of the whole size, from that of the part that was searched."""
    found: float = one["cpu_s"] * one["points"] / one["searched"]
    return found


def table(found: Mapping[str, Any]) -> Table:
    """A row a size."""
    rows = [
        (
            f"{one['points']:,}",
            f"{one['searched'] / one['points']:.0%}",
            f"{number(whole_s(one))} s",
            f"{one['searched'] / one['cpu_s'] / 1e6:,.0f} M",
            f"{one['priced'] / one['searched']:.2%}",
            f"{one['peak_bytes'] / 1e6:.0f} MB",
            f"{one['log_bytes'] / 1e3:,.0f} kB",
            f"{one['front']:,}",
            f"USD {number(whole_s(one) / HOUR_S * USD_PER_CORE_HOUR)}",
        )
        for one in found.values()
    ]
    in_part = ""
    if any(one["searched"] < one["points"] for one in found.values()):
        in_part = (
            "Where a part was searched, CPU time and cost are those of the whole in proportion, "
            "all else is of the part. "
        )
    return Table(
        "Growth",
        ("points", "searched", "CPU time", "points a second", "priced", "memory", "run log",
         "front", "cost"),
        rows,
        f"One process. {in_part}Cost: of a core rented by the hour on demand, at USD "
        f"{USD_PER_CORE_HOUR} (half an m7g.large in us-east-1, June 2026).",
    )  # fmt: skip


def draw(found: Mapping[str, Any], path: Path = FIGURE) -> None:
    """CPU time and memory by the number of points."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    from benchmarks.papers.figures import STYLE
    from dse.report.style import ACCENT, MARK

    points = [one["points"] for one in found.values()]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.5, 3.0), layout="constrained")
        times, memory = figure.subplots(1, 2)
        times.loglog(points, [whole_s(one) for one in found.values()], "o-", color=ACCENT)
        times.set(title="CPU time of one core", xlabel="design points", ylabel="seconds")
        peaks = [one["peak_bytes"] / 1e6 for one in found.values()]
        memory.semilogx(points, peaks, "o-", color=MARK)
        memory.set(title="Memory at most", xlabel="design points", ylabel="MB")
        memory.set_ylim(0, 2 * max(peaks))
        path.parent.mkdir(exist_ok=True)
        figure.savefig(path, metadata={"Date": None})
