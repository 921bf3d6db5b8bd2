"""Whole training steps across the lab: measured, and composed by the overlap model.

The networks are real ones of the catalogue, their gradients divided by ``shrink`` so that a step
lasts a second on a slow link: the shares of the layers, which decide about overlap, stay. The
backward pass takes its time by layer in proportion to the FLOPs.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.lab.measure import MBPS, RESULTS
from benchmarks.lab.network import network
from benchmarks.lab.openmpi import mpirun_inside, on_hosts
from dse import catalog
from dse.calibration.experiment import this_machine, today
from dse.calibration.files import write_text
from dse.calibration.runners.mpi_library import run_ranks
from dse.calibration.runners.plan import OPENMPI_ALGORITHMS
from dse.calibration.runners.timing import FLOAT_BYTES
from dse.model import overlap

WORKER = Path(__file__).with_name("training_worker.py")
BUCKETS = (2**18, 2**20, 2**22)
HOSTS = (2, 4, 8)
FORWARD_SHARE = 1 / 3  # of the compute; the backward pass does twice the work
FORMAT = "dse-lab-training/1"


@dataclass(frozen=True)
class Training:
    """A workload whose gradients are divided by ``shrink``, with ``compute_s`` a step."""

    workload: str
    shrink: float
    compute_s: float


TRAININGS = (
    Training("resnet50", 8.0, 1.2),
    Training("mobilenet-v1", 2.0, 0.6),
    Training("vgg16", 40.0, 1.2),
)


def case(training: Training, bucket_bytes: int, algorithm: str) -> dict[str, Any]:
    """What the ranks must know: buckets in the order of sending, and when each is ready."""
    network_layers = catalog.workload(training.workload)
    elements = np.ceil(network_layers.layer_params / training.shrink)
    elements[network_layers.layer_params == 0] = 0
    backward_s = training.compute_s * (1 - FORWARD_SHARE)
    share = network_layers.layer_forward_flops / network_layers.layer_forward_flops.sum()
    done_s = backward_s * np.cumsum(share[::-1])[::-1]
    buckets = overlap.fuse(FLOAT_BYTES * elements, bucket_bytes)
    return {
        "workload": training.workload,
        "shrink": training.shrink,
        "algorithm": algorithm,
        "bucket_bytes": bucket_bytes,
        "forward_s": training.compute_s * FORWARD_SHARE,
        "backward_s": backward_s,
        "elements": [int(bucket.message_bytes) // FLOAT_BYTES for bucket in buckets],
        "ready_s": [float(ready) for ready in overlap.ready_s(buckets, done_s)],
    }


def measure(
    mbps: float, hosts: int, cases: Sequence[dict[str, Any]], steps: int, limit_s: float
) -> list[dict[str, Any]]:
    """Rows of measured steps of all cases in one start on ``hosts`` hosts."""
    numbers = {name: OPENMPI_ALGORITHMS[name] for name in {case["algorithm"] for case in cases}}
    task = {"cases": list(cases), "steps": steps, "numbers": numbers}
    with network(hosts, mbps * MBPS) as lab, mpirun_inside(lab) as (mpirun, options):
        extra = [*options, *on_hosts(lab, range(hosts), 1)]
        records = run_ranks(mpirun, hosts, task, limit_s / 3, WORKER, extra)
    link = {"link_bytes_per_s": mbps * MBPS, "ranks": hosts, "ranks_per_node": 1}
    return [{**link, **record} for record in records]


def all_cases(algorithm: str) -> list[dict[str, Any]]:
    """Every workload and bucket size by one algorithm."""
    pairs = product(TRAININGS, BUCKETS)
    return [case(training, bucket, algorithm) for training, bucket in pairs]


def composed_s(row: dict[str, Any], costs_s: Sequence[float], overlapped: bool = True) -> float:
    """Seconds of a step by the overlap model, from the cost of each bucket."""
    if not overlapped:
        return float(row["forward_s"] + row["backward_s"] + sum(costs_s))
    ready = [np.asarray(value) for value in row["ready_s"]]
    end, _ = overlap.last_end_s(ready, [np.asarray(value) for value in costs_s])
    return float(row["forward_s"] + max(float(end), row["backward_s"]))


def save(rows: Sequence[dict[str, Any]], path: Path = RESULTS / "training.json") -> None:
    """Add the rows to the file, one a line."""
    old = load(path) if path.exists() else []
    machine = this_machine()
    head = {"format": FORMAT, "date": today(), "cpu": machine.cpu, "cores": machine.cores}
    body = ",\n  ".join(json.dumps(rounded(row)) for row in [*old, *rows])
    write_text(path, json.dumps(head)[:-1] + f',\n "rows": [\n  {body}\n ]}}\n')


def load(path: Path = RESULTS / "training.json") -> list[dict[str, Any]]:
    """The rows of the file."""
    rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["rows"]
    return rows


def rounded(row: dict[str, Any]) -> dict[str, Any]:
    """The row with seconds to the microsecond."""

    def short(value: Any) -> Any:
        if isinstance(value, list):
            return [short(item) for item in value]
        return round(value, 6) if isinstance(value, float) else value

    return {key: short(value) for key, value in row.items()}


def errors(rows: Sequence[dict[str, Any]], costs: str = "row_s") -> list[tuple[str, float]]:
    """Composed over measured - 1 of each row, with and without overlap, from its own buckets.

    costs: ``row_s``, buckets that followed one another in the same start: what is left is the
    overlap model's error; or ``alone_s``, each bucket after a barrier, as benchmarks time them.
    """
    found = []
    for row in rows:
        for name, hidden in (("overlapped_s", True), ("plain_s", False)):
            step_s = statistics.median(row[name])
            found.append((name, composed_s(row, row[costs], hidden) / step_s - 1))
    return found
