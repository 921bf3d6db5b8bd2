"""dse.model.links"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.model.links import NO_WIRE, Link, Network, StepCost, mesh_bytes_per_s, regime_bytes

positive = st.floats(0, 1e-3)


@given(st.floats(0, 1e12), st.lists(st.floats(1, 1e9), max_size=4, unique=True))
def test_regimes_share_out_every_byte(size: float, edges: list[float]) -> None:
    parts = regime_bytes(size, sorted(edges))
    assert len(parts) == len(edges) + 1
    assert sum(float(part) for part in parts) == pytest.approx(size)


@given(positive, positive, positive, positive, st.floats(0, 1e9), st.floats(0, 1e9))
def test_a_larger_message_never_costs_less(
    a: float, b: float, c: float, jump: float, one: float, other: float
) -> None:
    cost = StepCost(a, (b, c), (4096.0,), (jump,))
    small, large = sorted((one, other))
    assert float(cost(small)) <= float(cost(large)) * (1 + 1e-12)


def test_step_cost_is_piecewise_linear_with_a_jump() -> None:
    cost = StepCost(1.0, (2.0, 3.0), (10.0,), (100.0,))
    assert cost(np.array([0.0, 5.0, 10.0, 12.0])).tolist() == [1.0, 11.0, 121.0, 127.0]


def test_draws_broadcast_against_sizes() -> None:
    draws = StepCost(np.ones((7, 1)), (np.full((7, 1), 2.0),))
    assert draws(np.array([0.0, 1.0, 2.0])).shape == (7, 3)


@pytest.mark.parametrize(
    ("rails", "multirail", "flows", "expected"),
    [
        (1, False, 1, 1e9),
        (4, False, 1, 1e9),  # one plain connection stays on one card
        (4, True, 1, 4e9),  # channels spread over all
        (4, False, 8, 5e8),
        (4, True, 8, 5e8),
        (4, False, 2, 1e9),  # more cards than flows
    ],
)
def test_flows_share_the_network_cards(
    rails: int, multirail: bool, flows: int, expected: float
) -> None:
    free = StepCost(0.0, (0.0,))
    network = Network(free, free, NO_WIRE, Link(0.0, 1e9), rails, multirail)
    assert 1 / network.wire_s_per_byte(flows) == pytest.approx(expected)


def test_links_of_pairs_add_up_to_all_links() -> None:
    ranks = np.array([1, 2, 3, 4, 8])
    assert mesh_bytes_per_s(150.0, 50.0, ranks).tolist() == [50.0, 50.0, 100.0, 150.0, 150.0]
    assert mesh_bytes_per_s(300.0, np.inf, ranks).tolist() == [300.0] * 5
