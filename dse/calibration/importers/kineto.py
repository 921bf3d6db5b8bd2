"""Traces of PyTorch's profiler (Kineto): collectives with their sizes and ranks.

With NCCL each collective is a kernel on the accelerator whose arguments name it (``Collective
name``, ``In msg nelems``, ``dtype``, ``Group size``), since PyTorch 2.1. With gloo it is the
annotation ``gloo:all_reduce`` of a worker thread, with ``Input Dims`` and ``Input type``.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from dse.calibration.importers.names import TYPES, collective_named
from dse.calibration.importers.records import Call, Log, Traced
from dse.calibration.importers.traces import Event, Trace, tables_of

FORMAT = "PyTorch profiler trace"
_STEP = re.compile(r"ProfilerStep#(\d+)")
_ANNOTATION = re.compile(r"(gloo|nccl|mpi|ucc):_?([a-z_]+)")
_NCCL_KERNEL = re.compile(r"nccl(?:Dev)?Kernel_?(\w*)", re.IGNORECASE)
_VARIANT = re.compile(r"(?:base|coalesced|into|tensor)+$")
_ALGORITHMS = {"RING": "ring", "TREE": "tree"}


def is_kineto(trace: Trace) -> bool:
    """Whether PyTorch's profiler wrote it."""
    return "schemaVersion" in trace.about or any(_STEP.fullmatch(e.name) for e in trace.events)


def world(trace: Trace) -> tuple[int | None, int | None, str]:
    """(which rank of the job, how many it has, its backend), as the trace tells."""
    told = trace.about.get("distributedInfo")
    told = told if isinstance(told, dict) else {}
    rank, ranks = told.get("rank"), _count(told.get("world_size"))
    known = ranks is not None and (rank == 0 or _count(rank) is not None)
    return rank if known else None, ranks, str(told.get("backend", ""))


def _count(told: object) -> int | None:
    """A whole number of 1 or more; None for all else."""
    if isinstance(told, bool) or not isinstance(told, int) or told < 1:
        return None
    return told


def _communication(trace: Trace) -> list[Event]:
    """Kernels of NCCL where there are any, else annotations of worker threads."""
    whole = [e for e in trace.events if e.phase == "X"]
    kernels = [e for e in whole if e.category == "kernel" and _NCCL_KERNEL.match(e.name)]
    return kernels or [
        e for e in whole if e.category == "user_annotation" and _ANNOTATION.match(e.name)
    ]


def _call(event: Event, ranks: int | None, backend: str) -> Call | None:
    """What was called; None where its size or its kind is not told."""
    annotated, kernel = _ANNOTATION.match(event.name), _NCCL_KERNEL.match(event.name)
    words = kernel[1].upper().split("_") if kernel else [""]
    said = event.args.get("Collective name") or (annotated[2] if annotated else words[0])
    name = collective_named(_plain(str(said)))
    elements, kind = _message(event.args)
    dtype = TYPES.get(kind.lower().removeprefix("c10::"))
    if not name or dtype is None or elements is None or event.duration_s <= 0:
        return None
    among = _count(event.args.get("Group size", ranks)) or 0
    return Call(
        name, among,
        annotated[1] if annotated else "nccl" if kernel else backend or "unknown",
        next((_ALGORITHMS[word] for word in words if word in _ALGORITHMS), "auto"),
        elements * dtype[1], dtype[0], _members(event.args, among, ranks),
    )  # fmt: skip


def _members(args: Mapping[str, Any], ranks: int, job: int | None) -> tuple[int, ...]:
    """Ranks of the group; those of the first one where groups of a kind lie as evenly as it.

    job: ranks of the job. Without it the trace's own group stays, since it tells of ranks before.
    """
    told = str(args.get("Process Group Ranks", ""))[: 10**5]  # ends in ... where it is long
    found = [int(rank) for rank in re.findall(r"\d{1,9}", told)]
    start, stride = args.get("Global rank start"), _count(args.get("Global rank stride"))
    if len(found) != ranks and isinstance(start, int) and start >= 0 and stride and ranks < 10**6:
        found = [start + stride * at for at in range(ranks)]
    if len(found) != ranks or ranks < 2 or found != sorted(set(found)):
        return ()
    step = found[1] - found[0]
    first = tuple(range(0, step * ranks, step))
    start = found[0] - found[0] % step
    even = found == [rank + found[0] for rank in first] and start % (step * ranks) == 0
    return first if even and job else tuple(found)


def _plain(name: str) -> str:
    """all_reduce, allreduce, _allgather_base and allreduce_coalesced by one name."""
    return _VARIANT.sub("", name.lower().replace("_", ""))


def _message(args: Mapping[str, Any]) -> tuple[int | None, str]:
    """(elements that a rank gives, type of one)."""
    elements = _count(args.get("In msg nelems"))
    if elements is not None:
        return elements, str(args.get("dtype", ""))
    dims, types = args.get("Input Dims"), args.get("Input type")
    if not (isinstance(dims, list) and isinstance(types, list) and dims and types):
        return None, ""
    first = dims[0]
    while isinstance(first, list) and len(first) == 1 and isinstance(first[0], list):
        first = first[0]
    whole = isinstance(first, list) and first
    if not whole or not all(isinstance(n, int) and 0 < n < 10**12 for n in first):
        return None, ""
    return math.prod(first), str(types[0])


def parse(trace: Trace) -> Log:
    """The times of collectives by size, as a benchmark would have them."""
    times: dict[Call, list[float]] = defaultdict(list)
    began, ended, dropped = math.inf, -math.inf, trace.damaged
    rank, ranks, backend = world(trace)
    for event in _communication(trace):
        call = _call(event, ranks, backend)
        if call is None:
            dropped += 1
            continue
        times[call].append(event.duration_s)
        began, ended = min(began, event.start_s), max(ended, event.end_s)
    device = "cuda" if any(e.category == "kernel" for e in trace.events) else "cpu"
    base_s = (_count(trace.about.get("baseTimeNanoseconds")) or 0) * 1e-9  # of the trace's clock
    traced = Traced(rank, ranks, device, (base_s + began, base_s + ended), times)
    return Log(FORMAT, tables_of([traced]), dropped, traced=traced)
