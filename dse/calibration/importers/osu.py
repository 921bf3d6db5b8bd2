"""OSU micro-benchmarks: latencies, any number of benchmarks in one file, plain or with -f.

The rank count is in no table; it is taken from the command where the log shows it. osu_latency's
time is one way, osu_bw's the size over its bandwidth; of the non-blocking benchmarks the pure
communication time is taken. The sizes of allgather and alltoall are those of one rank's share.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from dse.calibration.importers.command_line import Launch, launch_of
from dse.calibration.importers.records import PAIRS, SHARED, STREAM, UNKNOWN, Log, Row, Table
from dse.calibration.importers.text import Line, decimal, integer

FORMAT = "OSU"
COLLECTIVES = {
    "allreduce": "allreduce", "allgather": "all_gather", "allgatherv": "all_gatherv",
    "reduce_scatter": "reduce_scatter", "reduce_scatter_block": "reduce_scatter_block",
    "all-to-all": "alltoall", "all-to-all personalized exchange": "alltoall",
    "all-to-allv personalized exchange": "alltoallv", "alltoall": "alltoall",
    "broadcast": "broadcast", "reduce": "reduce", "gather": "gather", "scatter": "scatter",
    "": "ping-pong", "bandwidth": STREAM,
}  # fmt: skip

_TITLE = re.compile(r"^#?\s*OSU (\S+?)(-CUDA|-ROCM|-OPENACC)? (.*?)\s*(?:Test )?v(\d[\w.]*)\s*$")
_COLUMNS = re.compile(r"^#?\s*Size\s{2,}\S")
_DATATYPE = re.compile(r"^#\s*Datatype:\s*MPI_(\w+)")
_TYPES = {"FLOAT": "float32", "INT": "int32", "CHAR": "int8", "DOUBLE": "float64"}
_REDUCING = ("allreduce", "reduce", "reduce_scatter")
MEGA = 1e6


@dataclass
class _Section:
    """One table while it is read. columns: their names; time: the column of the latency."""

    line: int
    collective: str
    version: str
    device: str
    launch: Launch
    dtype: str
    columns: list[str] = field(default_factory=list)
    time: int | None = None
    rows: list[Row] = field(default_factory=list)
    dropped: int = 0


def parse(lines: Sequence[Line]) -> Log | None:
    """The log, or None where this is not one; a log without any row gives no tables."""
    section: _Section | None = None
    found: list[_Section] = []
    left_out: dict[str, None] = {}
    launch, latest_line = Launch(), 0
    for number, text in lines:
        if started := launch_of(text):
            launch, latest_line = started, number
            section = None
        elif title := _TITLE.match(text):
            # a launch tells of the next table only
            section = _begin(number, title, launch if latest_line else Launch())
            latest_line = 0
            if section is None:
                left_out[title[3]] = None
            else:
                found.append(section)
        elif section is None:
            continue
        elif datatype := _DATATYPE.match(text):
            section.dtype = _TYPES.get(datatype[1], datatype[1].lower())
        elif _COLUMNS.match(text):
            section.columns = re.split(r"\s{2,}", text.strip("# \t"))
            section.time = _time_column(section.columns)
        elif section.time is not None:
            _read_row(section, section.time, number, text.split())
    if not found and not left_out:
        return None
    tables = tuple(_table(section) for section in found if section.rows)
    notes = tuple(f"'{title}' has no latency per size and is left out" for title in left_out)
    return Log(FORMAT, tables, sum(s.dropped for s in found), notes)


def _begin(number: int, title: re.Match[str], launch: Launch) -> _Section | None:
    name = title[3].lower().removesuffix("test").strip()
    prefix = "i" if name.startswith("non-blocking ") else ""
    name = name.removeprefix("non-blocking ")
    if not name.endswith("latency") and name != "bandwidth":
        return None
    collective = COLLECTIVES.get(name.removesuffix("latency").strip())
    if collective is None:
        return None
    device = (title[2] or "-cpu").removeprefix("-").lower()
    dtype = "float32" if collective in _REDUCING else "int8"
    return _Section(number, prefix + collective, title[4], device, launch, dtype)


def _time_column(columns: Sequence[str]) -> int | None:
    for wanted in ("pure comm", "avg latency", "latency", "bandwidth"):
        for position, name in enumerate(columns):
            if name.lower().startswith(wanted):
                return position
    return None


def _read_row(section: _Section, time: int, number: int, tokens: Sequence[str]) -> None:
    """A row has a size and as many values as there are columns; warnings lie between rows."""
    size = integer(tokens[0]) if tokens else None
    if size is None:
        return
    whole = len(tokens) == len(section.columns)
    value = decimal(tokens[time]) if whole else None
    if not value:
        section.dropped += 1
    elif size:
        values = dict(zip((name.lower() for name in section.columns), tokens, strict=True))
        section.rows.append(
            Row(
                line=number,
                bytes=size,
                seconds=size / value / MEGA if section.collective == STREAM else value / MEGA,
                repetitions=integer(values.get("iterations", "")) or 1,
                verified=values.get("validation", "pass").lower() != "fail",
                dtype=section.dtype,
            )
        )


def _table(section: _Section) -> Table:
    launch = section.launch
    pair = section.collective in PAIRS
    counts = {launch.ranks: "the command"} if launch.ranks else {}
    return Table(
        collective=section.collective,
        rows=tuple(section.rows),
        line=section.line,
        transport="mpi",
        library=launch.library,
        version=launch.version if launch.library != UNKNOWN else UNKNOWN,
        algorithm=launch.algorithm,
        ranks={2: "a pair"} if pair else counts,
        nodes=launch.nodes,
        device=section.device,
        shares=section.collective in SHARED,
    )
