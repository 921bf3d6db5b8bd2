"""Costs of a parameter server are found again where they are known, and foretell more servers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from dse.calibration.experiment import Measurement
from dse.calibration.fitting.servers import (
    PsRows,
    fit_ps,
    predict_ps,
    ps_matrix,
    ps_rows,
    solve_ps,
    wire_s,
)
from dse.calibration.fitting.step_cost import relative_error
from dse.calibration.runners.parameter_servers import messages
from dse.errors import MeasurementError
from dse.model.aggregation.parameter_server import WORK_FROM, MeasuredServers

CORES = 2.0
SIZES = tuple(4**k for k in range(6, 13))
# latency; worker, server and cores: s/call, s/byte, s/byte beyond the edge
TRUE = np.array([5e-4, 1e-4, 2e-10, 0, 3e-4, 4e-10, 0, 8e-4, 2e-8, 0])


def servers_of(costs: np.ndarray, edge_bytes: float = math.inf) -> MeasuredServers:
    return MeasuredServers(tuple(costs), edge_bytes, CORES)


def sample(
    workers: int,
    servers: int,
    size: int,
    link: float | None,
    coefficients: np.ndarray,
    run: int = 1,
) -> Measurement:
    """What a system of these costs would have measured."""
    shard = max(bytes_ for _, bytes_ in messages(size, servers))
    wire = 1.0 / link if link else 0.0
    one = PsRows(*(np.array([float(v)]) for v in (workers, servers, size, shard, wire, 1, 0)))
    seconds = float(predict_ps(one, servers_of(coefficients))[0])
    return Measurement(
        transport="grpc",
        library="grpcio",
        version="1",
        run=run,
        algorithm="ps",
        ranks=workers,
        ranks_per_node=1,
        nodes=workers,
        link="test",
        bytes=size,
        repetitions=9,
        median_s=seconds,
        median_error_s=0.01 * seconds,
        link_bytes_per_s=link,
        servers=servers,
        largest_shard_bytes=shard,
    )


def samples(
    workers: Sequence[int],
    servers: Sequence[int],
    links: Sequence[float | None] = (125e6, 50e6),
    coefficients: np.ndarray = TRUE,
) -> list[Measurement]:
    return [
        sample(m, p, size, link, coefficients)
        for m in workers
        for p in servers
        for size in SIZES
        for link in links
    ]


def test_more_servers_and_workers_are_foretold_from_few() -> None:
    _, cost, _ = fit_ps(samples((1, 2, 3), (1, 2)), CORES)
    rows = ps_rows(samples((1, 4, 6), (3, 4)))
    assert relative_error(predict_ps(rows, cost), rows.seconds).max() < 0.01
    assert cost.edge_bytes == math.inf


def test_a_count_left_out_is_foretold_where_two_others_remain() -> None:
    """Of one number of servers alone, latency and calls of a worker cannot be told apart."""
    rows, _, held_out = fit_ps(samples((1, 2, 3), (1, 2, 3)), CORES)
    assert held_out.shape == (2, rows.seconds.size)
    assert relative_error(held_out, rows.seconds).max() < 0.05


def test_a_third_link_is_foretold_from_two() -> None:
    _, cost, _ = fit_ps(samples((1, 2, 3), (1, 2)), CORES)
    rows = ps_rows(samples((3,), (2,), links=(25e6,)))
    assert relative_error(predict_ps(rows, cost), rows.seconds).max() < 0.01
    large = rows.message_bytes == max(SIZES)
    wire = 2 * 3 * max(SIZES) / 2 / 25e6  # each server takes half of what three workers send
    assert wire_s(rows)[large] == pytest.approx(wire, rel=0.01)
    own = ps_matrix(rows, cost.edge_bytes, CORES)[:, :WORK_FROM] @ cost.costs[:WORK_FROM]
    np.testing.assert_allclose(predict_ps(rows, cost)[large], (own + wire_s(rows))[large])


def test_noise_moves_the_fit_little_and_makes_no_cost_negative() -> None:
    noise = np.random.default_rng(1)
    disturbed = [
        Measurement(**{**vars(s), "median_s": s.median_s * float(np.exp(0.2 * noise.normal()))})
        for s in samples((1, 2, 3), (1, 2))
    ]
    rows, cost, _ = fit_ps(disturbed, CORES)
    assert min(cost.costs) >= 0
    assert np.median(relative_error(predict_ps(rows, cost), rows.seconds)) < 0.25


def test_one_wild_sample_hardly_moves_the_fit() -> None:
    clean = samples((1, 2, 3), (1, 2))
    wild = [*clean[1:], Measurement(**{**vars(clean[0]), "median_s": 30 * clean[0].median_s})]
    rows, (_, cost, _) = ps_rows(clean), fit_ps(wild, CORES)
    assert relative_error(predict_ps(rows, cost), rows.seconds).max() < 0.05


def test_machines_of_their_own_leave_each_process_half_of_its_messages() -> None:
    rows, cost, _ = fit_ps(samples((1, 2, 3), (1, 2)), CORES)
    apart = predict_ps(rows, replace(cost, cores=math.inf))
    parts = ps_matrix(rows, cost.edge_bytes, CORES)[:, :WORK_FROM]
    own = parts @ cost.costs[:WORK_FROM]
    call, per_byte = cost.costs[7:9]
    busiest = np.maximum(rows.workers, rows.servers)
    carried = np.maximum(rows.workers * rows.shard_bytes, rows.message_bytes)
    work = (busiest * call + carried * per_byte) / 2
    np.testing.assert_allclose(apart, own + np.maximum(work, wire_s(rows)))
    same = (rows.workers == 1) & (rows.servers == 1)  # two processes on two cores have one each
    np.testing.assert_allclose(apart[same], predict_ps(rows, cost)[same])


def test_large_messages_may_cost_more_per_byte() -> None:
    rows = ps_rows(samples((1, 2, 3), (1, 2), links=(None,)))
    beyond = TRUE.copy()
    beyond[9] = 8e-8
    seconds = predict_ps(rows, servers_of(beyond, 2.0**20))
    kinked = PsRows(*list(vars(rows).values())[:5], seconds, rows.noise)
    found = predict_ps(kinked, solve_ps(kinked, 2.0**20, CORES))
    assert relative_error(found, seconds).max() < 0.01


def test_runs_of_the_same_thing_become_one_row() -> None:
    three = [
        sample(2, 1, 4096, None, factor * TRUE, run) for run, factor in enumerate((1, 2, 9), 1)
    ]
    rows = ps_rows(three)
    assert rows.seconds.tolist() == [three[1].median_s]
    assert rows.noise[0] > 0.3
    assert rows.wire_s_per_byte.tolist() == [0.0]


def test_nothing_to_fit_is_said() -> None:
    with pytest.raises(MeasurementError, match="no verified sample"):
        fit_ps([], CORES)
    with pytest.raises(MeasurementError, match="two numbers"):
        fit_ps(samples((2,), (1,)), CORES)
