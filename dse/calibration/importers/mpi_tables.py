"""OSU micro-benchmarks, plain or with -f, and tables of Intel MPI Benchmarks since IMB 4.

Of OSU the rank count is in no table; it is taken from the command that started the benchmark, where
the log shows it.
osu_latency's time is one way, osu_bw's the size over its bandwidth; of the non-blocking benchmarks
the pure communication time is taken. IMB's time is t_avg, the average over the ranks, as OSU also
prints; its t_min and t_max are over ranks, not over repetitions, so they are no quantiles. The time
of a PingPong is one way. The sizes of allgather and alltoall are those of one rank's share.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from dse.calibration.importers.names import TYPES, collective_named
from dse.calibration.importers.nccl_algorithm import Started
from dse.calibration.importers.records import AUTO, PAIRS, SHARED, STREAM, UNKNOWN, Log, Row, Table
from dse.calibration.importers.text import Line, decimal, integer

_BENCHMARK = re.compile(r"\bosu_\w+|\bIMB-\w+")
_LAUNCHER = re.compile(r"(?:^|[\s/$])(jsrun|srun|mpirun_rsh|mpirun|mpiexec|orterun|prun)\s")
_RANKS = {
    "jsrun": ("-n", "--nrs"),
    "srun": ("-n", "--ntasks"),
    "mpirun": ("-n", "-np", "--np", "--n", "-c"),
}
_PER_NODE = {
    "jsrun": ("-r", "--rs_per_host"),
    "srun": ("--ntasks-per-node",),
    "mpirun": ("-N", "-npernode", "--npernode", "-ppn", "--ppn"),
}
_PPR = re.compile(r"ppr:(\d{1,6}):node")
_LIBRARY = re.compile(
    r"(openmpi|open-mpi|mvapich2?|mpich|intel-?mpi|impi|spectrum[-_]mpi|hpcx)(?:[-_/]v?(\d[\w.]*))?",
    re.IGNORECASE,
)
_NAMES = {"open-mpi": "openmpi", "intelmpi": "intel-mpi", "impi": "intel-mpi",
          "spectrum_mpi": "spectrum-mpi"}  # fmt: skip
_FORCED = re.compile(r"coll_tuned_allreduce_algorithm[ =](\w+)")
# Open MPI, coll_tuned_allreduce_algorithm: its numbers and names -> ours
_OPENMPI_ALGORITHMS = {
    "3": "recursive-doubling", "recursive_doubling": "recursive-doubling",
    "4": "ring", "ring": "ring",
    "6": "halving-doubling", "rabenseifner": "halving-doubling",
}  # fmt: skip
OSU, IMB = "OSU", "IMB"
_PAIRS = {"": "ping-pong", "bandwidth": STREAM}  # names of OSU's benchmarks of two ranks
_REDUCING = ("allreduce", "reduce", "reduce_scatter")
MEGA = 1e6
# OSU
_TITLE = re.compile(r"^#?\s*OSU (\S+?)(-CUDA|-ROCM|-OPENACC)? (.*?)\s*(?:Test )?v(\d[\w.]*)\s*$")
_NOT_MPI = ("nccl", "rccl")
_USING = re.compile(r"^#?\s*Using ([NR]CCL)\s*$")
_SIZES = re.compile(r"^#?\s*Size\s{2,}\S")
_DATATYPE = re.compile(r"^#\s*Datatype:\s*MPI_(\w+)")
# IMB
_BANNER = re.compile(r"Intel ?\(R\) MPI Benchmarks? ([\w. ]+?),")
_NAME = re.compile(r"^#?\s*Benchmarking\s+(\w+)")
_PROCESSES = re.compile(r"#processes\s*=\s*(\d{1,9})\b")
_GROUPS = re.compile(r"groups of (\d{1,9}) processes")
_BYTES = re.compile(r"^\s*#bytes\s+#repetitions\s")
_DATE = re.compile(r"^#\s*Date\s*:\s*\w{3} (\w{3} +\d+ [\d:]+ \d{4})\s*$")
_DATATYPES = re.compile(r"^#\s*MPI_Datatype( for reductions)?\s*:\s*MPI_(\w+)")


@dataclass(frozen=True)
class Launch:
    """Facts from a launch command. ranks, nodes: None if the command does not state them."""

    ranks: int | None = None
    nodes: int | None = None
    library: str = UNKNOWN
    version: str = UNKNOWN
    algorithm: str = AUTO


def launch_of(line: str) -> Launch | None:
    """The launch of an MPI benchmark shown by this line of a log; None if it shows none."""
    if not _BENCHMARK.search(line):
        return None
    library, version = mpi_library(line)
    forced = _FORCED.search(line)
    algorithm = _OPENMPI_ALGORITHMS.get(forced[1], f"openmpi-{forced[1]}") if forced else AUTO
    algorithm = AUTO if algorithm == "openmpi-0" else algorithm
    launcher = _LAUNCHER.search(line)
    if not launcher:
        return Launch(library=library, version=version, algorithm=algorithm)
    words = _words(line[launcher.start(1) :])
    kind = words[0] if words[0] in _RANKS else "mpirun"
    ranks, per_node = _option(words, _RANKS[kind]), _option(words, _PER_NODE[kind])
    nodes = _option(words, ("-N", "--nodes")) if kind == "srun" else None
    if kind == "jsrun" and ranks:
        tasks = _option(words, ("-a", "--tasks_per_rs")) or 1
        ranks, per_node = ranks * tasks, per_node * tasks if per_node else None
    placed = _PPR.search(line)
    per_node = int(placed[1]) if placed else per_node
    if ranks and per_node and not nodes:
        nodes = -(-ranks // per_node)
    if words[0] == "mpirun_rsh" and ranks:
        nodes = _hosts(words, ranks)
    return Launch(ranks or None, nodes or None, library, version, algorithm)


def mpi_library(text: str) -> tuple[str, str]:
    """The MPI library and its version, from a path such as /usr/mpi/gcc/openmpi-4.1.2a1/bin."""
    found = _LIBRARY.search(text)
    if not found:
        return ("mvapich2", UNKNOWN) if "MV2_" in text else (UNKNOWN, UNKNOWN)
    name = found[1].lower()
    return _NAMES.get(name, name), found[2] or UNKNOWN


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:  # a quotation that goes on in the next line
        return command.split()


def _option(words: list[str], names: tuple[str, ...]) -> int | None:
    """The number that follows an option, up to the benchmark's own options."""
    for position, word in enumerate(words):
        if _BENCHMARK.search(word):
            return None
        name, equals, value = word.partition("=")
        if name in names:
            following = words[position + 1] if position + 1 < len(words) else ""
            return integer(value if equals else following)
    return None


