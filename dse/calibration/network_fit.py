"""Fits what one message between nodes costs an algorithm: the host's part, and the wire's.

::

    exchange(s) = latency + sum_r host_r bytes_r(s) + sum jumps + crossing(s) / B
    crossing(s) = sum_r factor_r bytes_r(s),  one-way messages: s

B is the link's speed, so two speeds tell the host's slopes from the wire's factors. A factor is 1
where a protocol uses both directions of the link at once, and 2 where one waits for the other: a
rendezvous whose answer queues behind the data of the other side. The first exchange of a benchmark
has a factor of its own: the ranks have just left a barrier together, and answer before they send.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dse.calibration.design import Rows, over_runs, unit_costs
from dse.calibration.files import rounded
from dse.calibration.fit import held_out_s, relative_error, robust_nnls
from dse.calibration.network_part import NetworkFit, first_exchange_bytes
from dse.errors import MeasurementError
from dse.model.arrays import Array
from dse.model.collectives import ALGORITHMS
from dse.model.links import FREE, Link, Network, StepCost

CANDIDATES = tuple(4.0**k for k in range(6, 12))  # 4 KiB .. 4 MiB
MAX_EDGES = 3
SIZE_FOLDS = 3
MIN_GAIN = 0.03  # an edge must cut the cross-validated error by this share


def design(rows: Rows, edges: Sequence[float], gamma: float) -> tuple[Array, Array]:
    """Seconds per unit of every coefficient, (rows, columns), and what needs no fit, (rows,).

    Columns for E edges: latency, E + 1 host slopes, E jumps, E + 1 wire factors, that of the first
    exchange. Where no speed is known the wire's are empty.
    """
    basis, slopes = unit_costs(edges), len(edges) + 1
    factors = StepCost(0.0, tuple(np.eye(slopes)[:, :, None]), tuple(edges), (0.0,) * (slopes - 1))
    matrix = np.zeros((rows.ranks.size, 3 * slopes + 1))
    known = np.zeros(rows.ranks.size)
    for name in np.unique(rows.algorithm):
        at = rows.algorithm == name
        mine = rows.take(at)
        speed = np.where(np.isnan(mine.link_bytes_per_s), np.inf, mine.link_bytes_per_s)
        link = Link(0.0, speed)
        one_way = _price(mine, Network(FREE, FREE, inter=link, crossing=FREE))
        wire = _price(mine, Network(FREE, FREE, inter=link, crossing=factors)) - one_way
        first = first_exchange_bytes(str(name), mine.ranks, mine.message_bytes)
        matrix[at, : 2 * slopes] = _price(mine, Network(FREE, basis)).T
        matrix[at, 2 * slopes : 3 * slopes] = (wire - factors(first) / speed).T
        matrix[at, -1] = first / speed
        known[at] = one_way + _price(mine, Network(FREE, FREE, gamma_s_per_byte=gamma))
    return matrix, known


def _price(rows: Rows, network: Network) -> Array:
    price = ALGORITHMS[str(rows.algorithm[0])]
    return price(rows.ranks, rows.ranks_per_node, rows.message_bytes, network)


def fitted_s(train: Rows, test: Rows, edges: Sequence[float], gamma: float) -> Array:
    """The rows of ``test`` as predicted by a fit on ``train``: (rows,)."""
    matrix, known = design(train, edges, gamma)
    coefficients = robust_nnls(matrix, train.seconds, known, train.noise)
    matrix, known = design(test, edges, gamma)
    return np.asarray(matrix @ coefficients + known)


def choose_edges(rows: Rows, gamma: float) -> tuple[float, ...]:
    """Forward selection on the error of sizes that are left out, symmetric in logarithms.

    Edges part the sizes, so it is sizes that must tell: leaving out one of few rank counts may
    leave out all folds, or all exchanges without one. A size counts as missed by e at most.
    """
    sizes = np.unique(rows.message_bytes, return_inverse=True)[1]
    folds = (sizes % SIZE_FOLDS).astype(np.float64)

    def error(edges: tuple[float, ...]) -> float:
        predicted = held_out_s(rows, folds, lambda a, b: fitted_s(a, b, edges, gamma))
        missed = np.abs(np.log(np.maximum(predicted, 1e-12) / rows.seconds))
        return float(np.mean(np.minimum(missed, 1.0)))

    chosen: tuple[float, ...] = ()
    best = error(chosen)
    while len(chosen) < MAX_EDGES:
        options = [tuple(sorted((*chosen, edge))) for edge in CANDIDATES if edge not in chosen]
        found, edges = min((error(option), option) for option in options)
        if found > (1 - MIN_GAIN) * best:
            break
        best, chosen = found, edges
    return chosen


def fit_network(rows: Rows, gamma: float) -> tuple[NetworkFit, Rows, Array]:
    """Fit rows (one per run) of one algorithm between nodes of one rank each.

    Also returns what was fitted, one row per (ranks, bytes, speed), and these as a fit without
    their rank count predicts them. Raises MeasurementError for fewer than two rank counts or three
    sizes.
    """
    typical = over_runs(rows)
    if np.unique(typical.ranks).size < 2 or np.unique(typical.message_bytes).size < 3:
        raise MeasurementError(
            f"{typical.algorithm[0]} between nodes: needs two rank counts and three sizes or more"
        )
    edges = choose_edges(typical, gamma)
    slopes = len(edges) + 1
    matrix, known = design(typical, edges, gamma)
    values = robust_nnls(matrix, typical.seconds, known, typical.noise)
    held_out = held_out_s(
        typical, typical.ranks, lambda a, b: fitted_s(a, b, choose_edges(a, gamma), gamma)
    )
    textbook = held_out_s(typical, typical.ranks, lambda a, b: _textbook(a, b, gamma))
    error = _quantiles(held_out, typical)
    plain = _quantiles(textbook, typical)
    numbers = [rounded(float(value), 5) for value in values]
    speeds = typical.link_bytes_per_s[np.isfinite(typical.link_bytes_per_s)]
    fit = NetworkFit(
        latency_s=numbers[0],
        s_per_byte=tuple(numbers[1 : 1 + slopes]),
        edges_bytes=edges,
        jump_s=tuple(numbers[1 + slopes : 2 * slopes]),
        wire_factor=tuple(numbers[2 * slopes : 3 * slopes]),
        first_factor=numbers[-1],
        link_bytes_per_s=(float(speeds.min(initial=np.inf)), float(speeds.max(initial=0.0)))
        if speeds.size
        else (0.0, 0.0),
        error=error[0],
        error_p90=error[1],
        textbook_error=plain[0],
        textbook_error_p90=plain[1],
        residual=_quantiles(np.asarray(matrix @ values + known), typical)[0],
    )
    return fit, typical, held_out


def _textbook(train: Rows, test: Rows, gamma: float) -> Array:
    """One alpha and one beta of the whole message, the link's speed disregarded: (rows,)."""
    matrix, known = design(train, (), gamma)
    plain = robust_nnls(matrix[:, :2], train.seconds, np.zeros_like(known), train.noise)
    return np.asarray(design(test, (), gamma)[0][:, :2] @ plain)


def _quantiles(predicted: Array, rows: Rows) -> tuple[float, float]:
    errors = relative_error(predicted, rows.seconds)
    return rounded(float(np.median(errors)), 4), rounded(float(np.quantile(errors, 0.9)), 4)
