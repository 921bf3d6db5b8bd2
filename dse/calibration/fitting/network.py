"""Fits the cost of one message between nodes to an algorithm: the host's part, and the wire's.

::

    exchange(s) = latency + sum_r host_r bytes_r(s) + sum jumps + crossing(s) / B
    crossing(s) = sum_r factor_r bytes_r(s) + sum waits,  one-way messages: s

B is the link's speed, so two speeds tell the host's slopes from the wire's factors. A factor is 1
where a protocol uses both directions of the link at once, and 2 where one waits for the other: a
rendezvous whose answer queues behind the data of the other side. A wait is such an answer behind a
message to another rank, as in a ring: a number of bytes that does not depend on the message.
Factors are 1 at least, and 1 in lockstep: just after a barrier both sides answer before they send.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from dse.calibration.fitting.step_cost import (
    Designed,
    Rows,
    choose_edges,
    error_quantiles,
    fitted_s,
    held_out_s,
    over_runs,
    predict_rows,
    relative_nnls,
    robust_nnls,
    significant,
    size_folds,
)
from dse.calibration.network_part import NetworkFit, between_nodes_s, on_shared_cores
from dse.calibration.node_cost import step_cost
from dse.errors import MeasurementError
from dse.model.arrays import Array
from dse.model.links import Link, Network, StepCost

CANDIDATES = tuple(4.0**k for k in range(6, 12))  # 4 KiB .. 4 MiB
MIN_GAIN = 0.03  # an edge must cut the cross-validated error by this share


@dataclass(frozen=True)
class Known:
    """Costs that need no fit: the reduction, and messages inside a node where those were measured.

    inside: None where no node was measured alone; a message then costs the host the same inside a
    node. shared_cores: cores of the machine on which all nodes are emulated; None for real nodes.
    """

    gamma_s_per_byte: float
    inside: StepCost | None = None
    shared_cores: int | None = None


def price(given: Known, rows: Rows, edges: Sequence[float], coefficients: Array) -> Array:
    """Seconds of the rows, (k, rows), as :meth:`NetworkFit.seconds` has them.

    coefficients, (k, columns) for E edges: latency, E + 1 host slopes, E jumps, E + 1 wire factors
    beyond 1, E waits.
    """
    slopes, seconds = len(edges) + 1, np.empty((len(coefficients), rows.ranks.size))
    host, columns = step_cost(coefficients[:, : 2 * slopes], edges), coefficients.T[:, :, None]
    factors, waits = 1.0 + columns[2 * slopes : 3 * slopes], columns[3 * slopes :]
    crossing = StepCost(0.0, tuple(factors), tuple(edges), tuple(waits))
    for name in np.unique(rows.algorithm):
        at = rows.algorithm == name
        n, g, m = (each[at] for each in (rows.ranks, rows.ranks_per_node, rows.message_bytes))
        speed = np.where(np.isnan(rows.link_bytes_per_s[at]), np.inf, rows.link_bytes_per_s[at])
        busy = on_shared_cores(host, n, given.shared_cores)
        network = Network(
            given.inside or busy, busy, inter=Link(0.0, speed),
            gamma_s_per_byte=given.gamma_s_per_byte, crossing=crossing,
        )  # fmt: skip
        seconds[:, at] = between_nodes_s(str(name), n, g, m, network)
    return seconds


def _edges(designed: Designed) -> tuple[float, ...]:
    """The edges by the error of held-out sizes, which counts as a factor of e at most.

    Sizes are held out because edges divide sizes: leaving out one of few rank counts may leave out
    every layout whose ranks fold, or every one whose ranks do not.
    """
    return choose_edges(designed, size_folds(designed.rows), CANDIDATES, MIN_GAIN, most=1.0)


def fit_network(rows: Rows, given: Known) -> tuple[NetworkFit, Rows, Array]:
    """Fit rows (one per run) of one algorithm between nodes.

    Also returns what was fitted, one row per (ranks, ranks per node, bytes, speed), and these as
    predicted by a fit without their rank count; without their size, where there is one rank count.
    Raises MeasurementError for fewer than three sizes, and for one rank count where no other was
    measured on one node.
    """
    typical = over_runs(rows)
    by_ranks = np.unique(typical.ranks).size > 1
    enough = by_ranks or given.inside is not None
    if not enough or np.unique(typical.message_bytes).size < 3:
        raise MeasurementError(
            f"{typical.algorithm[0]} between nodes: too few measurements; measure at two or more "
            "rank counts and three or more sizes"
        )
    designed = Designed.of(typical, partial(price, given), per_edge=4)
    edges = _edges(designed)
    slopes = len(edges) + 1
    values = relative_nnls(designed, edges)
    groups = typical.ranks if by_ranks else size_folds(typical)
    held_out = held_out_s(designed, groups, lambda a, b: fitted_s(a, b, _edges(a)))
    textbook = held_out_s(designed, groups, _textbook)
    error = error_quantiles(held_out, typical.seconds)
    plain = error_quantiles(textbook, typical.seconds)
    numbers = significant(values)
    local = np.minimum(typical.ranks, typical.ranks_per_node)
    own = 1.0 if np.any(np.isfinite(typical.link_bytes_per_s)) else 0.0
    speeds = typical.link_bytes_per_s[np.isfinite(typical.link_bytes_per_s)]
    fit = NetworkFit(
        latency_s=numbers[0],
        s_per_byte=numbers[1 : 1 + slopes],
        edges_bytes=edges,
        jump_s=numbers[1 + slopes : 2 * slopes],
        wire_factor=tuple(own + beyond for beyond in numbers[2 * slopes : 3 * slopes]),
        wire_jump_bytes=numbers[3 * slopes :],
        link_bytes_per_s=(float(speeds.min(initial=np.inf)), float(speeds.max(initial=0.0)))
        if speeds.size
        else (0.0, 0.0),
        ranks_per_node=(int(local.min()), int(local.max())),
        shared_cores=given.shared_cores,
        held_out="ranks" if by_ranks else "sizes",
        error=error[0],
        error_p90=error[1],
        textbook_error=plain[0],
        textbook_error_p90=plain[1],
        residual=error_quantiles(predict_rows(designed, values, edges), typical.seconds)[0],
    )
    return fit, typical, held_out


def _textbook(train: Designed, test: Designed) -> Array:
    """One alpha and one beta of the whole message, the link's speed disregarded: (rows,)."""
    matrix, known = train.design(())
    plain = robust_nnls(matrix[:, :2], train.rows.seconds, np.zeros_like(known), train.rows.noise)
    return np.asarray(test.design(())[0][:, :2] @ plain)
