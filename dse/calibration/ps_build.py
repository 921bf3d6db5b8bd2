"""From samples of parameter servers to a profile's part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dse.calibration.experiment import Experiment, Measurement
from dse.calibration.files import rounded
from dse.calibration.fit import DRAWS, SEED, relative_error, robust_nnls
from dse.calibration.fit_ps import PsFit, PsRows, counts_of, fit_ps, left_out_s, solve_ps
from dse.calibration.ps_part import PS, ServerPoint, ServersFit
from dse.errors import MeasurementError
from dse.model.aggregation.parameter_server import MEASURED_COSTS, wire_bytes
from dse.model.arrays import Array

MOST_NOISE = 0.5  # of a time that a bootstrap replica moves


def server_parts(experiments: Sequence[Experiment]) -> dict[str, ServersFit]:
    """The part of every transport whose parameter servers were measured.

    Raises MeasurementError where the samples of one do not belong together or are too few.
    """
    transports = sorted({s.transport for e in experiments for s in server_samples(e)})
    return {transport: _part(experiments, transport) for transport in transports}


def server_samples(experiment: Experiment) -> list[Measurement]:
    """The verified samples of shards pushed whole."""
    return [s for s in experiment.samples if s.verified and s.servers and s.algorithm == PS]


def _part(experiments: Sequence[Experiment], transport: str) -> ServersFit:
    mine = [[s for s in server_samples(e) if s.transport == transport] for e in experiments]
    samples = [s for own in mine for s in own]
    libraries = sorted({f"{s.library} {s.version}" for s in samples})
    if len(libraries) > 1:
        listed = " and ".join(libraries)
        raise MeasurementError(f"parameter servers of different libraries: {listed}; fit each")
    places = {_cores(e, own) for e, own in zip(experiments, mine, strict=True) if own}
    if len(places) > 1:
        problem = "parameter servers on one machine and on machines of their own"
        raise MeasurementError(f"{problem}, or on different cores; fit each alone")
    cores = places.pop()
    fitted = fit_ps(samples, np.inf if cores is None else cores)
    rows, held_out = fitted.rows, fitted.held_out_s
    speeds = [s.link_bytes_per_s or 0.0 for s in samples]
    first = max(samples, key=lambda s: s.nodes)
    plain = np.stack([left_out_s(rows, counts, _textbook) for counts in counts_of(rows)])
    errors = _quantiles(held_out, rows), _quantiles(plain, rows)
    return ServersFit(
        library=first.library,
        version=first.version,
        costs=_rounded(fitted.coefficients),
        edge_bytes=None if np.isinf(fitted.edge_bytes) else fitted.edge_bytes,
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
        residual=_quantiles(fitted.predict_s(rows), rows)[0],
        draws=tuple(_rounded(draw) for draw in bootstrap(fitted)),
        points=tuple(_points(rows, held_out[0])),
    )


def _cores(experiment: Experiment, samples: Sequence[Measurement]) -> float | None:
    """The cores that all processes shared; None where each had a machine of its own."""
    if max(s.nodes for s in samples) > 1 and not experiment.shared_cores:
        return None
    if experiment.machine is None:
        raise MeasurementError("parameter servers on one machine whose cores are not known")
    return float(experiment.machine.cores)


def bootstrap(fitted: PsFit, seed: int = SEED) -> Array:
    """Costs refitted on rows drawn with replacement within (workers, servers), (DRAWS, 10).

    Every time is moved by its own noise, which holds the spread between runs.
    """
    random = np.random.default_rng(seed)
    rows = fitted.rows
    pairs = rows.workers + 1j * rows.servers
    members = [np.flatnonzero(pairs == pair) for pair in np.unique(pairs)]
    result = np.empty((DRAWS, MEASURED_COSTS))
    for draw in range(DRAWS):
        index = np.concatenate([random.choice(mine, mine.size) for mine in members])
        drawn = rows.take(index)
        moved = np.minimum(drawn.noise, MOST_NOISE) * random.standard_normal(index.size)
        drawn = replace(drawn, seconds=drawn.seconds * np.exp(moved))
        result[draw] = solve_ps(drawn, fitted.edge_bytes, fitted.cores)
    return result


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


def _quantiles(predicted: Array, rows: PsRows) -> tuple[float, float]:
    errors = relative_error(predicted, rows.seconds)
    return rounded(float(np.median(errors)), 4), rounded(float(np.quantile(errors, 0.9)), 4)


def _rounded(costs: Array) -> tuple[float, ...]:
    return tuple(rounded(float(cost), 5) for cost in costs)
