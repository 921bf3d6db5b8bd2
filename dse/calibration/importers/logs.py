"""From benchmark logs to a measurement file: recognised, placed on ranks and nodes, summarised.

Ranks and nodes are from the log, else from the user."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from dse.calibration import arguments
from dse.calibration.experiment import ALLREDUCE, Experiment, Measurement
from dse.calibration.files import MEASUREMENTS, check_replaces
from dse.calibration.importers import read_log
from dse.calibration.importers.names import COLLECTIVES
from dse.calibration.importers.records import AUTO, PAIRS, UNKNOWN, Log, Table, transport_of
from dse.calibration.importers.traces import joined
from dse.calibration.number_text import gbps, short, size_text, time_text
from dse.errors import ArgumentError, StudyError, printable
from dse.model.aggregation.algorithms import ALGORITHMS
from dse.spelling import abridged, enumerated
from dse.version import __version__

POSSIBLE = 1.05  # times what a link lets through: its speed is rounded as it is sold
INSIDE, OUTSIDE = "inside-node", "network"  # names of links that no log names


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
    """Where a table was measured. known: whether the log or the user states the nodes. groups: such
    ones at once on each node."""

    ranks: int
    nodes: int
    ranks_per_node: int
    known: bool
    groups: int = 1


def placed(tables: Sequence[Table], path: str, told: Told) -> list[tuple[Table, Place]]:
    """Every table with its ranks and nodes; raises StudyError if the user contradicts the log."""
    groups = [t for t in tables if t.collective not in PAIRS] or list(tables)
    counts = {count: evidence for table in groups for count, evidence in table.ranks.items()
              if table.job != 0}  # fmt: skip
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
    least = max(ranks, *(rank + 1 for rank in table.members), 0)  # that the job has
    if table.job == 0 and told.ranks and told.ranks < least:
        problem = f"--ranks {told.ranks} contradicts the log: a group has {ranks} ranks"
        problem += f", the last of which is rank {least - 1}" if table.members else ""
        raise StudyError(path, 0, 0, problem, "give the ranks of the whole job")
    if table.job is not None and told.nodes and not table.nodes:
        job = table.job or told.ranks or (least if told.nodes == 1 else 0)
        if not job:
            problem = "the trace does not tell how many ranks the job has, of which these are some"
            raise StudyError(path, 0, 0, problem, "give --ranks N, of the whole job")
        return _place_of_some(table, ranks, job, told.nodes, path)
    nodes = table.nodes or told.nodes
    nodes = min(nodes, ranks) if nodes and pair else nodes
    if nodes and nodes > ranks:
        problem = f"there are more nodes ({nodes}) than ranks ({ranks})"
        raise StudyError(path, table.line, 1, problem, "correct --nodes or --ranks")
    even = -(-ranks // (nodes or 1))
    return Place(ranks, nodes or 1, table.ranks_per_node or even, nodes is not None, table.groups)


def _place_of_some(table: Table, ranks: int, job: int, nodes: int, path: str) -> Place:
    """The place of some ranks of a job on so many nodes, which has as many of them on each."""
    per_node = -(-job // nodes)
    if not table.members and nodes > 1:
        problem = f"the trace does not tell which {ranks} of {job} ranks {table.collective} was of"
        remedy = "trace with PyTorch 2.4 or later, which writes Process Group Ranks"
        raise StudyError(path, 0, 0, problem, remedy)
    own = Counter(rank // per_node for rank in table.members) or Counter({0: ranks})
    widest = max(own.values())
    return Place(ranks, len(own), widest, True, max(1, per_node // widest))


def import_logs(
    paths: Sequence[str | PathLike[str]],
    ranks: int | None = None,
    nodes: int | None = None,
    select: str | None = None,
    *,
    system: str | None = None,
    link: str | None = None,
    collective: str | None = None,
    library: str | None = None,
    algorithm: str | None = None,
    link_bandwidth: str | None = None,
    name: str = "imported",
) -> Experiment:
    """Benchmark logs as one measurement file, with a line of ``notes`` for every file.

    select: rows of tables, as 'system=polaris,transport=ofi'; a column given twice takes rows with
    either value. A rank count is inferred only if the log proves it. Repeated times of the same
    configuration and size count as further runs. link_bandwidth: network speed of each node in one
    direction, as '100 Gbps'. Raises StudyError for a file that cannot be read or lacks a needed
    fact, MeasurementError for a run that failed.
    """
    if not paths:
        raise StudyError("FILE", 0, 0, "no log is given", "give one or more")
    arguments.check_once(paths)
    told = Told(
        ranks, nodes, system, arguments.link_name(link),
        arguments.named(collective, COLLECTIVES, "--collective"), library,
        arguments.named(algorithm, (*ALGORITHMS, AUTO), "--algorithm"),
        arguments.link_speed(link_bandwidth),
    )  # fmt: skip
    for option, count in (("--ranks", ranks), ("--nodes", nodes)):
        if count is not None and count < 1:
            raise ArgumentError(option, f"must be at least 1, not {count}", "give 1 or more")
    wanted = _selection(select)
    samples: list[Measurement] = []
    notes: list[str] = []
    assumed: list[str] = []
    seen: Counter[tuple[object, ...]] = Counter()
    read = [(str(path), read_log(str(path), collective, wanted)) for path in paths]
    if wanted and not any(log.format == "table" for _, log in read):
        problem = f"applies to tables only, and {read[0][0]} is {read[0][1].format} output"
        raise ArgumentError("--select", problem, "leave it out")
    logs = [(_title(files), files[0], log) for files, log in joined(read)]
    for title, path, log in logs:
        tables = placed(log.tables, path, told)
        for table, place in tables:
            samples += _measurements(table, place, told, seen)
        notes += _notes(title, log, tables)
        assumed += _assumed(title, tables)
    notes += [*_link_notes(samples, told), *_device_notes(samples)]
    return Experiment(
        name=name,
        date=max((log.date for _, _, log in logs), default="") or UNKNOWN,
        dse_version=__version__,
        machine=None,
        samples=tuple(samples),
        source="; ".join(
            f"{title} ({log.format}{f': {log.source}' if log.source else ''})"
            for title, _, log in logs
        ),
        dropped=sum(log.dropped for _, _, log in logs),
        assumed=tuple(assumed),
        notes=tuple(map(printable, notes)),
    )


def check_out(out: str | PathLike[str], paths: Sequence[str | PathLike[str]]) -> None:
    """StudyError where writing ``out`` would replace one of the logs, or a file of another kind."""
    if any(Path(path).resolve() == Path(out).resolve() for path in paths):
        raise ArgumentError("--out", f"'{out}' is one of the logs", "choose another name")
    check_replaces(Path(out), MEASUREMENTS)


def counted(count: int, what: str) -> str:
    """'1 row', '2 rows'."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def _selection(select: str | None) -> dict[str, list[str]]:
    """Column -> wanted values."""
    found: dict[str, list[str]] = {}
    for part in select.split(",") if select else ():
        column, equals, value = (text.strip() for text in part.partition("="))
        if not (column and equals and value):
            remedy = "write for example system=polaris,library=nccl-2.18,transport=ofi"
            raise ArgumentError("--select", f"'{part}' is not column=value", remedy)
        found.setdefault(column, []).append(value)
    return found


