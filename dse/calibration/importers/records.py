"""The result of an importer: the tables of a log, before facts from the user are added."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

UNKNOWN = "unknown"
AUTO = "auto"  # the library chose the algorithm
STREAM = "stream"  # messages from one rank to another, many at once
PAIRS = frozenset({"ping-pong", "ping-ping", STREAM})  # two ranks, however many were started
# Of these a benchmark that prints one rank's share has sizes of a part of what is exchanged.
SHARED = frozenset({"all_gather", "alltoall"})
_TRANSPORTS = (("nccl", "nccl"), ("rccl", "nccl"), ("gloo", "gloo"), ("mpi", "mpi"),
               ("mvapich", "mpi"))  # fmt: skip


def transport_of(library: str) -> str | None:
    """The transport of a library by its name; None where that is not known."""
    return next((t for mark, t in _TRANSPORTS if mark in library.lower()), None)


@dataclass(frozen=True)
class Row:
    """One message size. seconds: one operation, averaged over the ranks (a pair: one way).

    min_s, p95_s: over the repetitions, where the log has them. line: in the file, from 1.
    """

    line: int
    bytes: int
    seconds: float
    repetitions: int = 1
    min_s: float | None = None
    p95_s: float | None = None
    verified: bool = True
    dtype: str = "float32"


@dataclass(frozen=True)
class Table:
    """One benchmark over several sizes.

    ranks: every rank count that the log supports, with its evidence; empty if it gives none, two
    if it contradicts itself. least_ranks: a lower bound. nodes, ranks_per_node: None if the log
    does not state them. link: the network it names, or ''. shares: the rows have the bytes of one
    rank's share, so all of it is as many times that as there are ranks. job: how many ranks ran,
    where these are some, 0 if not told; members: which, or (). groups: such at once on each node.
    """

    collective: str
    rows: tuple[Row, ...]
    line: int
    transport: str
    library: str = UNKNOWN
    version: str = UNKNOWN
    algorithm: str = AUTO
    ranks: Mapping[int, str] = field(default_factory=dict)
    least_ranks: int = 1
    nodes: int | None = None
    ranks_per_node: int | None = None
    link: str = ""
    link_bytes_per_s: float | None = None
    system: str = ""
    device: str = UNKNOWN
    shares: bool = False
    job: int | None = None
    members: tuple[int, ...] = ()
    groups: int = 1


@dataclass(frozen=True, order=True)
class Call:
    """A kind of collective that one rank of a job makes. ranks: 0 where that is not known.

    members: ranks of the job, of the first such group; () where they are not known.
    """

    collective: str
    ranks: int
    transport: str
    algorithm: str
    bytes: int
    dtype: str
    members: tuple[int, ...] = ()


@dataclass(frozen=True)
class Traced:
    """The calls of one rank of a job, out of its trace.

    rank, ranks: which one, and how many the job has; None where the trace does not tell. span: when
    the first call began and the last ended, in seconds of the ranks' common time. times: seconds of
    every call of a kind, in the order in which they were made.
    """

    rank: int | None
    ranks: int | None
    device: str
    span: tuple[float, float]
    times: Mapping[Call, Sequence[float]]


@dataclass(frozen=True)
class Log:
    """One file, or the traces of several ranks of one job.

    dropped: number of damaged rows. date: when it was measured, or ''. traced: the calls of one
    rank, where the file is such a trace.
    """

    format: str
    tables: tuple[Table, ...]
    dropped: int = 0
    notes: tuple[str, ...] = ()
    source: str = ""
    date: str = ""
    traced: Traced | None = None
