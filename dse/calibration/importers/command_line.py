"""Facts from the command that started a benchmark, if a log shows it."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from dse.calibration.importers.records import AUTO, UNKNOWN
from dse.calibration.importers.text import integer

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
