"""How fast one device computes: matrix products, and training steps of two small networks."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dse.calibration.runners.processes import run_processes, worker_command
from dse.errors import MeasurementError

WORKER = "dse.calibration.runners.compute_worker"
GRACE_S = 60.0  # to import torch and to build the networks, before the worker is taken for hung
MIN_REPETITIONS = 5


@dataclass(frozen=True)
class ComputeSpeed:
    """One piece of work on one device, timed and verified.

    kind: 'matmul' or 'training-step'. name: matmul, small-cnn or transformer-block. precision:
    fp32, tf32, bf16 or fp16. shape: of a matmul (m, k, n); of a training step its input, the batch
    first. flops: multiplications and additions: 2 m k n of a matmul; of a training step those of
    its matrix products and convolutions, forward and backward, as torch counts them. threads: of
    the CPU. error: relative to float64, in the Frobenius norm for a matmul, of the first loss for
    a training step.
    """

    kind: str
    name: str
    library: str
    version: str
    device: str
    threads: int
    precision: str
    shape: tuple[int, ...]
    batch: int
    flops: int
    repetitions: int
    min_s: float
    median_s: float
    p95_s: float
    median_error_s: float
    error: float

    @property
    def flop_per_s(self) -> float:
        """Floating-point operations per second, by the median time."""
        return self.flops / self.median_s


def measure_compute(budget_s: float, device: str = "cpu") -> list[ComputeSpeed]:
    """Matrix products and training steps on ``device`` (cpu or cuda) in about ``budget_s`` seconds.

    Runs in a process of its own, on all its cores; importing torch comes on top of the budget. What
    does not fit the budget is left out, the largest first. Without torch: matrix products by numpy,
    on the CPU. Raises MeasurementError; the process is gone whatever happens.
    """
    if device not in ("cpu", "cuda"):
        raise MeasurementError(f"'{device}' is no device; use cpu or cuda")
    if not 0 < budget_s < math.inf:
        raise MeasurementError(f"{budget_s:g} s is no time; give for example 20")
    task = {"device": device, "seconds": budget_s, "min_repetitions": MIN_REPETITIONS}
    command = worker_command(WORKER, threads=None)
    records = run_processes([command], [task], 3 * budget_s + GRACE_S)
    start = next(record for record in records if record["kind"] == "start")
    about = {key: start[key] for key in ("library", "version", "device", "threads")}
    found = [record for record in records if record["kind"] in ("matmul", "training-step")]
    return [ComputeSpeed(**{**about, **row, "shape": tuple(row["shape"])}) for row in found]
