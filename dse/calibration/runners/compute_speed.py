"""How fast one device computes: matrix products, and a block of a workload."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from dse.calibration.experiment import (
    ComputeSpeed,
    Experiment,
    busy_core_seconds,
    this_machine,
)
from dse.calibration.runners.plan import MIN_REPETITIONS, limit_s
from dse.calibration.runners.processes import run_processes, worker_command
from dse.calibration.runners.records import experiment
from dse.calibration.runners.registry import Request
from dse.calibration.runners.workload_block import block_of
from dse.errors import MeasurementError

WORKER = "dse.calibration.runners.compute_worker"
GRACE_S = 60.0  # to import torch, before the worker is taken for hung
KINDS = ("matmul", "sustained", "block")
LOCAL_SHARE = 0.1  # of the budget, on top of it, for reductions and copies


def run(request: Request) -> Experiment:
    """The runner 'compute': matrix products on one device, by default the CPU, in about the budget;
    and how fast one thread sums and copies.

    Of a workload a block is timed as well, see :mod:`.workload_block`; that needs torch. Half of
    the time, but at most 30 s in each precision, goes to one large product again and again, a
    fifth to the block. Runs in a process of its own, on all its cores; importing torch comes on top
    of the budget. What does not fit the budget is left out, the largest first. Without torch:
    matrix products by numpy, on the CPU. Raises MeasurementError; the process is gone whatever
    happens.
    """
    budget_s, workload = request.budget_s, request.workload
    block = None if workload is None else block_of(workload)
    began, busy = time.monotonic(), busy_core_seconds()
    device, local_s = request.device or "cpu", LOCAL_SHARE * budget_s
    task = {"device": device, "seconds": budget_s, "local_seconds": local_s, "block": block}
    records = _run(task)
    speeds = speeds_of(records)
    if not speeds:
        raise MeasurementError("nothing was measured; give a larger --budget")
    return experiment(request.name, this_machine(), budget_s, began, busy, records, (), (), speeds)


def measure_local(budget_s: float) -> list[dict[str, Any]]:
    """Measure only how fast one thread adds and copies: records of kind 'reduce' and 'copy'."""
    return _run({"device": "cpu", "seconds": 0.0, "local_seconds": budget_s})


def speeds_of(records: Sequence[dict[str, Any]]) -> list[ComputeSpeed]:
    """The pieces of work among the worker's records."""
    start = next(record for record in records if record["kind"] == "start")
    about = {key: start[key] for key in ("library", "version", "device", "threads")}
    found = [record for record in records if record["kind"] in KINDS]
    return [
        ComputeSpeed(
            **{**about, **row, "shape": tuple(row["shape"]), "layers": tuple(row.get("layers", ()))}
        )
        for row in found
    ]


def _run(task: dict[str, Any]) -> list[dict[str, Any]]:
    command = worker_command(WORKER, threads=None)
    seconds = limit_s(task["seconds"] + task["local_seconds"], GRACE_S)
    return run_processes([command], [{**task, "min_repetitions": MIN_REPETITIONS}], seconds)
