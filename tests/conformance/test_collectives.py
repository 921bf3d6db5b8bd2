"""What every aggregation algorithm must do, whatever its parameters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.model.aggregation.algorithms import ALGORITHMS
from dse.model.aggregation.parameter_server import parameter_server
from dse.model.links import NO_WIRE, Link, Network, StepCost, single_tier
from tests.conformance import reference

SOFTWARE = StepCost(3e-6, (2e-10, 5e-10, 1e-10), (4096.0, 262144.0), (1e-6, 4e-6))
EVERY = {**ALGORITHMS, "ps": parameter_server}
NAMES = sorted(EVERY)


def cluster(link: float = 12.5e9, rails: float = 1.0, gamma: float = 1e-10) -> Network:
    return Network(SOFTWARE, SOFTWARE, NO_WIRE, Link(5e-6, link), rails, False, gamma)


def scalar(size: float) -> float:
    """The software's part for the scalar references, which must not know arrays."""
    return float(SOFTWARE(size))


# Bytes/s of the link between nodes, rails, whether one message takes all of them, gamma.
WIRES = st.tuples(st.floats(1e8, 1e11), st.integers(1, 4), st.booleans(), st.floats(0, 1e-9))


def assert_as_the_reference(
    name: str, n: int, g: int, m: float, wires: tuple[float, int, bool, float]
) -> None:
    """The algorithm costs what its scalar reference does, on nodes with such wires."""
    link, rails, multirail, gamma = wires
    network = Network(SOFTWARE, SOFTWARE, NO_WIRE, Link(5e-6, link), rails, multirail, gamma)
    world = reference.World(n, g, scalar, 5e-6, link, rails, multirail, gamma)
    expected = getattr(reference, name.replace("-", "_"))(world, m)
    found = ALGORITHMS[name](n, g, m, network)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-15)


@settings(max_examples=120)
@given(
    n=st.integers(1, 40),
    g=st.integers(1, 12),
    m=st.floats(1, 1e9),
    wires=WIRES,
)
@pytest.mark.parametrize("name", ["ring", "hierarchical"])
def test_matches_the_scalar_reference(
    name: str, n: int, g: int, m: float, wires: tuple[float, int, bool, float]
) -> None:
    if name == "hierarchical" and n > g and n % g:
        n = n // g * g  # uneven nodes are no part of the formula; the search rejects them
    assert_as_the_reference(name, n, g, m, wires)


@settings(max_examples=200)
@given(
    n=st.integers(1, 40) | st.sampled_from([2, 4, 8, 16, 32, 64, 96, 127]),
    g=st.integers(1, 12) | st.sampled_from([1, 2, 4, 8, 16]),
    m=st.floats(1, 1e9),
    wires=WIRES,
)
@pytest.mark.parametrize("name", ["recursive-doubling", "halving-doubling", "reduce-broadcast"])
def test_pairwise_algorithms_match_pairs_on_nodes(
    name: str, n: int, g: int, m: float, wires: tuple[float, int, bool, float]
) -> None:
    assert_as_the_reference(name, n, g, m, wires)


@pytest.mark.parametrize("name", ["recursive-doubling", "halving-doubling", "reduce-broadcast"])
def test_any_layout_agrees_with_its_single_points(name: str) -> None:
    ranks, per_node = np.arange(1, 41).reshape(-1, 1, 1), np.arange(1, 13).reshape(1, -1, 1)
    sizes = np.array([8.0, 3e7])
    grid = ALGORITHMS[name](ranks, per_node, sizes, cluster())
    for i, j, k in np.ndindex(grid.shape):
        n, g = ranks[i, 0, 0], per_node[0, j, 0]
        assert grid[i, j, k] == ALGORITHMS[name](n, g, sizes[k], cluster())
    points = ALGORITHMS[name](np.repeat(np.arange(1, 41), 12), np.tile(np.arange(1, 13), 40), 8.0,
                              cluster())  # fmt: skip
    assert np.array_equal(points.reshape(40, 12), grid[..., 0])


def test_a_part_filled_node_pays_for_the_wire() -> None:
    """Six ranks as 4 + 2: two exchanges of the last step cross, and share one card."""
    free = StepCost(0.0, (0.0,))
    network = Network(free, free, NO_WIRE, Link(0.0, 1.0))
    assert ALGORITHMS["recursive-doubling"](6, 4, 10.0, network) == pytest.approx(2 * 10)
    assert ALGORITHMS["halving-doubling"](6, 4, 10.0, network) == pytest.approx(2 * 2 * 10 / 4)