def _hosts(words: list[str], ranks: int) -> int | None:
    """mpirun_rsh -np 4 host1 host1 host2 host2 NAME=VALUE ...: how many hosts there are."""
    position = next((i for i, word in enumerate(words) if word in ("-np", "-n")), len(words))
    hosts = words[position + 2 : position + 2 + ranks]
    named = len(hosts) == ranks and not any("=" in h or h.startswith(("-", "/")) for h in hosts)
    return len(set(hosts)) if named else None


@dataclass
class _Section:
    """One table while it is read. columns: their names in lower case; time: that of the latency,
    '' until it is known."""

    line: int
    collective: str
    launch: Launch = field(default_factory=Launch)
    dtype: str = "float32"
    device: str = "cpu"
    ranks: int | None = None
    columns: list[str] = field(default_factory=list)
    time: str = ""
    rows: list[Row] = field(default_factory=list)
    dropped: int = 0

    def name_columns(self, names: Sequence[str], times: Sequence[str]) -> None:
        """Name the columns; the first of ``times`` that one begins with is that of the latency."""
        self.columns = [name.lower() for name in names]
        found = (name for time in times for name in self.columns if name.startswith(time))
        self.time = next(found, "")

    def read_row(self, number: int, tokens: Sequence[str]) -> None:
        """A row has a size and as many values as there are columns; warnings lie between rows, and
        one of 0 bytes is a no-op."""
        size = integer(tokens[0]) if tokens else None
        if size is None:
            return
        whole = len(tokens) == len(self.columns)
        values = dict(zip(self.columns, tokens, strict=True)) if whole else {}
        value = decimal(values.get(self.time, ""))
        repetitions = integer(values.get("iterations", values.get("#repetitions", "1")))
        if not value or not repetitions:
            self.dropped += 1
        elif size:
            self.rows.append(
                Row(
                    line=number,
                    bytes=size,
                    seconds=size / value / MEGA if self.collective == STREAM else value / MEGA,
                    repetitions=repetitions,
                    verified=values.get("validation", "pass").lower() != "fail",
                    dtype=self.dtype,
                )
            )

    def table(self, ranks: Mapping[int, str], nodes: int | None) -> Table:
        """The rows as a table. ranks: see :class:`Table`."""
        known = self.launch.library != UNKNOWN
        return Table(
            collective=self.collective,
            rows=tuple(self.rows),
            line=self.line,
            transport="nccl" if self.launch.library in _NOT_MPI else "mpi",
            library=self.launch.library,
            version=self.launch.version if known else UNKNOWN,
            algorithm=self.launch.algorithm,
            ranks=ranks,
            nodes=nodes,
            device=self.device,
            shares=self.collective in SHARED,
        )


