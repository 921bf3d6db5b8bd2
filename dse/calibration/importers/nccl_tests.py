"""Output of nccl-tests and rccl-tests, from any launcher, complete or in excerpts.

Every layout of a row is: size, count, type, then redop and root or neither, then for out-of-place
and in-place each time (us), algbw, busbw (GB/s) and the number of wrong values (before 2.13 the
largest relative error); with -I four more per half; with -S a date and a time at the end.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from dse.calibration.importers.names import TYPES, collective_named
from dse.calibration.importers.nccl_algorithm import Started, kept_to
from dse.calibration.importers.records import AUTO, UNKNOWN, Log, Row, Table
from dse.calibration.importers.text import Line, integer, printable
from dse.errors import MeasurementError, StudyError

# busbw / algbw as n grows: doc/PERFORMANCE.md of nccl-tests; x (n-1)/n
BUS_FACTOR = {"allreduce": 2, "all_gather": 1, "reduce_scatter": 1, "alltoall": 1}
MAX_INFERRED_RANKS = 64  # beyond, the printed digits of busbw and time do not tell n from n + 1
AGREEING_ROWS = 2
MISSING = "N/A"

_NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,6})?(?:e[+-]?\d{1,2})?")
_STAMP = re.compile(r"\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d")
_BANDWIDTH_TOLERANCE = 0.02  # of algbw against size/time: no rounding, only damage, is as large
_ROUNDED_TOLERANCE = 0.10  # where a number is printed as 1.2e+07
_SHORTEST, _PLAIN, _LONG = 3, 4, 8  # tokens before the middle; per half; per half with -I
FORMAT = "nccl-tests"
_PROGRAM = re.compile(r"\b([a-z_]{3,20})_perf")
_VERSION = re.compile(r"nccl-tests version .{0,200}?nccl-library=(\d{4,6})\b")
_STARTING = re.compile(r"Collective test starting:\s*(\S+)")
_CONFIG = re.compile(r"#\s*nThread\s+\d+\s+nGpus\s+\d+\s+minBytes")
_ITERATIONS = re.compile(r"(?<!warmup )\biters:\s*(\d{1,9})\b")
_UNCHECKED = re.compile(r"\bvalidation:\s*0\b")
_RANK = re.compile(
    r"Rank\s+(\d{1,9})\s+(?:Group\s+(\d{1,9})\s+)?Pid\s+\d+\s+on\s+(\S+)\s+device\s+\d+"
    r"\s+\[[^\]]*\]\s*(.*)"
)
_OUT_OF_BOUNDS = re.compile(r"Out of bounds values\s*:\s*\d+\s+(OK|FAILED)")
_DEBUG = re.compile(r"[A-Za-z][\w.-]{0,255}:\d+:\d+\s+\[\d+\]\s+NCCL\s+(?:INFO|WARN)")
_DEBUG_VERSION = re.compile(r"[NR]CCL version (\d+\.\d+\.\d+)")
_NETWORK = re.compile(r"NCCL INFO Using network (\w[\w ]*)")
_COMMUNICATOR = re.compile(r"nRanks (\d{1,9} nNodes \d{1,9}) localRanks")
_ROW_INSIDE = re.compile(rf"\d{{1,20}}\s+\d{{1,20}}\s+(?:{'|'.join(TYPES)})\s")
_ORPHAN_TOKENS = 4  # a line of that many numbers and nothing else is the rest of a row


@dataclass(frozen=True)
class NcclRow:
    """A row as printed. root: None where the layout has no such column. time, busbw: the text.

    wrong, wrong_in_place: NaN where printed as N/A. min_us: with -I.
    """

    line: int
    size: int
    count: int
    type: str
    redop: str
    root: int | None
    time: str
    busbw: str
    wrong: float
    wrong_in_place: float
    min_us: float | None

    @property
    def seconds(self) -> float:
        return float(self.time) / 1e6

    @property
    def whole(self) -> bool:
        """Whether count elements are all the bytes, not one rank's share of them."""
        return self.count * TYPES[self.type][1] == self.size

    @property
    def in_place_unchecked(self) -> bool:
        """Only the out-of-place result could be checked: alltoall and sendrecv have no other."""
        return math.isnan(self.wrong_in_place) and not math.isnan(self.wrong)


def starts_row(tokens: Sequence[str]) -> bool:
    """Whether size, count and type are there: a row, whole or broken."""
    return (
        len(tokens) >= _SHORTEST
        and integer(tokens[0]) is not None
        and integer(tokens[1]) is not None
        and tokens[2] in TYPES
    )


