"""Tables of allreduce times, one row per measurement, as comma-separated values.

Columns: system, nodes, ranks_per_node, ranks, library, transport, collective, bytes, time_us; also
device, runs, source.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping, Sequence

from dse.calibration.importers.nccl_tests import COLLECTIVES
from dse.calibration.importers.records import UNKNOWN, Log, Row, Table
from dse.calibration.importers.text import integer, printable
from dse.errors import StudyError

FORMAT = "table"
REQUIRED = ("system", "nodes", "ranks_per_node", "ranks", "library", "transport", "collective",
            "bytes", "time_us")  # fmt: skip
_MARKS = {"ranks", "bytes", "time_us"}
_LISTED = 12
_LIBRARY = re.compile(r"(.+?)-(\d[\w.+]*)")
_TRANSPORTS = (("nccl", "nccl"), ("rccl", "nccl"), ("gloo", "gloo"), ("mpi", "mpi"),
               ("mvapich", "mpi"))  # fmt: skip
Group = tuple[str, ...]


def looks_so(text: str) -> bool:
    """Whether the first line is the header of such a table."""
    return {name.strip() for name in text.lstrip().partition("\n")[0].split(",")} >= _MARKS


def parse(text: str, file: str, select: Mapping[str, Sequence[str]]) -> Log:
    """The rows that have one of the wanted values in every selected column.

    Raises StudyError for a missing column or value, and for rows whose nodes and ranks per node
    contradict their ranks.
    """
    header, records = _records(text, file)
    selected = _selected(header, records, file, select)
    groups: dict[Group, list[Row]] = {}
    sources: dict[str, None] = {}
    dropped = 0
    for line, record in selected:
        row = _row(line, record)
        if row is None:
            dropped += 1
            continue
        key = tuple(record.get(name, "") for name in ("collective", "library", "transport",
                    "system", "device", "ranks", "nodes", "ranks_per_node"))  # fmt: skip
        groups.setdefault(key, []).append(row)
        if record.get("source"):
            sources[printable(record["source"])] = None
    tables = tuple(_table(key, rows, file) for key, rows in groups.items())
    return Log(FORMAT, tables, dropped, source=", ".join(sources))


def _records(text: str, file: str) -> tuple[list[str], list[tuple[int, dict[str, str]]]]:
    reader = csv.reader(text.splitlines())
    try:
        lines = [(reader.line_num, [value.strip() for value in line]) for line in reader]
    except csv.Error as cause:
        raise StudyError(
            file, reader.line_num, 1, f"is not a valid table: {cause}", "correct it"
        ) from None
    lines = [(number, line) for number, line in lines if any(line)]
    header = lines[0][1]
    for name in REQUIRED:
        if name not in header:
            raise StudyError(
                file, 1, 1, f"the column '{name}' is missing", f"give {', '.join(REQUIRED)}"
            )
    return header, [
        (number, dict(zip(header, line, strict=True)) if len(line) == len(header) else {})
        for number, line in lines[1:]
    ]


def _selected(
    header: Sequence[str],
    records: Sequence[tuple[int, dict[str, str]]],
    file: str,
    select: Mapping[str, Sequence[str]],
) -> list[tuple[int, dict[str, str]]]:
    broken = [(number, record) for number, record in records if not record]
    whole = [(number, record) for number, record in records if record]
    selected = whole
    for column, wanted in select.items():
        if column not in header:
            problem = f"--select: there is no column '{column}'"
            raise StudyError(file, 0, 0, problem, f"the columns are {', '.join(header)}")
        everywhere = sorted({record[column] for _, record in whole}, key=_natural)
        for value in wanted:
            if value not in everywhere:
                problem = f"--select: no row has {column}={value}"
                raise StudyError(file, 0, 0, problem, f"choose from {_list(everywhere)}")
        kept = [(n, record) for n, record in selected if record[column] in wanted]
        if not kept:
            left = sorted({record[column] for _, record in selected}, key=_natural)
            before = f"{column}={' or '.join(wanted)} together with the columns selected before it"
            problem = f"--select: no row has {before}"
            raise StudyError(file, 0, 0, problem, f"choose {column} from {_list(left)}")
        selected = kept
    return selected + broken


def _row(line: int, record: Mapping[str, str]) -> Row | None:
    size, runs = integer(record.get("bytes", "")), integer(record.get("runs", "1") or "1")
    try:
        seconds = float(record.get("time_us", "")) / 1e6
    except ValueError:
        return None
    counts = [integer(record.get(name, "")) for name in ("nodes", "ranks_per_node", "ranks")]
    if not (size and runs and all(counts) and 0 < seconds < math.inf):
        return None
    return Row(line, size, seconds, runs)


def _table(key: Group, rows: Sequence[Row], file: str) -> Table:
    name, library, link, system, device = (printable(value) for value in key[:5])
    ranks, nodes, per_node = (int(value) for value in key[5:])
    line = rows[0].line
    if not (nodes - 1) * per_node < ranks <= nodes * per_node:
        problem = f"{nodes} nodes x {per_node} ranks_per_node contradicts {ranks} ranks"
        raise StudyError(file, line, 1, problem, "correct the table")
    transport = next((t for mark, t in _TRANSPORTS if mark in library.lower()), None)
    if transport is None:
        problem = f"the library '{library}' is not NCCL, MPI or gloo"
        raise StudyError(file, line, 1, problem, "write for example nccl-2.18 or spectrum-mpi")
    versioned = _LIBRARY.fullmatch(library)
    return Table(
        collective=COLLECTIVES.get(name, name),
        rows=tuple(rows),
        line=line,
        transport=transport,
        library=versioned[1] if versioned else library,
        version=versioned[2] if versioned else UNKNOWN,
        ranks={ranks: "the column ranks"},
        nodes=nodes,
        ranks_per_node=per_node,
        link=link,
        system=system,
        device=device or UNKNOWN,
    )


def _natural(value: str) -> tuple[float, str]:
    return (float(value) if value.isascii() and value.isdigit() else math.inf, value)


def _list(values: Sequence[str]) -> str:
    shown = [value or "(empty)" for value in values[:_LISTED]]
    return ", ".join(shown) + (
        f" and {len(values) - _LISTED} more" if len(values) > _LISTED else ""
    )
