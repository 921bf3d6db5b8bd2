"""What rccl-tests write with -Z: JSON, an object a line or in a list, and CSV.

Of each size there is a row out of place, which counts as in :mod:`nccl_tests`, and one in place.
Builds without MPI have the GPUs of their one process. What is called nodes are communicators of one
process a GPU: a single one may lie on several nodes. Until May 2026 the header of the CSV lacked
that column (ROCm/rccl-tests 93 and 140, ROCm/rocm-systems 6004).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from dse.calibration.importers.names import TYPES, collective_named
from dse.calibration.importers.nccl_tests import BUS_FACTOR
from dse.calibration.importers.records import Log, Row, Table
from dse.calibration.importers.text import integer, printable
from dse.text_source import from_json

FORMAT = "rccl-tests"
_PLACE = ("ranks", "gpusperrank", "nodes", "gpus")
_COLUMNS = ("inplace", "time", "algbw", "busbw")
_WHOLE = 0.1  # how far from a whole number the ranks that bandwidths tell may be


def looks_so(text: str) -> bool:
    """Whether the first row, or the header, has the columns of such a file."""
    start = text.lstrip()[:2000].lower()
    return start[:1] in ("[", "{", "n", "c", '"') and all(name in start for name in _COLUMNS)


def parse(text: str) -> Log:
    """The log; rows of other columns, or without a time, count as damaged."""
    records, dropped = _records(text)
    found: dict[tuple[str, tuple[int, ...]], list[tuple[Row, float]]] = {}
    for record in records:
        name = record.get("name", record.get("collective", ""))
        read = _row(record)
        dropped += read is None or not name
        if read and name and read[0].bytes and record.get("inplace") == "0":
            place = tuple(integer(record.get(key, "")) or 0 for key in _PLACE)
            found.setdefault((collective_named(name) or printable(name), place), []).append(read)
    tables = tuple(_table(name, place, rows) for (name, place), rows in found.items())
    return Log(FORMAT, tables, dropped)


def _records(text: str) -> tuple[list[dict[str, str]], int]:
    """Cells by the name of their column in small letters, and how many lines are damaged."""
    if text.lstrip()[0] in "[{":
        lines = (line.strip(" ,\t[]") for line in text.splitlines())
        found = _json(text) or [_json(line) for line in lines if line]
        rows = found if isinstance(found, list) else [found]
        good = [row for row in rows if isinstance(row, dict)]
        named = [{_plain(key): str(value) for key, value in row.items()} for row in good]
        return named, len(rows) - len(good)
    header, *body = (line.split(",") for line in text.splitlines() if line.strip())
    names = [_plain(name) for name in header]
    if "ranks" in names and "nodes" not in names and body and len(body[0]) == len(names) + 1:
        names.insert(names.index("ranks"), "nodes")
    whole = [row for row in body if len(row) == len(names)]
    cells = [[cell.strip(' "') for cell in row] for row in whole]
    return [dict(zip(names, row, strict=True)) for row in cells], len(body) - len(whole)


def _json(text: str) -> Any:
    """What a text says; None where it is damaged."""
    try:
        return from_json(text)
    except (ValueError, RecursionError):
        return None


def _plain(name: str) -> str:
    """'#wrong' and ' algBw (GB/s)' -> 'wrong' and 'algbw'."""
    return re.sub(r"\(.*|[^a-z]", "", name.lower())


def _row(record: Mapping[str, str]) -> tuple[Row, float] | None:
    """A row, and its busbw over its algbw; None where it is damaged."""
    size, kind = integer(record.get("size", "")), record.get("type", "")
    try:
        time, algbw, busbw = (float(record[name]) for name in _COLUMNS[1:])
    except (KeyError, ValueError):
        return None
    if size is None or kind not in TYPES or not (0 < time < math.inf and math.isfinite(busbw)):
        return None
    wrong = integer(record.get("wrong", "")) or 0
    row = Row(0, size, time / 1e6, verified=not wrong, dtype=TYPES[kind][0])
    return row, busbw / algbw if algbw > 0 else 0.0


def _table(name: str, place: tuple[int, ...], rows: Sequence[tuple[Row, float]]) -> Table:
    """One collective of some ranks; the bandwidths tell of several communicators."""
    processes, gpus_per_process, nodes, gpus = place
    ranks = processes * max(gpus_per_process, 1) or gpus
    counts = {ranks: "'ranks'" if processes else "'gpus'"} if ranks else {}
    factor, ratio = BUS_FACTOR.get(name, 0), max(rows, key=lambda one: one[0].bytes)[1]
    told = factor / (factor - ratio) if processes and 0 < ratio < factor else 0.0
    if told > 1 + _WHOLE and abs(told - round(told)) < _WHOLE:
        counts.setdefault(round(told), "busBw/algBw")
    several = nodes if nodes > 1 and len(counts) == 1 else None
    return Table(
        collective=name,
        rows=tuple(row for row, _ in rows),
        line=0,
        transport="nccl",
        library="rccl",
        ranks=counts,
        nodes=several if processes else 1 if gpus else None,
    )
