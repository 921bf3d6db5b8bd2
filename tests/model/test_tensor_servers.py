"""dse.model.tensor_servers: queues of whole tensors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.model.aggregation.parameter_server import homes
from dse.model.links import NO_WIRE, Link, Network, StepCost
from dse.model.tensor_servers import Servers, push_pull_s

CALL_S, COPY, GAMMA, LATENCY_S, LINK = 1e-4, 1e-9, 5e-11, 1e-5, 1e9
SOFTWARE = StepCost(CALL_S, (COPY,))
NETWORK = Network(SOFTWARE, SOFTWARE, NO_WIRE, Link(LATENCY_S, LINK), gamma_s_per_byte=GAMMA)


def by_hand(sizes: list[float], ready: list[float], workers: int, servers: Servers) -> float:
    """One queue at a time, one tensor after another from the last."""
    own = 1 if servers.colocated else 0
    keeper = homes(sizes, servers.count)

    def message(size: float, streams: float) -> float:
        return (CALL_S + COPY * size) / streams + size / LINK

    last = 0.0
    for server in range(servers.count):
        now = 0.0
        for at in reversed(range(len(sizes))):
            if keeper[at] == server:
                streams = min(max(workers - own, 1), servers.streams)
                work = 2 * (workers - own) * message(sizes[at], streams)
                now = max(now, ready[at]) + work + workers * sizes[at] * GAMMA
        last = max(last, now)
    now = 0.0
    for at in reversed(range(len(sizes))):
        streams = min(servers.count, servers.streams)
        now = max(now, ready[at]) + 2 * (1 - own / servers.count) * message(sizes[at], streams)
    return max(last, now) + 2 * LATENCY_S


@given(
    st.lists(st.floats(1e3, 1e8), min_size=1, max_size=12),
    st.integers(2, 20),
    st.integers(1, 6),
    st.booleans(),
    st.sampled_from([1.0, 4.0]),
)
def test_it_is_the_slowest_queue(
    sizes: list[float], workers: int, count: int, colocated: bool, streams: float
) -> None:
    ready = np.linspace(0.3, 0.01, len(sizes))  # the first layer's gradients come last
    servers = Servers(count, colocated, streams)
    end, work = push_pull_s(np.array(sizes), ready[:, None], np.array([workers]), servers, NETWORK)
    assert end[0] == pytest.approx(by_hand(sizes, list(ready), workers, servers))
    assert 0 < work[0] <= end[0] + 1e-12


def test_one_worker_needs_no_server() -> None:
    end, work = push_pull_s(
        np.ones(3), np.array([[3.0], [2.0], [1.0]]), np.ones(1), Servers(1), NETWORK
    )
    assert end[0] == 3.0
    assert work[0] == 0.0


def test_more_servers_help_until_the_largest_tensor_is_alone() -> None:
    sizes, ready, workers = np.array([1e7, 1e7, 2e7, 8e7]), np.zeros((4, 1)), np.array([64.0])
    ends = [push_pull_s(sizes, ready, workers, Servers(n), NETWORK)[0][0] for n in (1, 2, 3, 4, 8)]
    assert ends[0] > ends[1] == ends[2]  # of 2 or 3, the last keeps a small tensor beside it
    assert ends[2] > ends[3] == ends[4]