def parse_osu(lines: Sequence[Line]) -> Log | None:
    """The log, or None where this is not one; a log without any row gives no tables."""
    section: _Section | None = None
    found: list[_Section] = []
    left_out: dict[str, None] = {}
    launch, latest_line, using, nccl = Launch(), 0, "", Started()
    for number, text in lines:
        nccl.read(text)
        if started := launch_of(text):
            launch, latest_line, using = started, number, ""
            section = None
        elif match := _USING.match(text):
            using = match[1].lower()
        elif title := _TITLE.match(text):
            # a launch tells of the next table only
            started = launch if latest_line else Launch()
            named = title[1].lower() if title[1].lower() in _NOT_MPI else using
            if named:  # the launcher's MPI only starts it
                started = Launch(started.ranks, started.nodes, named)
            section = _begin(number, title, started)
            latest_line, using = 0, ""
            if section is None:
                left_out[title[3]] = None
            else:
                found.append(section)
                algorithm = nccl.algorithm(section.collective) if named else started.algorithm
                section.launch = replace(started, algorithm=algorithm)
        elif section is None:
            continue
        elif datatype := _DATATYPE.match(text):
            section.dtype = _dtype(datatype[1])
        elif _SIZES.match(text):
            names = re.split(r"\s{2,}", text.strip("# \t"))
            section.name_columns(names, ("pure comm", "avg latency", "latency", "bandwidth"))
        elif section.time:
            section.read_row(number, text.split())
    if not found and not left_out:
        return None
    tables = []
    for part in (part for part in found if part.rows):
        counts = {part.launch.ranks: "the command"} if part.launch.ranks else {}
        pair = part.collective in PAIRS
        tables.append(part.table({2: "a pair"} if pair else counts, part.launch.nodes))
    notes = tuple(f"'{title}' has no latency per size and is left out" for title in left_out)
    return Log(OSU, tuple(tables), sum(part.dropped for part in found), notes)


def _dtype(name: str) -> str:
    return TYPES.get(name.lower(), (name.lower(), 0))[0]


def _begin(number: int, title: re.Match[str], launch: Launch) -> _Section | None:
    name = title[3].lower().removesuffix("test").strip()
    prefix = "i" if name.startswith("non-blocking ") else ""
    name = name.removeprefix("non-blocking ")
    if not name.endswith("latency") and name != "bandwidth":
        return None
    name = name.removesuffix("latency").strip().removesuffix("personalized exchange")
    collective = _PAIRS.get(name) or collective_named(name)
    if not collective:
        return None
    device = (title[2] or "-cpu").removeprefix("-").lower()
    dtype = "float32" if collective in _REDUCING else "int8"
    return _Section(number, prefix + collective, launch, dtype, device)


def parse_imb(lines: Sequence[Line]) -> Log | None:
    """The log, or None where this is not one; a log without any row gives no tables."""
    section: _Section | None = None
    found: list[_Section] = []
    launch, date, unknown = Launch(), "", list[tuple[_Section, str]]()
    types, known = {"": "uint8", " for reductions": "float32"}, False
    for number, text in lines:
        if name := _NAME.match(text):
            collective = collective_named(name[1])
            reducing = " for reductions" if "reduce" in collective else ""
            section = _Section(number, collective, dtype=types[reducing])
            found.append(section)
            if not collective:
                unknown.append((section, name[1]))
        elif _BANNER.search(text):
            known = True
        elif match := _DATE.match(text):
            date = _day(match[1])
        elif match := _DATATYPES.match(text):
            types[match[1] or ""] = _dtype(match[2])
        elif started := launch_of(text):
            launch = _merged(launch, started)
        elif section is None:
            continue
        elif match := _PROCESSES.search(text) or _GROUPS.search(text):
            section.ranks = int(match[1]) or None
        elif _BYTES.match(text):
            section.name_columns(text.split(), ("t_avg[usec]", "t[usec]"))
        elif section.columns:
            section.read_row(number, text.split())
    if not known and not any(part.columns or part.ranks for part in found):
        return None
    tables = []
    for part in (part for part in found if part.collective and part.rows):
        part.launch = launch
        ranks = 2 if part.ranks is None and part.collective in PAIRS else part.ranks
        placed = launch.nodes if launch.ranks == ranks else None
        tables.append(part.table({ranks: "#processes"} if ranks else {}, placed))
    names = dict.fromkeys(name for part, name in unknown if part.columns or part.ranks)
    notes = tuple(f"'{name}' is not a known collective and is left out" for name in names)
    return Log(IMB, tuple(tables), sum(part.dropped for part in found), notes, date=date)


def _merged(launch: Launch, other: Launch) -> Launch:
    """The calling sequence names the library, the command before it the ranks."""
    named = other if other.library != Launch.library else launch
    placed = other if other.ranks else launch
    forced = other if other.algorithm != Launch.algorithm else launch
    return Launch(placed.ranks, placed.nodes, named.library, named.version, forced.algorithm)


def _day(text: str) -> str:
    """'Jul 20 16:27:27 2023' -> '2023-07-20'; '' where it is no date."""
    try:
        return datetime.strptime(" ".join(text.split()), "%b %d %H:%M:%S %Y").strftime("%Y-%m-%d")
    except ValueError:
        return ""
