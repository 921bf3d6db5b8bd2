"""What a parameter server priced by measurements must do, whatever its costs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.model.aggregation.parameter_server import MeasuredServers, parameter_server, wire_bytes
from dse.model.links import FREE, Link, Network

MIB, PB = 2.0**20, 1e15
# latency; call, byte and byte beyond the edge of worker, server and cores
COSTS = (5e-4, 1e-4, 2e-10, 1e-10, 3e-4, 4e-10, 2e-10, 8e-4, 2e-8, 1e-8)
BANDWIDTH, WIRE_LATENCY = 1.25e9, 5e-6
COST = st.floats(0, 1e-3)


NETWORK = Network(FREE, FREE, inter=Link(WIRE_LATENCY, BANDWIDTH), gamma_s_per_byte=1e-10)


def reference_s(
    costs: tuple[float, ...], edge: float, cores: float, m: int, p: int, size: float, shard: float
) -> float:
    """The equation, number by number."""
    latency, worker, server, work = costs[0], costs[1:4], costs[4:7], costs[7:10]

    def f(cost: tuple[float, ...], s: float) -> float:
        return cost[0] + cost[1] * s + cost[2] * max(0.0, s - edge)

    if np.isinf(cores):
        mine = [p * x for x in (1, size / p, max(0.0, size / p - edge))]
        theirs = [m * x for x in (1, shard, max(0.0, shard - edge))]
        busy = sum(c * max(a, b) / 2 for c, a, b in zip(work, mine, theirs, strict=True))
    else:
        busy = m * p * f(work, size / p) / cores
    wire = 2 * max(size, m * shard) / BANDWIDTH
    return latency + p * f(worker, size / p) + m * f(server, shard) + max(wire, busy)


@settings(max_examples=200)
@given(
    costs=st.tuples(*[COST] * 10), m=st.integers(1, 200), p=st.integers(1, 50),
    size=st.floats(0, 1e12), skew=st.floats(1, 5), cores=st.sampled_from([1.0, 2.0, 64.0, np.inf]),
)  # fmt: skip
def test_the_array_form_is_the_equation(
    costs: tuple[float, ...], m: int, p: int, size: float, skew: float, cores: float
) -> None:
    shard = min(skew * size / p, size)
    wire_s = wire_bytes(m, p, size, shard) / BANDWIDTH
    found = MeasuredServers(costs, MIB, cores)(m, p, size, shard, wire_s)
    assert found == pytest.approx(reference_s(costs, MIB, cores, m, p, size, shard), rel=1e-9)


@settings(max_examples=200)
@given(n=st.integers(2, 500), p=st.integers(1, 100), m=st.floats(1, PB), colocated=st.booleans())
def test_never_faster_than_the_busier_link(n: int, p: int, m: float, colocated: bool) -> None:
    """2 max(m/B, M m/(P B)), less what stays on the own machine: Li et al., OSDI 2014."""
    count, own = (min(p, n), 1) if colocated else (p, 0)
    least = 2 * max((count - own) / count, (n - own) / count) * m / BANDWIDTH
    seconds = parameter_server(
        n, 1, m, NETWORK, p, colocated, measured=MeasuredServers((0.0,) * 10)
    )
    assert seconds >= least * (1 - 1e-12)


@settings(max_examples=100)
@given(n=st.integers(2, 300), p=st.integers(1, 60), m=st.floats(0, 1e12), at=st.integers(0, 9))
def test_a_cost_only_adds(n: int, p: int, m: float, at: int) -> None:
    dearer = tuple(cost + 1e-6 * (at == k) for k, cost in enumerate(COSTS))
    plain, more = (
        parameter_server(n, 1, m, NETWORK, p, measured=MeasuredServers(costs, MIB))
        for costs in (COSTS, dearer)
    )
    assert more >= plain


def test_draws_come_along_a_first_axis() -> None:
    costs = tuple(np.array([[c], [2 * c]]) for c in COSTS)
    n = np.array([2.0, 8.0, 64.0])
    free_wire = Network(FREE, FREE)
    both = parameter_server(n, 1, 1e6, free_wire, 2, measured=MeasuredServers(costs))
    alone = parameter_server(n, 1, 1e6, free_wire, 2, measured=MeasuredServers(COSTS))
    np.testing.assert_allclose(both, np.stack([alone, 2 * alone]))


def test_no_more_than_two_cores_work_for_each_of_the_fewer() -> None:
    """A machine for each is as many cores as 2 min(M, P) shared ones, where shards are equal."""
    for m, p in ((1, 1), (5, 1), (1, 5), (3, 3), (64, 4)):
        at = (m, p, 1e8, 1e8 / p, 0.0)
        shared = MeasuredServers(COSTS, np.inf, 2.0 * min(m, p))
        assert MeasuredServers(COSTS)(*at) == pytest.approx(shared(*at))
