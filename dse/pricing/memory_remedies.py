"""What makes a point fit into an accelerator's memory: found by trying."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import islice

import numpy as np

from dse.model.arrays import scalar
from dse.model.precision import OPTIMIZER_STATE_BYTES
from dse.pricing.problem import Problem
from dse.study import Value
from dse.study.axes import BATCH, LAYOUT_STACKS, ROWS

# Why a network may not fit here that others train on such accelerators.
WHOLE_COPIES = (
    "every accelerator holds the whole model with its optimizer's state here; axes such as zero, "
    "tensor_parallel and pipeline_parallel lay a transformer out over several (docs/layouts.md)"
)
HALF_PRECISIONS = ("bf16", "fp16")
_OF_MEMORY = tuple(row.name for row in ROWS if row.kind == "choice" and "memory" in row.changes)
SPLITTING = ("tensor_parallel", "pipeline_parallel", "zero", "recompute")
# Software that anybody may choose, besides what the study names.
ORDINARY_STACKS = ("plain", "vendor")


def shortage(problem: Problem, values: Mapping[str, Value | None]) -> str:
    """How much memory a point lacks and which single changes let it fit, in a clause; '' where
    nothing is lacking, or where that is not known."""
    lacking = -scalar(problem.points_at(values).room.free_bytes)
    if not lacking > 0:
        return ""
    found = [*_changes(problem, values)]
    helps = f"what fits: {', or '.join(found)}" if found else _no_single_change(problem, values)
    return f"{_size(lacking)} too little per GPU; {helps}"


def _changes(problem: Problem, values: Mapping[str, Value | None]) -> Iterator[str]:
    """The largest power of two of samples, the first of the optimizers with less state, the 16-bit
    precisions, the software stacks, the study's other choices that change memory and its machines,
    with which the point fits."""
    points = problem.points_at(values)
    own = OPTIMIZER_STATE_BYTES[str(values.get("optimizer") or "momentum")]
    by_state = sorted(OPTIMIZER_STATE_BYTES.items(), key=lambda one: -one[1])
    known = points.machines[0].accelerator.peak_flops_per_s
    wide = points.precision.activation_bytes > 2
    laid_out = values.get("stack") in LAYOUT_STACKS
    stacks = dict.fromkeys([
        *problem.study.values("stack"), *([] if laid_out else ORDINARY_STACKS)
    ])  # fmt: skip
    batch = math.ceil(math.log2(max(float(values.get(BATCH) or 1), 1.0)))  # type: ignore[arg-type]
    tried: dict[str, list[Value]] = {
        BATCH: [2**power for power in reversed(range(batch))],
        "optimizer": [name for name, state in by_state if state < own],
        "precision": [name for name in HALF_PRECISIONS if wide and name in known],
        "stack": [name for name in stacks if name != points.stack.name],
    }
    degrees = [row.name for row in ROWS if row.divisors] if laid_out else []
    if laid_out:
        del tried["optimizer"]
    for name in (*degrees, *_OF_MEMORY, points.machine_axis):
        tried.setdefault(name, [*problem.study.values(name)])
    for axis, choices in tried.items():
        fits = (one for one in choices if _fits(problem, {**values, axis: one}))
        said = " (accumulation keeps the global batch)" * (axis == BATCH)
        yield from (f"{axis} {one}{said}" for one in islice(fits, 1))


def _fits(problem: Problem, values: Mapping[str, Value | None]) -> bool:
    """Whether there is room, and, of a layout, such a one."""
    points = problem.points_at(values)
    rules = points.placement.rules.values()
    return scalar(points.room.free_bytes) >= 0 and all(map(np.all, rules))


def _no_single_change(problem: Problem, values: Mapping[str, Value | None]) -> str:
    points = problem.points_at({**values, "batch_per_gpu": 1})
    needed = scalar(points.memory.total_bytes)
    if values.get("stack") in LAYOUT_STACKS:
        return f"no single change does: raise several of {', '.join(SPLITTING)}"
    return (
        f"one sample needs {_size(needed)}: it takes an accelerator with more memory, or an "
        f"optimizer with less state; {WHOLE_COPIES}"
    )


def _size(size_bytes: float) -> str:
    return f"{float(f'{size_bytes / 2**30:.3g}'):,.12g} GiB"