def parse_row(tokens: Sequence[str], line: int) -> NcclRow | None:
    """The row, or None where it is broken: columns are missing or contradict one another."""
    kept = list(tokens)
    while kept and _STAMP.fullmatch(kept[-1]):
        kept.pop()
    if not starts_row(kept):
        return None
    half = _LONG if len(kept) >= _SHORTEST + 2 * _LONG else _PLAIN
    middle, values = kept[_SHORTEST : -2 * half], kept[-2 * half :]
    if not 2 * half <= len(kept) - _SHORTEST <= 2 * half + 2:
        return None
    root = integer(middle[-1].removeprefix("-")) if middle else None
    redop = middle[0] if middle and (len(middle) == 2 or root is None) else ""
    if (redop and not redop.isalpha()) or (len(middle) == 2 and root is None):
        return None
    out, inside = values[:half], values[half:]
    size = int(kept[0])
    # Before June 2020 what a rank keeps was no part of all_gather's algbw.
    sent = size - int(kept[1]) * TYPES[kept[2]][1] if len(middle) < 2 else 0
    counted = (size, sent) if sent > 0 else (size,)
    if not any(_consistent(n, out) and _consistent(n, inside) for n in counted):
        return None
    signed = -root if root is not None and middle[-1].startswith("-") else root
    return NcclRow(
        line, size, int(kept[1]), kept[2], redop, signed, out[0], out[2], _wrong(out[3]),
        _wrong(inside[3]), float(out[4]) if half == _LONG else None,
    )  # fmt: skip


def _consistent(size: int, half: Sequence[str]) -> bool:
    """All numbers are numbers, and algbw is size / time. size: bytes that it counts."""
    numbers = [*half[:3], *half[_PLAIN:]]
    if not all(_NUMBER.fullmatch(token) for token in numbers):
        return False
    if half[3] != MISSING and not _NUMBER.fullmatch(half[3]):
        return False
    time_us, algbw = float(half[0]), float(half[1])
    if time_us <= 0:
        return size == 0
    rounded = any("e" in token for token in half[:2])
    tolerance = _ROUNDED_TOLERANCE if rounded else _BANDWIDTH_TOLERANCE
    expected = size / time_us / 1e3
    return abs(algbw - expected) <= 0.01 + tolerance * expected


def _wrong(token: str) -> float:
    return math.nan if token == MISSING else float(token)


def sums_for_all(row: NcclRow) -> bool:
    """Whether the columns are those of an allreduce; those of others do not tell which it is."""
    reduces = row.redop not in ("", "none")
    return reduces and row.root in (None, -1) and row.whole and not row.in_place_unchecked


def ranks_from_bandwidth(collective: str, rows: Sequence[NcclRow]) -> int | None:
    """The rank count that the bandwidths prove; None where they prove none.

    busbw/algbw = f (n-1)/n with f of BUS_FACTOR, so n = f / (f - busbw/algbw). algbw is size/time;
    time and busbw lie within half a unit of their last digit, which gives an interval of n for
    every row; what all rows allow is their intersection. It proves a count where it holds that one
    only, AGREEING_ROWS rows have intervals narrower than 1, and it is MAX_INFERRED_RANKS at most.
    """
    if collective not in BUS_FACTOR:
        return None
    factor = Fraction(BUS_FACTOR[collective])
    low, high, narrow = Fraction(1), None, 0
    for row in rows:
        scale = Fraction(1000, row.size)  # 1 / (GB/s), per us
        time, bus = Fraction(row.time), Fraction(row.busbw)
        slack_time, slack_bus = _half_unit(row.time), _half_unit(row.busbw)
        least = max(Fraction(0), bus - slack_bus) * (time - slack_time) * scale
        most = (bus + slack_bus) * (time + slack_time) * scale
        if least >= factor:
            return None
        row_low = factor / (factor - least)
        low = max(low, row_low)
        if most < factor:
            row_high = factor / (factor - most)
            high = row_high if high is None else min(high, row_high)
            narrow += row_high - row_low < 1
    if high is None or math.ceil(low) != math.floor(high):
        return None
    count = math.ceil(low)
    proven = narrow >= AGREEING_ROWS and 2 <= count <= MAX_INFERRED_RANKS
    return count if proven else None


def _half_unit(token: str) -> Fraction:
    """Half of the last printed digit: 0.005 of '12.34', 0.5 of '66108', 50000 of '1.2e+06'."""
    digits, _, exponent = token.partition("e")
    decimals = len(digits.partition(".")[2])
    return Fraction(1, 2) * Fraction(10) ** (int(exponent or 0) - decimals)


