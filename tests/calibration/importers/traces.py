"""Traces of two ranks: a real one of gloo, cut down, and made-up ones as NCCL and Horovod write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

# PyTorch 2.13 on two processes of one machine: our own measurement, without the most of its events.
GLOO = Path(__file__).with_name("gloo_two_ranks.json")


def event(name: str, start_us: float, us: float, category: str = "kernel", **args: Any) -> Any:
    return {
        "ph": "X", "name": name, "cat": category, "pid": 0, "tid": 7, "ts": start_us, "dur": us,
        "args": args,
    }  # fmt: skip


def summed(start_us: float, us: float, elements: int = 262144, kind: str = "Float") -> Any:
    """An allreduce of 4 ranks as a kernel."""
    told = {"Collective name": "allreduce", "In msg nelems": elements, "dtype": kind,
            "Group size": 4}  # fmt: skip
    return event("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)", start_us, us, **told)


def nccl_events() -> list[Any]:
    """Two steps of 1,000 us: 500 us of computing, of 200 us of communication 50 us beside it."""
    steps = [event(f"ProfilerStep#{n}", 1000.0 * n, 990.0, "user_annotation") for n in (0, 1)]
    work = [event("gemm", 1000.0 * n + 100, 500.0) for n in (0, 1)]
    sums = [summed(1000.0 * n + 550, 200.0) for n in (0, 1)]
    return [*steps, *work, *sums]


def text(events: list[Any], ranks: int = 4) -> str:
    about = {"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": 0,
                                                     "world_size": ranks}}  # fmt: skip
    return json.dumps({**about, "traceEvents": events})
