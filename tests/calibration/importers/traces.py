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


def horovod(shapes: list[str], ranks: int = 4, us: int = 100) -> str:
    """A timeline of tensors that are summed together, three times."""
    named = [{"name": "process_name", "ph": "M", "pid": n, "args": {"name": f"t{n}"}}
             for n in range(1, len(shapes) + 1)]  # fmt: skip
    out: list[Any] = [*named]
    for start in (0, 1000, 2000):
        for n in range(1, len(shapes) + 1):
            out.append({"ph": "B", "name": "NEGOTIATE_ALLREDUCE", "ts": start, "pid": n})
            out += [{"ph": "X", "name": str(rank), "ts": start + rank, "pid": n, "dur": 0}
                    for rank in range(ranks)]  # fmt: skip
            out.append({"ph": "E", "ts": start + 10, "pid": n})
            out.append({"ph": "B", "name": "ALLREDUCE", "ts": start + 20, "pid": n})
            out.append({"ph": "B", "name": "NCCL_ALLREDUCE", "ts": start + 30 + n, "pid": n})
            out.append({"ph": "E", "ts": start + 31 + us, "pid": n})
            args = {"dtype": "float32", "shape": shapes[n - 1]}
            out.append({"ph": "E", "ts": start + 40 + us, "pid": n, "args": args})
    return json.dumps(out)


def text(events: list[Any], ranks: int = 4, rank: int = 0, base_s: int = 0) -> str:
    """base_s: since 1970, of the clock of the trace."""
    about = {"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": rank,
                                                     "world_size": ranks},
             "baseTimeNanoseconds": base_s * 10**9}  # fmt: skip
    return json.dumps({**about, "traceEvents": events})
