"""The ranks and nodes that a table was measured on: from the log, else from the user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dse.calibration.importers.records import PAIRS, Table
from dse.errors import StudyError


@dataclass(frozen=True)
class Told:
    """What the user adds to a log. None: the log must state it, or it does not matter.

    collective, library ('openmpi-4.1.4'), algorithm: for logs that do not name them.
    link_bytes_per_s: of the link between nodes, in one direction per node.
    """

    ranks: int | None = None
    nodes: int | None = None
    system: str | None = None
    link: str | None = None
    collective: str | None = None
    library: str | None = None
    algorithm: str | None = None
    link_bytes_per_s: float | None = None


@dataclass(frozen=True)
class Place:
    """Where a table was measured. known: whether the log or the user states the nodes."""

    ranks: int
    nodes: int
    ranks_per_node: int
    known: bool


def placed(tables: Sequence[Table], path: str, told: Told) -> list[tuple[Table, Place]]:
    """Every table with its ranks and nodes; raises StudyError if the user contradicts the log."""
    groups = [t for t in tables if t.collective not in PAIRS] or list(tables)
    counts = {count: evidence for table in groups for count, evidence in table.ranks.items()}
    _agree("--ranks", "ranks", told.ranks, counts, path)
    servers = {t.nodes: "its hosts" for t in groups if t.nodes}
    _agree("--nodes", "nodes", told.nodes, servers, path)
    return [(table, _place(table, path, told)) for table in tables]


def _agree(option: str, what: str, told: int | None, counts: Mapping[int, str], path: str) -> None:
    if told is not None and counts and told not in counts:
        said = " and ".join(
            f"{count} {what} according to {how}" for count, how in sorted(counts.items())
        )
        problem = f"{option} {told} contradicts the log: {said}"
        raise StudyError(path, 0, 0, problem, f"leave {option} out")


def _place(table: Table, path: str, told: Told) -> Place:
    pair = table.collective in PAIRS
    counts = sorted(table.ranks)
    if len(counts) == 1:
        ranks = counts[0]
    elif told.ranks is not None:
        ranks = told.ranks
    elif counts:
        said = " and ".join(f"{count} ranks according to {table.ranks[count]}" for count in counts)
        problem = f"the log contradicts itself: {said}"
        raise StudyError(path, table.line, 1, problem, "give --ranks N")
    else:
        problem = f"{table.collective}: the log does not state the number of ranks"
        if table.least_ranks > 1:
            last = table.least_ranks - 1
            problem += f"; it lists rank {last}, so at least {table.least_ranks}"
        raise StudyError(path, table.line, 1, problem, "give --ranks N")
    if ranks < table.least_ranks:
        problem = f"--ranks {ranks} contradicts the log, which lists rank {table.least_ranks - 1}"
        raise StudyError(path, table.line, 1, problem, "correct --ranks")
    nodes = table.nodes or told.nodes
    nodes = min(nodes, ranks) if nodes and pair else nodes
    if nodes and nodes > ranks:
        problem = f"there are more nodes ({nodes}) than ranks ({ranks})"
        raise StudyError(path, table.line, 1, problem, "correct --nodes or --ranks")
    even = -(-ranks // (nodes or 1))
    return Place(ranks, nodes or 1, table.ranks_per_node or even, nodes is not None)
