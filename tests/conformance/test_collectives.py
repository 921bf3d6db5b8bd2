"""What every aggregation algorithm must do, whatever its parameters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.model.collectives import ALGORITHMS
from dse.model.links import NO_WIRE, Link, Network, StepCost, single_tier
from dse.model.parameter_server import parameter_server
from tests.conformance import reference

SOFTWARE = StepCost(3e-6, (2e-10, 5e-10, 1e-10), (4096.0, 262144.0), (1e-6, 4e-6))
EVERY = {**ALGORITHMS, "ps": parameter_server}
NAMES = sorted(EVERY)


def cluster(link: float = 12.5e9, rails: float = 1.0, gamma: float = 1e-10) -> Network:
    return Network(SOFTWARE, SOFTWARE, NO_WIRE, Link(5e-6, link), rails, False, gamma)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("per_node", [1, 2, 8])
def test_one_rank_is_free(name: str, per_node: int) -> None:
    sizes = np.array([0.0, 1.0, 1e6, 1e15])
    assert np.all(EVERY[name](1, per_node, sizes, cluster()) == 0)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("ranks", [2, 3, 4, 5, 7, 8, 12, 96, 1000])
@pytest.mark.parametrize("per_node", [1, 3, 8])
def test_more_bytes_never_cost_less(name: str, ranks: int, per_node: int) -> None:
    sizes = np.concatenate([[0.0], np.geomspace(1, 1e12, 400)])
    seconds = EVERY[name](ranks, per_node, sizes, cluster())
    assert np.all(np.diff(seconds) >= -1e-12 * seconds[1:])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("ranks", [2, 3, 5, 8, 64, 100])
def test_never_faster_than_bandwidth_allows(name: str, ranks: int) -> None:
    """One rank per node: 2 (n-1)/n m must pass every wire (Patarasuk & Yuan 2009)."""
    wire = 1e9
    network = Network(StepCost(0.0, (0.0,)), StepCost(0.0, (0.0,)), NO_WIRE, Link(0.0, wire))
    size = 1e8
    least = 2 * (ranks - 1) / ranks * size / wire
    if name == "ps":  # servers are extra machines: as many as workers bring the bound down to 2 m/B
        assert EVERY[name](ranks, 1, size, network, servers=ranks) >= least * (1 - 1e-12)
    assert EVERY[name](ranks, 1, size, network) >= least * (1 - 1e-12)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [0.0, 1.0, 1e15])
@pytest.mark.parametrize("per_node", [1, 8])
def test_finite_at_a_million_ranks(name: str, size: float, per_node: int) -> None:
    assert np.isfinite(EVERY[name](1e6, per_node, size, cluster()))


@pytest.mark.parametrize("name", NAMES)
def test_arrays_broadcast_and_agree_with_single_points(name: str) -> None:
    ranks = np.array([1, 2, 3, 6, 8, 16, 24]).reshape(-1, 1, 1)
    per_node = np.array([1, 2, 8]).reshape(1, -1, 1)
    sizes = np.array([8.0, 5e4, 3e7])
    grid = np.broadcast_to(EVERY[name](ranks, per_node, sizes, cluster()), (7, 3, 3))
    for i, n in enumerate(ranks.ravel()):
        for j, g in enumerate(per_node.ravel()):
            for k, m in enumerate(sizes):
                assert grid[i, j, k] == EVERY[name](n, g, m, cluster())


@settings(max_examples=120, deadline=None)
@given(
    n=st.integers(1, 40),
    g=st.integers(1, 12),
    m=st.floats(1, 1e9),
    link=st.floats(1e8, 1e11),
    rails=st.integers(1, 4),
    multirail=st.booleans(),
    gamma=st.floats(0, 1e-9),
)
@pytest.mark.parametrize("name", ["ring", "hierarchical"])
def test_matches_the_scalar_reference(
    name: str, n: int, g: int, m: float, link: float, rails: int, multirail: bool, gamma: float
) -> None:
    network = Network(SOFTWARE, SOFTWARE, NO_WIRE, Link(5e-6, link), rails, multirail, gamma)
    scalar = lambda size: float(SOFTWARE(size))  # noqa: E731
    world = reference.World(n, g, scalar, 5e-6, link, rails, multirail, gamma)
    if name == "hierarchical" and n > g and n % g:
        n = n // g * g  # uneven nodes are no part of the formula; the search rejects them
        world = reference.World(n, g, scalar, 5e-6, link, rails, multirail, gamma)
    expected = getattr(reference, name)(world, m)
    assert ALGORITHMS[name](n, g, m, network) == pytest.approx(expected, rel=1e-9, abs=1e-15)


@settings(max_examples=120, deadline=None)
@given(
    log_n=st.integers(0, 6),
    log_g=st.integers(0, 4),
    m=st.floats(1, 1e9),
    link=st.floats(1e8, 1e11),
    rails=st.integers(1, 4),
    gamma=st.floats(0, 1e-9),
)
@pytest.mark.parametrize("name", ["recursive_doubling", "halving_doubling"])
def test_pairwise_algorithms_match_pairs_on_nodes(
    name: str, log_n: int, log_g: int, m: float, link: float, rails: int, gamma: float
) -> None:
    n, g = 2**log_n, 2**log_g
    network = Network(SOFTWARE, SOFTWARE, NO_WIRE, Link(5e-6, link), rails, False, gamma)
    scalar = lambda size: float(SOFTWARE(size))  # noqa: E731
    world = reference.World(n, g, scalar, 5e-6, link, rails, False, gamma)
    expected = getattr(reference, name)(world, m)
    found = ALGORITHMS[name.replace("_", "-")](n, g, m, network)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-15)


@settings(max_examples=150, deadline=None)
@given(n=st.integers(1, 300), m=st.floats(1, 1e9), gamma=st.floats(0, 1e-9), halves=st.booleans())
def test_any_rank_count_folds_as_the_libraries_do(
    n: int, m: float, gamma: float, halves: bool
) -> None:
    name = "halving-doubling" if halves else "recursive-doubling"
    scalar = lambda size: float(SOFTWARE(size))  # noqa: E731
    expected = reference.flat_fold(n, m, scalar, gamma, halves)
    found = ALGORITHMS[name](n, 1, m, single_tier(SOFTWARE, gamma))
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-15)


def test_textbook_forms_come_out_of_the_steps() -> None:
    """With one alpha and beta: the closed forms of Thakur et al. and Patarasuk & Yuan."""
    a, b, c, m = 5e-6, 1e-9, 2e-10, 1e7
    network = single_tier(StepCost(a, (b,)), c)
    for n in (2, 4, 16, 64):
        lg, share = np.log2(n), (n - 1) / n
        ring = 2 * (n - 1) * a + 2 * share * m * b + share * m * c
        assert ALGORITHMS["ring"](n, 1, m, network) == pytest.approx(ring)
        doubling = lg * (a + m * b + m * c)
        assert ALGORITHMS["recursive-doubling"](n, 1, m, network) == pytest.approx(doubling)
        halving = 2 * lg * a + 2 * share * m * b + share * m * c
        assert ALGORITHMS["halving-doubling"](n, 1, m, network) == pytest.approx(halving)


def test_parameter_server_saturates_where_the_servers_do() -> None:
    """2 max(m/B, M m/(P B)): flat while P >= M, then linear in the workers."""
    wire, m = 1e9, 1e8
    free = StepCost(0.0, (0.0,))
    network = Network(free, free, NO_WIRE, Link(0.0, wire))
    for workers, servers in [(2, 4), (4, 4), (8, 4), (64, 4)]:
        expected = 2 * max(m / wire, workers * m / (servers * wire))
        found = parameter_server(workers, 1, m, network, servers)
        assert found == pytest.approx(expected)
    colocated = parameter_server(8, 1, m, network, 8, True)
    assert colocated == pytest.approx(2 * 7 / 8 * m / wire)  # the volume of a ring


@pytest.mark.parametrize("name", NAMES)
def test_parameters_may_be_arrays_of_draws(name: str) -> None:
    """Bootstrap draws of the software cost ride along a first axis."""
    draws = StepCost(np.array([[1e-6], [2e-6]]), (np.array([[1e-9], [3e-9]]),))
    sizes = np.array([10.0, 1e4, 1e7])
    together = EVERY[name](6, 1, sizes, single_tier(draws))
    assert together.shape == (2, 3)
    for row, (latency, slope) in enumerate([(1e-6, 1e-9), (2e-6, 3e-9)]):
        alone = EVERY[name](6, 1, sizes, single_tier(StepCost(latency, (slope,))))
        assert together[row] == pytest.approx(alone)
