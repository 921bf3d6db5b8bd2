"""Horovod's timeline (``HOROVOD_TIMELINE``): allreduces with their sizes and ranks.

Each tensor is a process of the trace. Its operation (``ALLREDUCE``) begins, holds activities such
as ``NCCL_ALLREDUCE``, ``MPI_ALLREDUCE`` or ``GLOO_ALLREDUCE``, and ends with the tensor's ``dtype``
and ``shape``. Tensors that were fused have that activity at the same time, and are one message.
While a tensor is negotiated each rank leaves a tick with its number.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from dse.calibration.importers.names import TYPES, collective_named
from dse.calibration.importers.records import Log, Table
from dse.calibration.importers.traces import Trace, row_of

FORMAT = "Horovod timeline"
_ACTIVITY = re.compile(r"(NCCL|MPI|GLOO|CCL)_(ALLREDUCE|ALLGATHER|BROADCAST|ALLTOALL)")
_NEGOTIATION = "NEGOTIATE_"


@dataclass
class _Sent:
    """An activity of one tensor. dtype: '' until the operation's end tells."""

    kind: tuple[str, str]
    start_s: float
    end_s: float = math.inf
    dtype: str = ""
    bytes: int = 0


def is_horovod(trace: Trace) -> bool:
    """Whether Horovod wrote it."""
    return any(event.phase == "B" and event.name.startswith(_NEGOTIATION) for event in trace.events)


def parse(trace: Trace) -> Log:
    """The times of collectives by size of the message, as a benchmark would have them."""
    sent, ranks, dropped, unknown = _activities(trace)
    sizes: dict[tuple[tuple[str, str], str], dict[int, list[float]]] = defaultdict(dict)
    first_s = min((one.start_s for one in unknown), default=math.inf)
    for message in _messages(sent):
        first = message[0]
        start_s = min(one.start_s for one in message)
        end_s = max(one.end_s for one in message)
        # It may have held a tensor whose size was to be told after the end of the file.
        open_ones = unknown if end_s > first_s else []
        torn = any(one.start_s < end_s and one.end_s > start_s for one in open_ones)
        if (seconds := end_s - start_s) > 0 and not torn:
            own = sizes[first.kind, first.dtype]
            own.setdefault(sum(one.bytes for one in message), []).append(seconds)
        else:
            dropped += 1
    tables = tuple(
        Table(
            collective=collective_named(operation),
            rows=tuple(row_of(size, dtype, times) for size, times in sorted(own.items())),
            line=1,
            transport=library.lower(),
            library=library.lower(),
            ranks={ranks: "the ticks of its ranks"} if ranks > 1 else {},
            device="cuda" if library == "NCCL" else "unknown",
            shares=operation == "ALLGATHER",
        )
        for ((library, operation), dtype), own in sizes.items()
    )
    return Log(FORMAT, tables, dropped + trace.damaged)


def _activities(trace: Trace) -> tuple[list[_Sent], int, int, list[_Sent]]:
    """Activities whose size is known, in order; ranks, 0 where no tick tells; how many were
    dropped; those whose size was not told when the trace ended."""
    begun: dict[str, list[str]] = defaultdict(list)
    pending: dict[str, list[_Sent]] = defaultdict(list)
    found: list[_Sent] = []
    ranks = dropped = 0
    for event in trace.events:
        tensor, _ = event.place
        if event.phase == "X" and event.name.isdecimal() and len(event.name) < 8:
            ranks = max(ranks, int(event.name) + 1)
        elif event.phase == "B":
            begun[tensor].append(event.name)
            if match := _ACTIVITY.fullmatch(event.name):
                pending[tensor].append(_Sent((match[1], match[2]), event.start_s))
        elif event.phase == "E" and begun[tensor]:
            name = begun[tensor].pop()
            if _ACTIVITY.fullmatch(name):
                pending[tensor][-1].end_s = event.start_s
            elif not begun[tensor] and not name.startswith(_NEGOTIATION):
                size, dtype = _size(str(event.args.get("shape", ""))), event.args.get("dtype")
                own = pending.pop(tensor, [])
                if size is None or dtype not in TYPES:
                    dropped += len(own)
                    continue
                for one in own:
                    one.dtype, one.bytes = str(dtype), size * TYPES[str(dtype)][1]
                found += own
    unknown = [one for own in pending.values() for one in own]
    return sorted(found, key=lambda one: one.start_s), ranks, dropped + len(unknown), unknown


def _size(shape: str) -> int | None:
    """Elements of ``[1024, 10]``; None where that is no shape."""
    if not re.fullmatch(r"\[[\d, ]{0,200}\]", shape):
        return None
    sides = [int(side) for side in re.findall(r"\d{1,12}", shape)]
    return math.prod(sides) or None


def _messages(sent: Sequence[_Sent]) -> list[list[_Sent]]:
    """Tensors that were sent together: Horovod sends one message after the other."""
    out: list[list[_Sent]] = []
    end_s = 0.0  # of the last message
    for one in sent:
        same = out and (out[-1][0].kind, out[-1][0].dtype) == (one.kind, one.dtype)
        if same and one.start_s < end_s:
            out[-1].append(one)
            end_s = max(end_s, one.end_s)
        else:
            out.append([one])
            end_s = one.end_s
    return out
