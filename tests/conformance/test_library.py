"""What an allreduce by the library's own choice must do, whatever its parameters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.errors import OutsideCalibration
from dse.model.aggregation.algorithms import ALGORITHMS
from dse.model.aggregation.base import Cluster
from dse.model.aggregation.library_rules import AUTO
from dse.model.aggregation.measured_library import (
    FAMILIES,
    Composition,
    LibraryCost,
    MeasuredLibrary,
)
from dse.model.arrays import Array, ArrayLike
from dse.pricing.aggregations import Factory
from dse.study import AggregationName
from tests.model.works import gradients_of

GRADIENTS = gradients_of([1.0])
EDGES = (4096.0, 262144.0)
# Per call; then inside and between nodes: per hop, and per byte up to each edge and of all.
PRICES = (
    7e-6,
    0.0,
    0.0,
    1e-6,
    0.0,
    1e-6,
    3e-10,
    4e-11,
    1e-11,
    5e-6,
    4e-6,
    0.0,
    8e-10,
    2e-10,
    9e-11,
)
COMPOSITIONS = [
    *(Composition(family) for family in FAMILIES),
    Composition("nccl", ring_from_bytes=2.0**20, sharing=1.5),
    Composition("nccl", nvls=True),
    Composition("nccl", rails=4.0),
    Composition("mpi", chunk_bytes=4096.0),
]
LAYOUTS = [(2, 8), (5, 8), (8, 8), (2, 1), (3, 1), (12, 4), (16, 8), (1000, 8)]  # one node, many


def seconds_of(n: float, g: float, sizes: ArrayLike, how: Composition) -> Array:
    """What the library's choice of algorithms takes over a network as fast as the measured one."""
    cost = LibraryCost(how, EDGES, PRICES)
    choice = MeasuredLibrary(cost, None, 1.0, True)
    layout = Cluster(np.asarray(float(n)), np.asarray(float(g)))
    found = choice.message_s(np.asarray(sizes, dtype=np.float64), GRADIENTS, layout)
    np.testing.assert_array_equal(found, cost(n, g, sizes))
    return found


@pytest.mark.parametrize("how", COMPOSITIONS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_more_bytes_never_cost_less_but_where_the_library_turns_to_the_ring(
    how: Composition, layout: tuple[int, int]
) -> None:
    sizes = np.concatenate([[0.0], np.geomspace(1, 1e12, 400), [how.ring_from_bytes]])
    for part in (sizes[sizes < how.ring_from_bytes], sizes[sizes >= how.ring_from_bytes]):
        seconds = seconds_of(*layout, np.sort(part), how)
        assert np.all(np.diff(seconds) >= -1e-12 * seconds[1:])


@settings(max_examples=200)
@given(n=st.integers(2, 300), g=st.integers(1, 16), m=st.floats(1, 1e12))
@pytest.mark.parametrize("how", COMPOSITIONS)
def test_never_faster_than_bandwidth_allows(how: Composition, n: int, g: int, m: float) -> None:
    """Every byte at one price: a rank, or a node, passes 2 (n-1)/n m (Patarasuk & Yuan 2009).

    A switch that adds takes half of that off: what is left is the message and its share.
    """
    price = 1e-9
    cost = LibraryCost(how, (), (0.0, 0.0, price, 0.0, price))
    nodes = -(-n // g)
    parties, cards = (nodes, min(g, how.rails)) if nodes > 1 else (n, 1.0)
    least = 2 * (parties - 1) / parties * m * price / cards
    if how.nvls and nodes == 1:
        least = (n + 1) / n * m * price if n > 4 else least
    assert cost(n, g, m) >= least * (1 - 1e-12)


@pytest.mark.parametrize("how", COMPOSITIONS)
def test_the_price_of_one_hop_is_never_taken_off(how: Composition) -> None:
    """With any layout, every kind of hop can only add to the time."""
    n, g, m = np.arange(2, 70).reshape(-1, 1, 1), np.arange(1, 9).reshape(-1, 1), np.array([1, 1e9])
    plain = LibraryCost(how, EDGES, PRICES)(n, g, m)
    for at in range(len(PRICES)):
        dearer = tuple(price + 1e-6 * (at == other) for other, price in enumerate(PRICES))
        assert np.all(LibraryCost(how, EDGES, dearer)(n, g, m) >= plain)


def test_a_library_of_which_nothing_is_known_says_so() -> None:
    unknown = Factory({})(AggregationName(AUTO, "gloo")).model
    layout = Cluster(np.array(8.0), np.array(4.0))
    with pytest.raises(OutsideCalibration, match="what the library chooses"):
        unknown.summed(GRADIENTS, np.zeros(1), layout)
    assert not unknown.bounded(GRADIENTS, layout)
    assert AUTO not in ALGORITHMS  # which say themselves what they do


@pytest.mark.parametrize("how", COMPOSITIONS)
@pytest.mark.parametrize("per_node", [1, 2, 8])
def test_one_rank_is_free(how: Composition, per_node: int) -> None:
    assert np.all(seconds_of(1, per_node, np.array([0.0, 1.0, 1e6, 1e15]), how) == 0)


@pytest.mark.parametrize("how", COMPOSITIONS)
@pytest.mark.parametrize("size", [0.0, 1.0, 1e15])
@pytest.mark.parametrize("per_node", [1, 8, 2e6])
def test_finite_at_a_million_ranks(how: Composition, size: float, per_node: float) -> None:
    seconds = seconds_of(1e6, per_node, size, how)
    assert np.isfinite(seconds)
    assert seconds > 0
