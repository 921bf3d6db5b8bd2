"""gloo's benchmark: the tables of 2018 to 2020, and since then with bytes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from dse.calibration.importers.names import collective_named
from dse.calibration.importers.records import AUTO, Log, Row, Table
from dse.calibration.importers.text import Line, integer, printable

FORMAT = "gloo benchmark"
FLOAT_BYTES = 4  # the elements are float32
BITS_PER_BYTE = 8

_OPTIONS = re.compile(r"^\s*Options:\s+(?=\w+=)(.*)$")
_PROCESSES = re.compile(r"\bprocesses=(\d{1,9})\b")
_ALGORITHM = re.compile(r"^\s*Algorithm:\s+(\w+)\s*$")
_TITLE = re.compile(r"^\s{10,}([A-Z][A-Z0-9_]+)\s*$")
_SPEED = re.compile(r"\bspeed=(\d{1,9})\b")
_DEVICE = re.compile(r"^\s*Device:\s+(\w+)")
# A word is begun only where it begins: a line of 200,000 digits would take minutes.
_COLUMN = re.compile(r"size \(B\)|elements|\b\w+ \((?:us|GB/s)\)|samples|iterations")
_COLUMNS = re.compile(r"\belements\s+min \(us\)\s+p50 \(us\)\s+p99 \(us\)\s+max \(us\)")
_VALUE = re.compile(r"\d{1,15}(?:\.\d{1,6})?")
# longest first; what follows the name is the algorithm
_COLLECTIVES = ("pairwise_exchange", "reduce_scatter", "allreduce", "allgather", "broadcast",
                "alltoall", "gather", "scatter", "reduce")  # fmt: skip
# gloo, docs/algorithms.md: the chunked ring moves 2S per rank, as ours; the plain one moves P*S
_ALGORITHMS = {"ring-chunked": "ring", "ring": "ring-unchunked", "": AUTO}


@dataclass
class _Section:
    """One table while it is read."""

    line: int
    name: str = ""
    ranks: int | None = None
    device: str = ""
    megabits_per_s: int = 0
    columns: list[str] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    dropped: int = 0


def parse(lines: Sequence[Line]) -> Log | None:
    """The log, or None where this is not one; a log without any row gives no tables."""
    section = _Section(1)
    found: list[_Section] = []
    title = ""
    for number, text in lines:
        if match := _TITLE.match(text):
            title = match[1]
        elif match := _DEVICE.match(text):
            speed = _SPEED.search(text)
            section = _Section(number, title, device=match[1])
            section.megabits_per_s = int(speed[1]) if speed else 0
            title = ""
        elif match := _ALGORITHM.match(text):
            section = _Section(number) if section.columns else section
            section.name = match[1]
        elif match := _OPTIONS.match(text):
            section = _Section(number, section.name) if section.columns else section
            processes = _PROCESSES.search(match[1])
            section.ranks = (int(processes[1]) or None) if processes else None
            found.append(section)
        elif _COLUMNS.search(text):
            section.columns = _COLUMN.findall(text)
            if not any(section is other for other in found):
                found.append(section)
        elif section.columns:
            _read_row(section, number, text.split())
    if not found:
        return None
    tables = tuple(_table(part) for part in found if part.rows)
    return Log(FORMAT, tables, sum(part.dropped for part in found))


def _read_row(section: _Section, number: int, tokens: Sequence[str]) -> None:
    if not tokens or integer(tokens[0]) is None:
        return
    values = dict(zip(section.columns, tokens, strict=False))
    whole = len(tokens) == len(section.columns) and all(_VALUE.fullmatch(t) for t in tokens)
    times = (
        [float(values[f"{name} (us)"]) for name in ("min", "p50", "p99", "max")] if whole else []
    )
    elements = integer(values.get("elements", ""))
    repetitions = integer(values.get("iterations", values.get("samples", "")))
    size = integer(values["size (B)"]) if "size (B)" in values else (elements or 0) * FLOAT_BYTES
    if not times or times != sorted(times) or times[0] <= 0 or not repetitions or size is None:
        section.dropped += 1
    elif size:
        section.rows.append(Row(number, size, times[1] / 1e6, repetitions, min_s=times[0] / 1e6))


def _table(section: _Section) -> Table:
    name = section.name.lower().removeprefix("new_")
    known = next((key for key in _COLLECTIVES if key in name), "")
    rest = name.partition(known)[2].strip("_").replace("_", "-") if known else ""
    speed = section.megabits_per_s * 1e6 / BITS_PER_BYTE
    return Table(
        collective=collective_named(known) or printable(name) or "unknown",
        rows=tuple(section.rows),
        line=section.line,
        transport="gloo",
        library="gloo",
        algorithm=_ALGORITHMS.get(rest, rest),
        ranks={section.ranks: "processes="} if section.ranks else {},
        link=section.device,
        link_bytes_per_s=speed or None,
        device="cuda" if name.startswith("cuda") else "cpu",
        shares=known == "allgather",
    )