def _measurements(
    table: Table, place: Place, told: Told, seen: Counter[tuple[object, ...]]
) -> Iterable[Measurement]:
    library, version, transport = table.library, table.version, table.transport
    if told.library:
        if library == UNKNOWN:  # the log does not name one
            transport = transport_of(told.library) or transport
        named = re.fullmatch(r"(.+?)-(\d[\w.+]*)", told.library)
        library, version = (named[1], named[2]) if named else (told.library, UNKNOWN)
    algorithm = told.algorithm if told.algorithm and table.algorithm == AUTO else table.algorithm
    tier = (INSIDE if place.nodes == 1 else OUTSIDE) if place.known else UNKNOWN
    link, system = told.link or table.link or tier, told.system or table.system
    speed = (told.link_bytes_per_s if place.nodes > 1 else None) or table.link_bytes_per_s
    where = (table.collective, transport, library, version, algorithm, place, link, system,
             table.device)  # fmt: skip
    for row in table.rows:
        key = (*where, row.dtype, row.bytes)
        seen[key] += 1
        yield Measurement(
            transport=transport,
            library=library,
            version=version,
            run=seen[key],
            algorithm=algorithm,
            ranks=place.ranks,
            ranks_per_node=place.ranks_per_node,
            nodes=place.nodes,
            link=link,
            bytes=row.bytes * (place.ranks if table.shares else 1),
            repetitions=row.repetitions,
            median_s=row.seconds,
            min_s=row.min_s,
            p95_s=row.p95_s,
            verified=row.verified,
            collective=table.collective,
            system=system,
            device=table.device,
            dtype=row.dtype,
            link_bytes_per_s=speed,
        )


