"""Times matrix products and blocks of workloads in a process of its own.

Started as ``python -P -m dse.calibration.runners.compute_worker``; imports the standard library,
numpy, and torch where there is one. Standard input: {device, seconds, local_seconds,
min_repetitions} as JSON. It prints one JSON object per piece of work, and ends when its standard
input does. local_seconds: for additions and copies on one thread; seconds 0: nothing but those.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from dse.calibration.runners import forks, timing
from dse.calibration.runners.compute_work import SHAPES, Ready, Work, matmul_about, matmul_error

MAX_BATCH = 20
SUSTAINED_SHARE, SUSTAINED_S = 0.5, 30.0  # of all the time; at most, in each precision
MOMENT_S = 0.1
BLOCK_SHARE = 0.2  # of all the time
BLOCK_SLOWER = 3.0  # than a large product of as many operations: assumed, to see what fits
LEAST_RUNS = 8  # of a product, to run it for long
LOCAL_BATCH = 20


def numpy_works() -> tuple[dict[str, Any], list[Work]]:
    """Matrix products by numpy."""
    start = {
        "library": "numpy",
        "version": np.__version__,
        "device": "cpu",
        "threads": len(os.sched_getaffinity(0)),
    }
    return start, [_numpy_matmul(shape) for shape in SHAPES]


def _numpy_matmul(shape: tuple[int, int, int]) -> Work:
    def prepare() -> Ready:
        m, k, n = shape
        random = np.random.default_rng(0)
        left = random.standard_normal((m, k), dtype=np.float32)
        right = random.standard_normal((k, n), dtype=np.float32)
        out = left @ right
        return Ready(
            lambda: np.matmul(left, right, out=out), matmul_error(left, right, out, "fp32")
        )

    return Work(matmul_about(shape, "fp32"), prepare)


def time_all(works: Sequence[Work], seconds: float, least: int) -> list[dict[str, Any]]:
    """A record of every piece of work that ``seconds`` can hold, the small ones first."""
    works = sorted(works, key=lambda work: int(work.about["flops"]))
    cells = [timing.Cell(f"{about['name']} {about['precision']}", 0, about["flops"])
             for about in (work.about for work in works)]  # fmt: skip
    ready: dict[int, Ready] = {}
    began = time.perf_counter()
    for index, repetitions in timing.schedule(
        cells, seconds, least, MAX_BATCH, lambda: time.perf_counter() - began
    ):
        if index not in ready:
            ready[index] = works[index].prepare()
        work, times = ready[index], []
        work.run()  # warm-up: the caches hold what the piece of work before left
        for _ in range(repetitions):
            start = time.perf_counter()
            work.run()
            times.append(time.perf_counter() - start)
        work.check()
        cells[index].add(times)
    return [
        {**works[index].about, **timing.summary(cells[index].times), "error": work.error}
        for index, work in sorted(ready.items())
    ]


def sustained_seconds(works: Sequence[Work], seconds: float) -> float:
    """Of the time for all, how long products of each precision are to run without a pause."""
    precisions = {work.about["precision"] for work in works}
    return min(SUSTAINED_SHARE * seconds / max(len(precisions), 1), SUSTAINED_S)


def time_sustained(
    works: Sequence[Work], burst: Sequence[dict[str, Any]], seconds: float
) -> list[dict[str, Any]]:
    """A record in each precision of its largest product, again and again for ``seconds``.

    A device that is warm, or short of power, is slower than in a short burst: the first half of the
    time only warms it. burst: records of products that were timed; one that cannot run several
    times is left out. Its seconds are means over moments of :data:`MOMENT_S`.
    """
    took = {
        (row["precision"], tuple(row["shape"])): row["median_s"]
        for row in burst
        if row["kind"] == "matmul" and row["median_s"] * LEAST_RUNS <= seconds
    }
    largest: dict[str, Work] = {}
    for work in sorted(works, key=lambda work: int(work.about["flops"])):
        if work.about["kind"] == "matmul" and _product(work) in took:
            largest[work.about["precision"]] = work
    records = []
    for work in largest.values():
        ready = work.prepare()
        moments = _moments(ready.run, seconds)
        ready.check()
        about = {**work.about, "kind": "sustained"}
        records.append({**about, **timing.summary(moments), "error": ready.error})
    return records


def _product(work: Work) -> tuple[str, tuple[int, ...]]:
    return work.about["precision"], tuple(work.about["shape"])


def _moments(run: Callable[[], object], seconds: float) -> list[float]:
    """Mean seconds of a run in each moment of the second half of the time."""
    began = time.perf_counter()
    moments, start, runs = list[float](), began, 0
    while True:
        run()
        runs, now = runs + 1, time.perf_counter()
        if now - start >= MOMENT_S:
            if now - began >= seconds / 2:
                moments.append((now - start) / runs)
            start, runs = now, 0
        if now - began >= seconds and moments:
            return moments


def _timed(works: Sequence[Work], seconds: float, least: int) -> list[dict[str, Any]]:
    """Records of short bursts, of blocks, and of products that run for long."""
    blocks = [work for work in works if work.about["kind"] == "block"]
    others = [work for work in works if work.about["kind"] != "block"]
    lasting = sustained_seconds(others, seconds)
    precisions = len({work.about["precision"] for work in others})
    for_blocks = BLOCK_SHARE * seconds if blocks else 0.0
    burst = time_all(others, seconds - precisions * lasting - for_blocks, least)
    fitting = [work for work in blocks if _fits(work, burst, for_blocks, least)]
    timed = time_all(fitting, for_blocks, least) if fitting else []
    return [*burst, *timed, *time_sustained(others, burst, lasting)]


def _fits(block: Work, burst: Sequence[dict[str, Any]], seconds: float, least: int) -> bool:
    """Whether a block can be repeated often enough, by the fastest product of its precision."""
    rates = [
        float(row["flops"] / row["median_s"])
        for row in burst
        if row["kind"] == "matmul" and row["precision"] == block.about["precision"]
    ]
    fastest = max(rates, default=0.0)
    return float(block.about["flops"]) * BLOCK_SLOWER * least <= seconds * fastest


def _measure(task: dict[str, Any]) -> int:
    """Time everything; the exit status, after a line on standard error if something was wrong."""
    try:
        if task["local_seconds"] > 0:
            alone = partial(timing.alone, lambda source, target: np.add(target, source, out=target))
            for record in timing.local_rows(task["local_seconds"], alone, LOCAL_BATCH):
                timing.emit(record)
        if not task["seconds"] > 0:
            return 0
        if importlib.util.find_spec("torch"):
            from dse.calibration.runners.compute_torch import torch_works

            start, works = torch_works(task["device"], task.get("block"))
        elif task["device"] == "cpu":
            start, works = numpy_works()
        else:
            raise RuntimeError("measuring a GPU needs torch; run: pip install torch")
        timing.emit({"kind": "start", **start})
        for record in _timed(works, task["seconds"], task["min_repetitions"]):
            timing.emit(record)
    except timing.WrongSum as wrong:
        print(wrong, file=sys.stderr, flush=True)
        return timing.WRONG_SUM_STATUS
    except RuntimeError as cause:
        print((str(cause).splitlines() or ["RuntimeError"])[0], file=sys.stderr, flush=True)
        return forks.FAILED_STATUS
    return 0


def main() -> None:
    """Do what standard input says, in a fork, so that this process can watch its input."""
    starter = forks.Input()
    task = starter.line()
    forks.run_forked({0: lambda: _measure(task)}, 1, starter)


if __name__ == "__main__":
    main()
