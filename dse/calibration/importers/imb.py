"""Intel MPI Benchmarks: tables since IMB 4.

Time is t_avg, the average over the ranks, as OSU and nccl-tests also print; t_min and t_max are
over ranks, not over repetitions, so they are no quantiles. The time of a PingPong is one way. The
sizes of Allgather and Alltoall are those of one rank's share.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from dse.calibration.importers.command_line import Launch, launch_of
from dse.calibration.importers.records import PAIRS, SHARED, Log, Row, Table
from dse.calibration.importers.text import Line, decimal, integer

FORMAT = "IMB"
COLLECTIVES = {
    "pingpong": "ping-pong", "pingping": "ping-ping", "sendrecv": "sendrecv",
    "exchange": "exchange", "allreduce": "allreduce", "reduce": "reduce",
    "reduce_scatter": "reduce_scatter", "reduce_scatter_block": "reduce_scatter_block",
    "allgather": "all_gather", "allgatherv": "all_gatherv", "alltoall": "alltoall",
    "alltoallv": "alltoallv", "bcast": "broadcast", "gather": "gather", "scatter": "scatter",
}  # fmt: skip

_BANNER = re.compile(r"Intel ?\(R\) MPI Benchmarks? ([\w. ]+?),")
_NAME = re.compile(r"^#?\s*Benchmarking\s+(\w+)")
_PROCESSES = re.compile(r"#processes\s*=\s*(\d{1,9})\b")
_GROUPS = re.compile(r"groups of (\d{1,9}) processes")
_COLUMNS = re.compile(r"^\s*#bytes\s+#repetitions\s")
_DATE = re.compile(r"^#\s*Date\s*:\s*\w{3} (\w{3} +\d+ [\d:]+ \d{4})\s*$")
_DATATYPE = re.compile(r"^#\s*MPI_Datatype( for reductions)?\s*:\s*MPI_(\w+)")
_TYPES = {"FLOAT": "float32", "BYTE": "uint8", "CHAR": "int8", "DOUBLE": "float64", "INT": "int32"}
_TIMES = ("t_avg[usec]", "t[usec]")


@dataclass
class _Section:
    """One table while it is read."""

    line: int
    name: str
    ranks: int | None = None
    columns: list[str] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    dropped: int = 0


def parse(lines: Sequence[Line]) -> Log | None:
    """The log, or None where this is not one; a log without any row gives no tables."""
    section: _Section | None = None
    found: list[_Section] = []
    banner, launch, date = "", Launch(), ""
    types = {"": "uint8", " for reductions": "float32"}
    for number, text in lines:
        if name := _NAME.match(text):
            section = _Section(number, name[1])
            found.append(section)
        elif match := _BANNER.search(text):
            banner = match[1].strip()
        elif match := _DATE.match(text):
            date = _day(match[1])
        elif match := _DATATYPE.match(text):
            types[match[1] or ""] = _TYPES.get(match[2], match[2].lower())
        elif started := launch_of(text):
            launch = _merged(launch, started)
        elif section is None:
            continue
        elif match := _PROCESSES.search(text) or _GROUPS.search(text):
            section.ranks = int(match[1]) or None
        elif _COLUMNS.match(text):
            section.columns = text.replace("#", " ").split()
        elif section.columns:
            _read_row(section, number, text.split())
    found = [part for part in found if part.columns or part.ranks or part.rows]
    if not found and not banner:
        return None
    tables, notes = [], []
    for part in found:
        collective = COLLECTIVES.get(part.name.lower(), "")
        if collective and part.rows:
            tables.append(_table(part, collective, launch, types))
        elif not collective:
            notes.append(f"'{part.name}' is not a known collective and is left out")
    dropped = sum(part.dropped for part in found)
    return Log(FORMAT, tuple(tables), dropped, tuple(dict.fromkeys(notes)), date=date)


def _merged(launch: Launch, other: Launch) -> Launch:
    """The calling sequence names the library, the command before it the ranks."""
    named = other if other.library != Launch.library else launch
    placed = other if other.ranks else launch
    forced = other if other.algorithm != Launch.algorithm else launch
    return Launch(placed.ranks, placed.nodes, named.library, named.version, forced.algorithm)


def _read_row(section: _Section, number: int, tokens: Sequence[str]) -> None:
    """bytes, repetitions, then t or t_min t_max t_avg; a row of 0 bytes is a no-op."""
    size = integer(tokens[0]) if tokens else None
    if size is None:
        return
    row = None
    time = next((name for name in _TIMES if name in section.columns), None)
    if time and len(tokens) == len(section.columns):
        row = _row(number, size, tokens[1], tokens[section.columns.index(time)])
    if row is None:
        section.dropped += 1
    elif row.bytes:
        section.rows.append(row)


def _row(number: int, size: int, repetitions: str, time: str) -> Row | None:
    count, microseconds = integer(repetitions), decimal(time)
    if not count or not microseconds:
        return None
    return Row(number, size, microseconds / 1e6, count)


def _table(section: _Section, collective: str, launch: Launch, types: dict[str, str]) -> Table:
    reducing = "reduce" in collective
    dtype = types[" for reductions" if reducing else ""]
    ranks = 2 if section.ranks is None and collective in PAIRS else section.ranks
    return Table(
        collective=collective,
        rows=tuple(
            Row(r.line, r.bytes, r.seconds, r.repetitions, dtype=dtype) for r in section.rows
        ),
        line=section.line,
        transport="mpi",
        library=launch.library,
        version=launch.version,
        algorithm=launch.algorithm,
        ranks={ranks: "#processes"} if ranks else {},
        nodes=launch.nodes if launch.ranks == ranks else None,
        device="cpu",
        shares=collective in SHARED,
    )


def _day(text: str) -> str:
    """'Jul 20 16:27:27 2023' -> '2023-07-20'; '' where it is no date."""
    try:
        return datetime.strptime(" ".join(text.split()), "%b %d %H:%M:%S %Y").strftime("%Y-%m-%d")
    except ValueError:
        return ""
