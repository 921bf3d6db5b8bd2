"""The pieces of work whose speed is measured, and how their results are checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dse.calibration.runners import timing

# (m, k, n): squares, and the layers of a network at small and large batches.
SHAPES = (
    *((size, size, size) for size in (64, 128, 256, 512, 1024, 2048, 4096)),
    *((batch, 1024, 4096) for batch in (1, 16, 128, 1024)),
)
CHECKED_ROWS = 8  # of a product, against float64
# Relative to float64: a few times the rounding of each precision's inputs.
TOLERANCE = {"fp32": 1e-5, "tf32": 3e-3, "fp16": 3e-3, "bf16": 2e-2}


@dataclass(frozen=True)
class Ready:
    """Work with its data in place: ``run`` does it once and waits for its end.

    error: of its first result, relative to float64. check: raises timing.WrongSum if a later
    result is wrong.
    """

    run: Callable[[], object]
    error: float
    check: Callable[[], None] = lambda: None


@dataclass(frozen=True)
class Work:
    """A piece of work, not yet prepared. about: the fields of its record, ``flops`` among them.

    prepare: places its data and does the work once; raises timing.WrongSum if that is wrong.
    """

    about: dict[str, Any]
    prepare: Callable[[], Ready]


def matmul_about(shape: tuple[int, int, int], precision: str) -> dict[str, Any]:
    """The fields of a product's record."""
    m, k, n = shape
    return {
        "kind": "matmul",
        "name": "matmul",
        "precision": precision,
        "shape": list(shape),
        "batch": m,
        "flops": 2 * m * k * n,
    }


def matmul_error(
    left: timing.Floats, right: timing.Floats, out: timing.Floats, precision: str
) -> float:
    """Relative error of some rows of ``out`` against left @ right; raises timing.WrongSum."""
    rows = np.linspace(0, len(out) - 1, min(len(out), CHECKED_ROWS)).astype(int)
    true = left[rows].astype(np.float64) @ right.astype(np.float64)
    error = float(np.linalg.norm(out[rows] - true) / np.linalg.norm(true))
    if not error <= TOLERANCE[precision]:
        what = f"matmul {left.shape[0]}x{left.shape[1]}x{right.shape[1]} in {precision}"
        raise timing.WrongSum(f"wrong result: {what} is off by {error:.2g}")
    return error
