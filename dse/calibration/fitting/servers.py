"""Fits the costs of calls and bytes to measured parameter servers, with held-out errors.

The equation is that of :class:`dse.model.aggregation.parameter_server.MeasuredServers`; nothing of
the wire is fitted. It is linear in the costs once it is known in which rows the wire is the
bottleneck.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from dse.calibration.experiment import Experiment, Measurement
from dse.calibration.files import rounded
from dse.calibration.fitting.step_cost import (
    DRAWS,
    SEED,
    error_quantiles,
    held_out_s,
    relative_error,
    robust_nnls,
    significant,
)
from dse.calibration.ps_part import PS, ServerPoint, ServersFit
from dse.errors import MeasurementError
from dse.model.aggregation.parameter_server import (
    MEASURED_COSTS,
    WORK_FROM,
    MeasuredServers,
    server_terms,
    wire_bytes,
)
from dse.model.arrays import Array, ArrayLike

EDGES_BYTES = (np.inf, 2.0**18, 2.0**20, 2.0**22)  # no edge, 256 KiB, 1 MiB, 4 MiB
ROUNDS = 8  # of guessing where the wire paces
MIN_GAIN = 0.05  # an edge must cut the cross-validated error by this share
MOST_NOISE = 0.5  # of a time that a bootstrap replica moves


@dataclass(frozen=True)
class PsRows:
    """Parameter-server samples as columns, all of shape (rows,).

    workers, servers: counts. message_bytes: gradients of a worker; shard_bytes: those on the
    fullest server. wire_s_per_byte: one over the link's speed, 0 where there is no link to count.
    seconds: the median over runs. noise: its standard error over it.
    """

    workers: Array
    servers: Array
    message_bytes: Array
    shard_bytes: Array
    wire_s_per_byte: Array
    seconds: Array
    noise: Array

    def take(self, index: ArrayLike) -> PsRows:
        """The rows of a mask or an index array."""
        return PsRows(*(getattr(self, column.name)[index] for column in fields(self)))


def ps_rows(samples: Sequence[Measurement]) -> PsRows:
    """The verified samples of shards pushed whole, one row per layout: the median over its runs.

    Raises MeasurementError where there is none.
    """
    runs: dict[tuple[int, int, int, int, float], list[Measurement]] = {}
    for s in server_samples(samples):
        inverse = 1.0 / s.link_bytes_per_s if s.link_bytes_per_s else 0.0
        key = (s.ranks, s.servers, s.bytes, s.largest_shard_bytes, inverse)
        runs.setdefault(key, []).append(s)
    if not runs:
        raise MeasurementError(f"no verified sample of the algorithm {PS!r}")
    keys = sorted(runs)
    workers, servers, message, shard, wire = np.array(keys, dtype=np.float64).T
    times = [np.array([s.median_s for s in runs[key]]) for key in keys]
    noise = [
        np.mean([(s.median_error_s or 0.0) / s.median_s for s in runs[key]]) / np.sqrt(len(one))
        for key, one in zip(keys, times, strict=True)
    ]
    spread = [np.std(np.log(one)) / np.sqrt(len(one)) for one in times]
    middle = np.array([np.median(one) for one in times])
    larger = np.maximum(noise, spread)
    return PsRows(workers, servers, message, shard, wire, middle, larger)


def ps_matrix(rows: PsRows, edge_bytes: float, cores: float) -> Array:
    """Seconds per unit of every cost, (rows, 10), in the order of MeasuredServers."""
    terms = server_terms(
        rows.workers, rows.servers, rows.message_bytes, rows.shard_bytes, edge_bytes, cores
    )
    return np.column_stack([np.broadcast_to(term, rows.seconds.shape) for term in terms])


def wire_s(rows: PsRows) -> Array:
    """Seconds that the busiest link takes for the bytes of a push and a pull, (rows,)."""
    carried = wire_bytes(rows.workers, rows.servers, rows.message_bytes, rows.shard_bytes)
    return np.asarray(carried * rows.wire_s_per_byte)


def predict_ps(rows: PsRows, cost: MeasuredServers) -> Array:
    """Seconds of every row by these costs, (rows,)."""
    return cost(rows.workers, rows.servers, rows.message_bytes, rows.shard_bytes, wire_s(rows))


def fit_ps(samples: Sequence[Measurement], cores: float) -> tuple[PsRows, MeasuredServers, Array]:
    """Fit the costs by robust relative non-negative least squares, with held-out predictions.

    Returns what was fitted, the costs, all >= 0, and seconds of the rows, (kinds, rows), with every
    number of workers predicted from the others, and likewise every number of servers; a kind with
    one number is left out. cores: C, shared by all processes of the samples; infinite where each
    had a machine of its own. The edge is the one with the least error when every (workers, servers)
    is predicted from the others, none unless it pays.
    Raises MeasurementError where the samples have one number of workers and one of servers.
    """
    rows = ps_rows(samples)
    kinds = counts_of(rows)
    if not kinds:
        raise MeasurementError("too few measurements; measure two numbers of workers or servers")

    def whole(train: PsRows, test: PsRows) -> Array:
        return predict_ps(test, solve_ps(train, choose_edge(train, cores), cores))

    held_out = np.stack([held_out_s(rows, counts, whole) for counts in kinds])
    return rows, solve_ps(rows, choose_edge(rows, cores), cores), held_out


def counts_of(rows: PsRows) -> list[Array]:
    """The columns of workers and of servers that hold more than one number, each (rows,)."""
    return [counts for counts in (rows.workers, rows.servers) if np.unique(counts).size > 1]


def solve_ps(rows: PsRows, edge_bytes: float, cores: float) -> MeasuredServers:
    """The costs for a given edge: the best fit of all rounds.

    The equation is linear once it is known in which rows the wire is the bottleneck. These are
    guessed, the equation is solved, and they follow from the solution until nothing changes.
    """
    matrix, wire = ps_matrix(rows, edge_bytes, cores), wire_s(rows)
    wire_paces = wire > 0.5 * rows.seconds
    best, least = MeasuredServers((0.0,) * MEASURED_COSTS, edge_bytes, cores), np.inf
    for _ in range(ROUNDS):
        free = matrix.copy()
        free[wire_paces, WORK_FROM:] = 0.0
        known = np.where(wire_paces, wire, 0.0)
        found = robust_nnls(free, rows.seconds, known, rows.noise)
        cost = MeasuredServers(tuple(found), edge_bytes, cores)
        error = float(np.mean(relative_error(predict_ps(rows, cost), rows.seconds)))
        if error < least:
            best, least = cost, error
        now = wire > matrix[:, WORK_FROM:] @ found[WORK_FROM:]
        if np.array_equal(now, wire_paces):
            break
        wire_paces = now
    return best


def choose_edge(rows: PsRows, cores: float) -> float:
    """The edge with the least cross-validated error; infinite (none) unless it gains MIN_GAIN."""
    errors = {edge: _cross_validated(rows, edge, cores) for edge in EDGES_BYTES}
    best = min(errors, key=lambda edge: errors[edge])
    return best if errors[best] < (1.0 - MIN_GAIN) * errors[np.inf] else np.inf


def _cross_validated(rows: PsRows, edge_bytes: float, cores: float) -> float:
    """Mean relative error of every (workers, servers) predicted from the others."""
    groups = rows.workers + 1j * rows.servers
    predicted = held_out_s(rows, groups, lambda a, b: predict_ps(b, solve_ps(a, edge_bytes, cores)))
    return float(np.mean(relative_error(predicted, rows.seconds)))


def server_parts(experiments: Sequence[Experiment]) -> dict[str, ServersFit]:
    """By transport, the fit of its measured parameter servers.

    Raises MeasurementError where the samples of one do not belong together or are too few.
    """
    transports = sorted({s.transport for e in experiments for s in server_samples(e.samples)})
    return {transport: _part(experiments, transport) for transport in transports}


def server_samples(samples: Sequence[Measurement]) -> list[Measurement]:
    """Those verified of shards pushed whole."""
    return [s for s in samples if s.verified and s.servers and s.algorithm == PS]


def _part(experiments: Sequence[Experiment], transport: str) -> ServersFit:
    mine = [[s for s in server_samples(e.samples) if s.transport == transport] for e in experiments]
    samples = [s for own in mine for s in own]
    libraries = sorted({f"{s.library} {s.version}" for s in samples})
    if len(libraries) > 1:
        listed = " and ".join(libraries)
        problem = f"the parameter servers are of different libraries: {listed}"
        raise MeasurementError(f"{problem}; fit each separately")
    places = {_cores(e, own) for e, own in zip(experiments, mine, strict=True) if own}
    if len(places) > 1:
        problem = "some parameter servers shared a machine or its cores, and others did not, or "
        problem += "shared another number of cores"
        raise MeasurementError(f"{problem}; fit each separately")
    cores = places.pop()
    rows, cost, held_out = fit_ps(samples, np.inf if cores is None else cores)
    speeds = [s.link_bytes_per_s or 0.0 for s in samples]
    first = max(samples, key=lambda s: s.nodes)
    plain = np.stack([held_out_s(rows, counts, _textbook) for counts in counts_of(rows)])
    errors = [error_quantiles(found, rows.seconds) for found in (held_out, plain)]
    return ServersFit(
        library=first.library,
        version=first.version,
        costs=significant(cost.costs),
        edge_bytes=None if np.isinf(cost.edge_bytes) else cost.edge_bytes,
        cores=cores,
        workers=(int(rows.workers.min()), int(rows.workers.max())),
        servers=(int(rows.servers.min()), int(rows.servers.max())),
        message_bytes=(float(rows.message_bytes.min()), float(rows.message_bytes.max())),
        link=first.link,
        link_bytes_per_s=(min(speeds), max(speeds)),
        max_nodes=first.nodes,
        error=errors[0][0],
        error_p90=errors[0][1],
        textbook_error=errors[1][0],
        textbook_error_p90=errors[1][1],
        residual=error_quantiles(predict_ps(rows, cost), rows.seconds)[0],
        draws=tuple(significant(draw.costs) for draw in bootstrap(rows, cost)),
        points=tuple(_points(rows, held_out[0])),
    )


def _cores(experiment: Experiment, samples: Sequence[Measurement]) -> float | None:
    """The cores that all processes shared; None where each had a machine of its own."""
    if max(s.nodes for s in samples) > 1 and not experiment.shared_cores:
        return None
    if experiment.machine is None:
        problem = "the parameter servers shared one machine, but its number of cores is not known"
        raise MeasurementError(f"{problem}; measure again with --runner grpc")
    return float(experiment.machine.cores)


def bootstrap(rows: PsRows, cost: MeasuredServers) -> Iterator[MeasuredServers]:
    """Costs refitted DRAWS times on rows drawn with replacement within (workers, servers).

    Every time is moved by its own noise, which holds the spread between runs.
    """
    random = np.random.default_rng(SEED)
    pairs = rows.workers + 1j * rows.servers
    members = [np.flatnonzero(pairs == pair) for pair in np.unique(pairs)]
    for _ in range(DRAWS):
        index = np.concatenate([random.choice(mine, mine.size) for mine in members])
        drawn = rows.take(index)
        moved = np.minimum(drawn.noise, MOST_NOISE) * random.standard_normal(index.size)
        drawn = replace(drawn, seconds=drawn.seconds * np.exp(moved))
        yield solve_ps(drawn, cost.edge_bytes, cost.cores)


def _textbook(train: PsRows, test: PsRows) -> Array:
    """One latency and one price of the bytes on the busier link."""

    def matrix(rows: PsRows) -> Array:
        carried = wire_bytes(rows.workers, rows.servers, rows.message_bytes, rows.shard_bytes)
        return np.column_stack([np.ones_like(carried), carried])

    free = np.zeros_like(train.seconds)
    return np.asarray(matrix(test) @ robust_nnls(matrix(train), train.seconds, free, train.noise))


def _points(rows: PsRows, held_out: Array) -> list[ServerPoint]:
    columns = zip(rows.workers, rows.servers, rows.message_bytes, rows.seconds, held_out,
                  rows.wire_s_per_byte, strict=True)  # fmt: skip
    return [
        ServerPoint(int(m), int(p), int(size), rounded(float(t)), max(rounded(float(h), 4), 1e-12),
                    rounded(1.0 / float(wire)) if wire > 0 else None)
        for m, p, size, t, h, wire in columns
    ]  # fmt: skip
