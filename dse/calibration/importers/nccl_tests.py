"""Output of nccl-tests and rccl-tests, from any launcher, complete or in excerpts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from dse.calibration.importers.nccl_rows import (
    TYPES,
    NcclRow,
    parse_row,
    ranks_from_bandwidth,
    starts_row,
    sums_for_all,
)
from dse.calibration.importers.records import AUTO, UNKNOWN, Log, Row, Table
from dse.calibration.importers.text import Line, printable
from dse.errors import StudyError

FORMAT = "nccl-tests"
COLLECTIVES = {
    "all_reduce": "allreduce", "all_gather": "all_gather", "reduce_scatter": "reduce_scatter",
    "alltoall": "alltoall", "broadcast": "broadcast", "reduce": "reduce", "sendrecv": "sendrecv",
    "gather": "gather", "scatter": "scatter", "hypercube": "hypercube",
}  # fmt: skip

_PROGRAM = re.compile(rf"\b({'|'.join(COLLECTIVES)})_perf")
_VERSION = re.compile(r"nccl-tests version .*?nccl-library=(\d{4,6})\b")
_STARTING = re.compile(r"Collective test starting:\s*(\S+)")
_CONFIG = re.compile(r"#\s*nThread\s+\d+\s+nGpus\s+\d+\s+minBytes")
_ITERATIONS = re.compile(r"(?<!warmup )\biters:\s*(\d{1,9})\b")
_UNCHECKED = re.compile(r"\bvalidation:\s*0\b")
_RANK = re.compile(
    r"Rank\s+(\d{1,9})\s+(?:Group\s+(\d{1,9})\s+)?Pid\s+\d+\s+on\s+(\S+)\s+device\s+\d+"
    r"\s+\[[^\]]*\]\s*(.*)"
)
_OUT_OF_BOUNDS = re.compile(r"Out of bounds values\s*:\s*\d+\s+(OK|FAILED)")
_DEBUG = re.compile(r"[A-Za-z][\w.-]*:\d+:\d+\s+\[\d+\]\s+NCCL\s+(?:INFO|WARN)")
_DEBUG_VERSION = re.compile(r"[NR]CCL version (\d+\.\d+\.\d+)")
_NETWORK = re.compile(r"NCCL INFO Using network (\w[\w ]*)")
_COMMUNICATOR = re.compile(r"nRanks (\d{1,9} nNodes \d{1,9}) localRanks")
_FORCED = re.compile(r"NCCL_ALGO set by environment to (\w+)\s*$")
_ROW_INSIDE = re.compile(rf"\d+\s+\d+\s+(?:{'|'.join(TYPES)})\s")
_ORPHAN_TOKENS = 4  # a line of that many numbers and nothing else is the rest of a row


@dataclass
class _Section:
    """One collective of a file while it is read. ranks: (group, rank) -> host."""

    line: int
    keys: set[str] = field(default_factory=set)
    program: str = ""
    library: str = ""
    iterations: int = 1
    unchecked: bool = False
    failed: bool = False
    ranks: dict[tuple[int, int], str] = field(default_factory=dict)
    devices: Counter[str] = field(default_factory=Counter)
    rows: list[NcclRow] = field(default_factory=list)
    dropped: int = 0
    half_read: bool = False  # a row began and was broken: its rest is no second broken row


def parse(lines: Sequence[Line], file: str, collective: str | None = None) -> Log | None:
    """The log, or None where this is not one. ``collective``: for excerpts that do not name it.

    A log without any row gives no tables. Raises StudyError where the collective cannot be told.
    """
    sections = _sections(lines)
    rows = sum(len(section.rows) for section in sections)
    if not rows and not any(section.keys for section in sections):
        return None
    named = {COLLECTIVES[m] for line in lines for m in _PROGRAM.findall(line.text)}
    debug = _Debug.of(lines)
    tables, notes = [], []
    for section in sections:
        used = [row for row in section.rows if row.size and row.count]
        if not used:
            if section.program:
                notes.append(f"{_name(section.program)}: started, but printed no rows")
            continue
        summed = "allreduce" if all(map(sums_for_all, used)) else ""
        only = next(iter(named)) if len(named) == 1 else ""
        name = _name(section.program) or summed or only or collective
        if not name:
            problem = "the log does not name the collective, and its rows fit several"
            remedy = "give it, for example as --collective all_gather"
            raise StudyError(file, used[0].line, 1, problem, remedy)
        tables.append(_table(section, name, used, debug))
        if section.unchecked:
            notes.append(f"{name}: the sums were not checked (validation: 0)")
    dropped = sum(section.dropped for section in sections)
    return Log(FORMAT, tuple(tables), dropped, tuple(notes))


@dataclass(frozen=True)
class _Debug:
    """Facts that NCCL_DEBUG=INFO prints: version, network, a forced algorithm, ranks and nodes."""

    version: str = UNKNOWN
    network: str = ""
    algorithm: str = AUTO
    ranks: int | None = None
    nodes: int | None = None

    @classmethod
    def of(cls, lines: Sequence[Line]) -> _Debug:
        def only(pattern: re.Pattern[str], default: str) -> str:
            found = {
                m[1] for line in lines if "CCL" in line.text and (m := pattern.search(line.text))
            }
            return printable(found.pop()) if len(found) == 1 else default

        network = only(_NETWORK, "").lower().replace(" ", "-")
        ranks, _, nodes = only(_COMMUNICATOR, "0 nNodes 0").partition(" nNodes ")
        version, algorithm = only(_DEBUG_VERSION, UNKNOWN), only(_FORCED, AUTO).lower()
        return cls(version, network, algorithm, int(ranks) or None, int(nodes) or None)


def _sections(lines: Iterable[Line]) -> list[_Section]:
    section = _Section(1)
    found = [section]

    def begin(key: str, number: int) -> _Section:
        nonlocal section
        if section.rows or key in section.keys:
            section = _Section(number)
            found.append(section)
        section.keys.add(key)
        return section

    for number, text in lines:
        if match := _VERSION.search(text):
            begin("version", number).library = _library_version(int(match[1]))
        elif match := _STARTING.search(text):
            begin("starting", number).program = match[1]
        elif _CONFIG.search(text):
            begin("config", number)
            runs = _ITERATIONS.search(text)
            section.iterations = max(1, int(runs[1])) if runs else 1
            section.unchecked = bool(_UNCHECKED.search(text))
        elif match := _RANK.search(text):
            key = (int(match[2] or 0), int(match[1]))
            begin(f"rank {key}", number).ranks[key] = match[3]
            section.devices[printable(match[4])] += 1
        elif match := _OUT_OF_BOUNDS.search(text):
            section.failed = section.failed or match[1] == "FAILED"
        elif {"size", "count", "type", "busbw", "algbw"} <= set(text.split()):
            begin("header", number)
        else:
            _read_row(section, number, text)
    return found


def _read_row(section: _Section, number: int, text: str) -> None:
    """A row, the pieces of a row that debug lines cut, or neither."""
    debug = _DEBUG.search(text)
    inside = _ROW_INSIDE.search(text, debug.end()) if debug else None
    head = text[: debug.start()] if debug else text
    for piece in (head, text[inside.start() :] if inside else ""):
        tokens = piece.replace("#", " ", 1).split()
        if starts_row(tokens):
            row = parse_row(tokens, number)
            if row:
                section.rows.append(row)
            section.dropped += row is None
            section.half_read = row is None
        elif len(tokens) >= _ORPHAN_TOKENS and all(t[0].isdigit() or t == "N/A" for t in tokens):
            section.dropped += not section.half_read
            section.half_read = False


def _table(section: _Section, name: str, rows: Sequence[NcclRow], debug: _Debug) -> Table:
    ranks, nodes, per_node = _placement(section)
    split = len({group for group, _ in section.ranks}) > 1
    least = 1 if split else 1 + max((rank for _, rank in section.ranks), default=0)
    counts = {ranks: "its Rank lines"} if ranks else {}
    if debug.ranks and not section.ranks:
        counts, nodes = {debug.ranks: "NCCL INFO lines"}, debug.nodes
    inferred = ranks_from_bandwidth(name, rows)
    if inferred and inferred >= least and inferred not in counts:
        counts[inferred] = "busbw/algbw"
    devices = section.devices.most_common(1)
    return Table(
        collective=name,
        rows=tuple(_row(row, section) for row in rows),
        line=rows[0].line,
        transport="nccl",
        library="nccl",
        version=section.library or debug.version,
        algorithm=debug.algorithm,
        ranks=counts,
        least_ranks=least,
        nodes=nodes,
        ranks_per_node=per_node,
        link=debug.network if nodes and nodes > 1 else "",
        device=(devices[0][0] if devices else "") or UNKNOWN,
    )


def _row(row: NcclRow, section: _Section) -> Row:
    """verified: before 2.13 the column is a relative error, below 1; then a count of values."""
    wrong = row.wrong >= 1 or row.wrong_in_place >= 1
    told = any(r.wrong >= 1 or r.wrong_in_place >= 1 for r in section.rows)
    return Row(
        line=row.line,
        bytes=row.size,
        seconds=row.seconds,
        repetitions=section.iterations,
        min_s=row.min_us / 1e6 if row.min_us else None,
        verified=not (wrong or (section.failed and not told)),
        dtype=TYPES[row.type][0],
    )


def _placement(section: _Section) -> tuple[int | None, int | None, int | None]:
    """Ranks, nodes and ranks per node of one group; None where the list of ranks has gaps.

    With NCCL_TESTS_SPLIT several groups run at once and each is a collective of its own.
    """
    groups: dict[int, list[str]] = {}
    for (group, _), host in section.ranks.items():
        groups.setdefault(group, []).append(host)
    numbers = sorted(rank for _, rank in section.ranks)
    sizes = {len(hosts) for hosts in groups.values()}
    if not numbers or numbers != list(range(len(numbers))) or len(sizes) != 1:
        return None, None, None
    hosts = Counter(next(iter(groups.values())))
    return sizes.pop(), len(hosts), max(hosts.values())


def _name(program: str) -> str:
    found = _PROGRAM.search(program)
    return COLLECTIVES[found[1]] if found else ""


def _library_version(code: int) -> str:
    """22902 -> 2.29.2; until 2.8 the code had one digit less: 2804 -> 2.8.4."""
    unit = 10000 if code >= 10000 else 1000
    return f"{code // unit}.{code % unit // 100}.{code % 100}"