def _title(files: Sequence[str]) -> str:
    """The names of files that are one log."""
    first, *others = (Path(file).name for file in files)
    return f"{first} (with {abridged(others)})" if others else first


def _notes(name: str, log: Log, placed: Sequence[tuple[Table, Place]]) -> list[str]:
    """What was read from one file."""
    libraries = dict.fromkeys(
        " ".join(word for word in (t.library, t.version) if word != UNKNOWN) for t in log.tables
    )
    named = ", ".join(filter(None, libraries)) or "library unknown"
    rows: Counter[str] = Counter()
    for table, place in placed:
        nodes = counted(place.nodes, "node") if place.known else "? nodes"
        rows[f"{table.collective}, {counted(place.ranks, 'rank')} on {nodes}"] += len(table.rows)
    kept = "; ".join(f"{where}: {counted(count, 'row')}" for where, count in rows.items())
    dropped = counted(log.dropped, "damaged row")
    found = [f"{name}: {log.format}, {named}; {kept}; {dropped} dropped"]
    wrong = sum(not row.verified for table in log.tables for row in table.rows)
    if wrong:
        found.append(f"{name}: {counted(wrong, 'row')} with wrong sums (verified: false)")
    found += dict.fromkeys(
        f"{name}: {table.collective}, {place.ranks} ranks: {place.groups} such groups at once on "
        "each node share its links, so the time is not that of one alone"
        for table, place in placed if place.groups > 1 and place.nodes > 1
    )  # fmt: skip
    found += [f"{text}; give --nodes N if that is wrong" for text in _assumed(name, placed)]
    return found + [f"{name}: {note}" for note in log.notes]


def _assumed(name: str, placed: Sequence[tuple[Table, Place]]) -> list[str]:
    """What was assumed because one file does not state it."""
    known = all(place.known for _, place in placed)
    return [] if known else [f"{name} does not state the number of nodes, so 1 is assumed"]


def _device_notes(samples: Sequence[Measurement]) -> list[str]:
    """That measurements of several kinds of accelerators would be one profile."""
    devices = [one for one in dict.fromkeys(sample.device for sample in samples)
               if one not in ("", UNKNOWN)]  # fmt: skip
    if len(devices) < 2:
        return []
    return [
        f"{enumerated(devices)} are measured together, and a profile prices all as one kind of "
        "machine: import the logs of each by themselves"
    ]


def _link_notes(samples: Sequence[Measurement], told: Told) -> list[str]:
    """Notes on the link between nodes. Raises ArgumentError if a speed is given but there is no
    link, or if messages were faster than that speed allows."""
    between = [s for s in samples if s.nodes > 1]
    if told.link_bytes_per_s and not between:
        problem = "applies to links between nodes, and all ranks are on one node"
        raise ArgumentError("--link-bandwidth", problem, "give --nodes N, or leave it out")
    if any(s.link_bytes_per_s is None for s in between):
        return ["the speed of the link between nodes is not known, so the profile cannot predict "
                "other networks; give it as --link-bandwidth '100 Gbps'"]  # fmt: skip
    # Whatever the algorithm, a node receives a byte from others for every byte of the sum.
    reached = [(s.bytes / s.median_s / s.link_bytes_per_s, gbps(s.link_bytes_per_s), s)
               for s in between if s.collective == ALLREDUCE and s.link_bytes_per_s]  # fmt: skip
    most, link, fastest = max(reached, key=lambda one: one[0], default=(0.0, "", None))
    if fastest and most > POSSIBLE:
        raise ArgumentError(
            "--link-bandwidth",
            f"an allreduce of {size_text(fastest.bytes)} over {fastest.nodes} nodes took "
            f"{time_text(fastest.median_s)}, {short(most)} times as fast as {link} Gbps per node "
            "allow",
            "give the sum of all network cards of a node",
        )
    return []
