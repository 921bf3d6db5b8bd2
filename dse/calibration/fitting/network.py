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

import numpy as np

from dse.calibration.fitting.step_cost import (
    Designed,
    Rows,
    error_quantiles,
    fitted_s,
    forward_edges,
    held_out_logs,
    held_out_s,
    over_runs,
    predict_rows,
    relative_nnls,
    robust_nnls,
    significant,
    size_folds,
)
from dse.calibration.network_part import NetworkFit, host_contention, in_lockstep
from dse.calibration.node_cost import unit_costs
from dse.errors import MeasurementError
from dse.model.aggregation.algorithms import ALGORITHMS
from dse.model.arrays import Array
from dse.model.links import FREE, Link, Network, StepCost

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


def design(rows: Rows, edges: Sequence[float], given: Known) -> tuple[Array, Array]:
    """Seconds per unit of a coefficient, (rows, columns), and seconds that need no fit, (rows,).

    Columns for E edges: latency, E + 1 host slopes, E jumps, E + 1 wire factors beyond 1, E waits.
    Where no link speed is known the columns of the wire are zero.
    """
    basis, slopes = unit_costs(edges), len(edges) + 1
    # The same without the latency: a wait is to the wire what a jump is to the host.
    unit = np.eye(2 * slopes - 1)[:, :, None]
    wires = StepCost(0.0, tuple(unit[:slopes]), tuple(edges), tuple(unit[slopes:]))
    matrix = np.zeros((rows.ranks.size, 4 * slopes - 1))
    known = np.zeros(rows.ranks.size)
    for name in np.unique(rows.algorithm):
        at = rows.algorithm == name
        mine = rows.take(at)
        speed = np.where(np.isnan(mine.link_bytes_per_s), np.inf, mine.link_bytes_per_s)
        link = Link(0.0, speed)
        one_way = _price(mine, Network(FREE, FREE, inter=link, crossing=FREE))
        wire = _price(mine, Network(FREE, FREE, inter=link, crossing=wires)) - one_way
        size, count = in_lockstep(str(name), mine.ranks, mine.message_bytes, mine.ranks_per_node)
        local = basis if given.inside is None else FREE
        busy = host_contention(mine.ranks, given.shared_cores)
        matrix[at, : 2 * slopes] = (busy * _price(mine, Network(local, basis))).T
        matrix[at, 2 * slopes :] = (wire - count * wires(size) / speed).T
        plain = Network(FREE, FREE, inter=link, gamma_s_per_byte=given.gamma_s_per_byte)
        known[at] = _price(mine, plain)
        known[at] += _inside_s(mine, given.inside or FREE)
    return matrix, known


def priced(rows: Rows, edges: Sequence[float], coefficients: Array, given: Known) -> Array:
    """Seconds of the rows for coefficients in the order of :func:`design`, (k, columns), as
    :meth:`NetworkFit.seconds` has them: (k, rows)."""
    slopes, seconds = len(edges) + 1, np.empty((len(coefficients), rows.ranks.size))
    columns = list(coefficients.T[:, :, None])
    host = StepCost(columns[0], tuple(columns[1 : 1 + slopes]), tuple(edges),
                    tuple(columns[1 + slopes : 2 * slopes]))  # fmt: skip
    factors = tuple(1.0 + beyond for beyond in columns[2 * slopes : 3 * slopes])
    crossing = StepCost(0.0, factors, tuple(edges), tuple(columns[3 * slopes :]))
    for name in np.unique(rows.algorithm):
        at = rows.algorithm == name
        mine = rows.take(at)
        speed = np.where(np.isnan(mine.link_bytes_per_s), np.inf, mine.link_bytes_per_s)
        network = Network(
            given.inside or host, host, inter=Link(0.0, speed),
            gamma_s_per_byte=given.gamma_s_per_byte, crossing=crossing,
        )  # fmt: skip
        seconds[:, at] = _price(mine, network)
    return seconds


def _inside_s(rows: Rows, inside: StepCost) -> Array:
    """Seconds of the steps in which no message leaves a node: (rows,).

    A step takes as long as its slowest message, so next to one that takes a second between nodes
    those inside do not count; the seconds are taken off again.
    """
    long = StepCost(1.0, (0.0,))
    return _price(rows, Network(inside, long)) - _price(rows, Network(FREE, long))


def _price(rows: Rows, network: Network) -> Array:
    price = ALGORITHMS[str(rows.algorithm[0])]
    return price(rows.ranks, rows.ranks_per_node, rows.message_bytes, network)


def choose_edges(designed: Designed) -> tuple[float, ...]:
    """The edges by forward selection, which decides by the error in log of held-out sizes.

    Sizes are held out because edges divide sizes: leaving out one of few rank counts may leave out
    every layout whose ranks fold, or every one whose ranks do not. An error counts as a factor of e
    at most.
    """
    folds = size_folds(designed.rows)

    def error(edges: tuple[float, ...]) -> float:
        return float(np.mean(np.minimum(held_out_logs(designed, folds, edges), 1.0)))

    return forward_edges(CANDIDATES, error, MIN_GAIN)


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
    designed = Designed.of(
        typical, lambda edges: design(typical, edges, given), lambda *at: priced(*at, given)
    )
    edges = choose_edges(designed)
    slopes = len(edges) + 1
    values = relative_nnls(designed, edges)
    groups = typical.ranks if by_ranks else size_folds(typical)
    held_out = held_out_s(designed, groups, lambda a, b: fitted_s(a, b, choose_edges(a)))
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
