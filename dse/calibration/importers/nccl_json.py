"""The JSON that nccl-tests write with -J, with percentiles where -I was given too."""

from __future__ import annotations

import math
import re
from collections import Counter
from pathlib import PurePath
from typing import Any

from dse.calibration.importers.names import TYPES, collective_named
from dse.calibration.importers.records import UNKNOWN, Log, Row, Table
from dse.calibration.importers.text import printable
from dse.errors import StudyError
from dse.text_source import from_json

FORMAT = "nccl-tests JSON"
_LARGEST = 10**18


def looks_so(text: str) -> bool:
    """Whether this is such a file, complete or cut off."""
    return text.lstrip().startswith("{") and bool(
        re.search(r'"(?:nccl_version|out_of_place|per_iter_timing)"', text)
    )


def parse(text: str, file: str, collective: str | None = None) -> Log:
    """The log. Raises StudyError if it is incomplete or does not name its collective."""
    try:
        data = from_json(text)
    except (ValueError, RecursionError) as cause:
        line = getattr(cause, "lineno", 0)
        raise StudyError(
            file, line, 1 if line else 0, "the JSON is damaged or incomplete",
            "give the standard output of the same run",
        ) from None  # fmt: skip
    config = _mapping(data.get("config"))
    program = next((str(a) for a in _sequence(data.get("args"))[:1]), "")
    found = re.search(r"([a-z_]{3,20})_perf", PurePath(program).name)
    name = collective_named(found[1]) if found else collective
    results = _sequence(data.get("results"))
    rows, dropped = [], 0
    for result in results:
        row = _row(_mapping(result), config)
        if row and row.bytes:
            rows.append(row)
        dropped += row is None
    date = str(data.get("start_time") or "")[:10]
    date = date if re.fullmatch(r"\d{4}-\d\d-\d\d", date) else ""
    if not rows:
        return Log(FORMAT, (), dropped, date=date)
    if not name:
        raise StudyError(file, 0, 0, "'args' does not name the collective", "give --collective")
    notes = () if config.get("validation") != 0 else (f"{name}: the sums were not checked",)
    devices = _sequence(data.get("devices")) or _sequence(config.get("devices"))
    ranks, nodes, per_node, device = _placement(devices, config)
    code = _whole(data.get("nccl_version"))
    table = Table(
        collective=name,
        rows=tuple(rows),
        line=0,
        transport="nccl",
        library="nccl",
        version=f"{code // 10000}.{code % 10000 // 100}.{code % 100}" if code else UNKNOWN,
        ranks={ranks: "'devices'"} if ranks else {},
        nodes=nodes,
        ranks_per_node=per_node,
        device=device,
    )
    return Log(FORMAT, (table,), dropped, notes, date=date)


def _row(result: dict[str, Any], config: dict[str, Any]) -> Row | None:
    """None where it is broken; with -I the median and the percentiles of the iterations."""
    size, half = result.get("size"), _mapping(result.get("out_of_place"))
    each = _mapping(result.get("out_of_place_per_iter")) or half
    mean = _us(half.get("time", half.get("cpu_time")))
    median = _us(each.get("p50_us")) or mean
    if size == 0 and type(size) is int:
        return Row(0, 0, 0.0)
    size, kind = _whole(size), str(result.get("type"))
    if not (size and median and kind in TYPES):
        return None
    wrong = [_mapping(result.get(key)).get("nwrong") for key in ("out_of_place", "in_place")]
    repetitions = _whole(result.get("actual_iterations")) or _whole(config.get("iterations"))
    return Row(
        line=0,
        bytes=size,
        seconds=median,
        repetitions=repetitions or 1,
        min_s=_us(each.get("min_us")),
        p95_s=_us(each.get("p95_us")),
        verified=not any(isinstance(w, int | float) and w > 0 for w in wrong),
        dtype=TYPES[kind][0],
    )


def _placement(
    devices: list[Any], config: dict[str, Any]
) -> tuple[int | None, int | None, int | None, str]:
    """Ranks, nodes, ranks per node, device. The list may name only the first rank of a process."""
    entries = [_mapping(device) for device in devices]
    numbers = [entry.get("rank") for entry in entries]
    hosts = Counter(str(entry.get("hostname")) for entry in entries)
    names = Counter(printable(str(entry.get("device_info"))) for entry in entries)
    device = names.most_common(1)[0][0] if names else UNKNOWN
    threads, gpus = _whole(config.get("nthreads")) or 1, _whole(config.get("ngpus")) or 1
    each = threads * gpus
    if len(numbers) > 1 and numbers == list(range(len(numbers))):
        each = 1
    if not numbers or numbers != [each * position for position in range(len(numbers))]:
        return None, None, None, device
    return len(numbers) * each, len(hosts), max(hosts.values()) * each, device


def _us(value: object) -> float | None:
    """Seconds from microseconds; None for what is no time (the writer has \"nan\" for NaN)."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    seconds = float(value) / 1e6 if abs(value) < _LARGEST else math.inf
    return seconds if 0 < seconds < math.inf else None


def _whole(value: object) -> int | None:
    """A count from 1."""
    return value if type(value) is int and 0 < value < _LARGEST else None


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _sequence(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