@settings(max_examples=150)
@given(n=st.integers(1, 200), g=st.integers(1, 12))
@pytest.mark.parametrize("name", NAMES)
def test_nodes_are_never_faster_than_their_cards(name: str, n: int, g: int) -> None:
    """N nodes with one card each: 2 (N-1)/N m must pass it, wherever the ranks sit."""
    free = StepCost(0.0, (0.0,))
    network = Network(free, free, NO_WIRE, Link(0.0, 1.0))
    nodes = -(-n // g)
    assert EVERY[name](n, g, 1.0, network) >= 2 * (nodes - 1) / nodes * (1 - 1e-12)


@settings(max_examples=150)
@given(n=st.integers(1, 300), m=st.floats(1, 1e9), gamma=st.floats(0, 1e-9), halves=st.booleans())
def test_any_rank_count_folds_as_the_libraries_do(
    n: int, m: float, gamma: float, halves: bool
) -> None:
    name = "halving-doubling" if halves else "recursive-doubling"
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
        twice = 2 * lg * (a + m * b) + lg * m * c
        assert ALGORITHMS["reduce-broadcast"](n, 1, m, network) == pytest.approx(twice)


def test_a_tree_on_full_nodes_crosses_once_per_doubling_of_nodes() -> None:
    """Nodes of a power of two: lg g levels inside, lg N between; messages go one way only."""
    inside, between = StepCost(1.0, (0.0,)), StepCost(10.0, (0.0,))
    network = Network(inside, between, inter=Link(0.0, 1.0), crossing=StepCost(0.0, (2.0,)))
    found = ALGORITHMS["reduce-broadcast"](np.array([8, 16, 24]), 8, 5.0, network)
    assert found == pytest.approx(2 * np.array([3 * 1, 3 * 1 + 15, 3 * 1 + 2 * 15]))
    # Two ranks a node, the last one alone: it gets its message in the last of three rounds.
    assert ALGORITHMS["reduce-broadcast"](5, 2, 5.0, network) == pytest.approx(2 * (1 + 2 * 15))


def test_a_double_tree_crosses_once_between_two_nodes_and_twice_between_more() -> None:
    """Inside the nodes all is free, and so many bytes that filling the pipeline takes no time."""
    free = StepCost(0.0, (0.0,))
    network = Network(free, free, NO_WIRE, Link(0.0, 1.0))
    found = ALGORITHMS["tree"](np.array([2, 16, 3, 32]), np.array([1, 8, 1, 8]), 1.0, network)
    assert found == pytest.approx(np.array([1, 1, 2, 2]), rel=2e-3)


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


@settings(max_examples=200)
@given(
    n=st.integers(1, 40),
    g=st.integers(1, 12),
    m=st.floats(1, 1e9),
    servers=st.integers(1, 20),
    colocated=st.booleans(),
    imbalance=st.floats(1, 30),
    rails=st.integers(1, 4),
    multirail=st.booleans(),
    gamma=st.floats(0, 1e-9),
)
def test_parameter_server_matches_the_scalar_reference(
    n: int, g: int, m: float, servers: int, colocated: bool, imbalance: float, rails: int,
    multirail: bool, gamma: float,
) -> None:  # fmt: skip
    network = Network(SOFTWARE, SOFTWARE, NO_WIRE, Link(5e-6, 1e9), rails, multirail, gamma)
    world = reference.World(n, g, scalar, 5e-6, 1e9, rails, multirail, gamma)
    expected = reference.parameter_server(world, m, servers, colocated, imbalance)
    found = parameter_server(n, g, m, network, servers, colocated, imbalance)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-15)


@given(
    workers=st.integers(2, 60),
    servers=st.integers(1, 60),
    imbalance=st.floats(1, 100),
    colocated=st.booleans(),
)
def test_more_servers_never_carry_more_than_one_would(
    workers: int, servers: int, imbalance: float, colocated: bool
) -> None:
    """A shard is never more than all bytes, and never less than what every worker must send."""
    free = StepCost(0.0, (0.0,))
    network = Network(free, free, NO_WIRE, Link(0.0, 1.0), gamma_s_per_byte=1.0)
    one = parameter_server(workers, 1, 1.0, network, 1, colocated)
    several = parameter_server(workers, 1, 1.0, network, servers, colocated, imbalance)
    balanced = parameter_server(workers, 1, 1.0, network, servers, colocated)
    assert balanced <= several * (1 + 1e-12)
    assert several <= one * (1 + 1e-12)


def test_only_the_busiest_server_sees_the_imbalance() -> None:
    """With servers to spare the workers pace, and they send m bytes whatever the shards are."""
    free = StepCost(0.0, (0.0,))
    network = Network(free, free, NO_WIRE, Link(0.0, 1.0))
    assert parameter_server(2, 1, 1.0, network, 8, False, 3.0) == pytest.approx(2.0)
    assert parameter_server(2, 1, 1.0, network, 8, False, 6.0) == pytest.approx(2 * 2 * 6 / 8)


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
