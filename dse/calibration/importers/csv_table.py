"""Tables of allreduce times, one row per measurement, as comma-separated values.

Columns: system, nodes, ranks_per_node, ranks, library, transport, collective, bytes, time_us; also
device, runs, source.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from dse.calibration.importers.names import collective_named
from dse.calibration.importers.records import UNKNOWN, Log, Row, Table, transport_of
from dse.calibration.importers.text import integer, printable
from dse.errors import StudyError
from dse.mistakes import each
from dse.spelling import abridged
from dse.text_table import Table as Cells
from dse.text_table import text_table

FORMAT = "table"
REQUIRED = ("system", "nodes", "ranks_per_node", "ranks", "library", "transport", "collective",
            "bytes", "time_us")  # fmt: skip
_PLACE = ("collective", "library", "transport", "system", "device", "ranks", "nodes",
          "ranks_per_node")  # fmt: skip
_MARKS = {"ranks", "bytes", "time_us"}
_LIBRARY = re.compile(r"(.+?)-(\d[\w.+]*)")


def looks_so(text: str) -> bool:
    """Whether the first line is the header of such a table."""
    return {name.strip() for name in text.lstrip().partition("\n")[0].split(",")} >= _MARKS


def parse(text: str, file: str, select: Mapping[str, Sequence[str]]) -> Log:
    """The rows that have one of the wanted values in every selected column.

    Raises StudyError for a missing column or value, for what is no number, and for rows whose nodes
    and ranks per node contradict their ranks.
    """
    cells = text_table(file, text, marks=",")
    for name in REQUIRED:
        if name not in cells.header:
            problem = f"the column '{name}' is missing"
            raise cells.wrong(-1, 0, problem, f"give {', '.join(REQUIRED)}")
    chosen = _selected(cells, select)
    rows = each(lambda at: _row(cells, at), chosen)
    groups: dict[tuple[str, ...], list[Row]] = {}
    sources: dict[str, None] = {}
    for at, row in zip(chosen, rows, strict=True):
        record = dict(zip(cells.header, cells.rows[at], strict=True))
        groups.setdefault(tuple(record.get(name, "") for name in _PLACE), []).append(row)
        if record.get("source"):
            sources[printable(record["source"])] = None
    tables = tuple(_table(key, own, file) for key, own in groups.items())
    return Log(FORMAT, tables, source=", ".join(sources))


def _selected(cells: Cells, select: Mapping[str, Sequence[str]]) -> list[int]:
    """Numbers of the rows wanted. Each value must be that of a row left by the columns before."""
    chosen = list(range(len(cells.rows)))
    for column, wanted in select.items():
        if column not in cells.header:
            problem = f"--select: there is no column '{column}'"
            raise StudyError(
                cells.path, 0, 0, problem, f"the columns are {', '.join(cells.header)}"
            )
        values = cells.cells(column)
        left = sorted({values[at] for at in chosen}, key=lambda value: (len(value), value))
        for value in wanted:
            if value not in left:
                problem = f"--select: no row that is left has {column}={value}"
                raise StudyError(
                    cells.path,
                    0,
                    0,
                    problem,
                    f"choose from {abridged([value or '(empty)' for value in left])}",
                )
        chosen = [at for at in chosen if values[at] in wanted]
    return chosen


def _row(cells: Cells, at: int) -> Row:
    record = dict(zip(cells.header, cells.rows[at], strict=True))
    for name in ("nodes", "ranks_per_node", "ranks", "bytes", "runs"):
        if not integer(record.get(name, "1")):
            raise cells.wrong(at, name, f"{name}: {{}} is no count", "write a whole number")
    try:
        seconds = float(record["time_us"]) / 1e6
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise cells.wrong(at, "time_us", "time_us: {} is no time", "write microseconds, as 25.5")
    return Row(cells.lines[at + 1], int(record["bytes"]), seconds, int(record.get("runs", "1")))


def _table(key: tuple[str, ...], rows: Sequence[Row], file: str) -> Table:
    name, library, link, system, device = (printable(value) for value in key[:5])
    ranks, nodes, per_node = (int(value) for value in key[5:])
    line = rows[0].line
    if not (nodes - 1) * per_node < ranks <= nodes * per_node:
        problem = f"{nodes} nodes x {per_node} ranks_per_node contradicts {ranks} ranks"
        raise StudyError(file, line, 1, problem, "correct the table")
    transport = transport_of(library)
    if transport is None:
        problem = f"the library '{library}' is not NCCL, MPI or gloo"
        raise StudyError(file, line, 1, problem, "write for example nccl-2.18 or spectrum-mpi")
    versioned = _LIBRARY.fullmatch(library)
    return Table(
        collective=collective_named(name) or name,
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