@dataclass
class _Section:
    """One collective of a file while it is read. ranks: (group, rank) -> host."""

    line: int
    keys: set[str] = field(default_factory=set)
    program: str = ""
    library: str = ""
    started: Started = field(default_factory=Started)
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

    A log without any row gives no tables. Raises StudyError where the collective cannot be told,
    MeasurementError where the processes did not know of each other.
    """
    sections = _sections(lines)
    rows = sum(len(section.rows) for section in sections)
    if not rows and not any(section.keys for section in sections):
        return None
    own = [rank for section in sections for _, rank in section.ranks]
    bus = [float(row.busbw) for section in sections for row in section.rows if row.size > 10**6]
    if len(own) > 1 and bus and not any((*own, *bus)):
        problem = f"{len(own)} processes have rank 0 and the bus bandwidth is 0, so each ran alone"
        raise MeasurementError(f"{file}: {problem}; build nccl-tests with MPI=1, and run again")
    named = {_name(found) for line in lines for found in _PROGRAM.findall(line.text)} - {""}
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
        name = (
            _name(section.program) or summed or _name(section.started.command) or only or collective
        )
        if not name:
            problem = "the log does not name the collective, and its rows fit several"
            remedy = "give it, for example as --collective all_gather"
            raise StudyError(file, used[0].line, 1, problem, remedy)
        tables.append(_table(section, name, used, debug))
        if tables[-1].algorithm != AUTO:
            forced = f"{len(used)} rows are of {tables[-1].algorithm}, which NCCL_ALGO asked for"
            notes.append(f"{name}: {forced}, not of what NCCL chooses by itself")
        if section.unchecked:
            notes.append(f"{name}: the sums were not checked (validation: 0)")
    dropped = sum(section.dropped for section in sections)
    notes += kept_to(lines, any(table.algorithm != AUTO for table in tables))
    return Log(FORMAT, tuple(tables), dropped, tuple(notes))


@dataclass(frozen=True)
class _Debug:
    """Facts that NCCL_DEBUG=INFO prints: version, network, ranks and nodes."""

    version: str = UNKNOWN
    network: str = ""
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
        return cls(only(_DEBUG_VERSION, UNKNOWN), network, int(ranks) or None, int(nodes) or None)


def _sections(lines: Iterable[Line]) -> list[_Section]:
    section = _Section(1)
    found = [section]
    started = Started()

    def begin(key: str, number: int) -> _Section:
        nonlocal section
        if section.rows or key in section.keys:
            section = _Section(number, started=replace(started))
            found.append(section)
        section.keys.add(key)
        return section

    for number, text in lines:
        started.read(text)
        if not section.rows:
            section.started = replace(started)
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
    ranks, nodes, per_node, at_once = _placement(section)
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
        algorithm=section.started.algorithm(name),
        ranks=counts,
        least_ranks=least,
        nodes=nodes,
        ranks_per_node=per_node,
        link=debug.network if nodes and nodes > 1 else "",
        device=(devices[0][0] if devices else "") or UNKNOWN,
        groups=at_once,
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


def _placement(section: _Section) -> tuple[int | None, int | None, int | None, int]:
    """Ranks, nodes and ranks per node of one group, and groups at once on a node; None where the
    list of ranks has gaps or groups differ.

    With NCCL_TESTS_SPLIT several groups run at once and each is a collective of its own. Its ranks
    are numbered by themselves; in older logs through all groups.
    """
    groups: dict[int, dict[int, str]] = {}
    for (group, rank), host in section.ranks.items():
        groups.setdefault(group, {})[rank] = host
    numbered = [sorted(own) for own in groups.values()]
    through = sorted(rank for _, rank in section.ranks)
    counted = [list(range(len(own))) for own in (through, *numbered)]
    whole = through == counted[0] or numbered == counted[1:]
    hosts = [Counter(own.values()) for own in groups.values()]
    if not hosts or not whole or len({tuple(sorted(own.values())) for own in hosts}) > 1:
        return None, None, None, 1
    at_once = max(Counter(host for own in hosts for host in own).values())
    return len(numbered[0]), len(hosts[0]), max(hosts[0].values()), at_once


def _name(program: str) -> str:
    return collective_named(program.rpartition("/")[2].partition("_perf")[0])


def _library_version(code: int) -> str:
    """22902 -> 2.29.2; until 2.8 the code had one digit less: 2804 -> 2.8.4."""
    unit = 10000 if code >= 10000 else 1000
    return f"{code // unit}.{code % unit // 100}.{code % 100}"
