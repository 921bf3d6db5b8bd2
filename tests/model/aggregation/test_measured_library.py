"""dse.model.aggregation.measured_library against a slow reference, and what it must hold to."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.model.aggregation.measured_library import FAMILIES, Anchor, Composition, LibraryCost, terms

EDGES = (4096.0, 262144.0)
CALL = [7e-6, 1e-6, 0.0]  # from no byte, from the first and from the second edge on
INSIDE_HOP, INSIDE_BYTE = [1e-6, 5e-7, 2e-6], [3e-10, 4e-11, 1e-11]
WIRE_HOP, WIRE_BYTE = [5e-6, 0.0, 4e-6], [8e-10, 2e-10, 9e-11]
PRICES = (*CALL, *INSIDE_HOP, *INSIDE_BYTE, *WIRE_HOP, *WIRE_BYTE)


def doublings(count: int) -> int:
    """How often 1 is doubled until it reaches ``count``."""
    found = 0
    while 2**found < count:
        found += 1
    return found


def stepped(prices: list[float], m: float) -> float:
    """A price that rises at every edge the message reaches."""
    return prices[0] + sum(more for more, edge in zip(prices[1:], EDGES, strict=True) if m >= edge)


def carried(prices: list[float], m: float) -> float:
    """Seconds to carry m bytes, byte for byte: each pays all prices whose edge lies beyond it."""
    total, start = 0.0, 0.0
    for first, end in enumerate((*EDGES, math.inf)):
        total += sum(prices[first:]) * max(0.0, min(m, end) - start)
        start = end
    return total


def one_node(how: Composition, n: int, m: float) -> float:
    """All ranks in one node."""
    around = 2 * (n - 1) / n
    if how.family == "mpi":
        chunk = min(m, how.chunk_bytes)
        whole = carried(INSIDE_BYTE, m) - carried(INSIDE_BYTE, chunk)
        total = doublings(n) * carried(INSIDE_BYTE, chunk) + around * whole
        return stepped(CALL, m) + doublings(n) * stepped(INSIDE_HOP, m) + total
    flow = around * (n / 2) ** how.sharing * carried(INSIDE_BYTE, m)
    if how.nvls and n >= 5:
        flow = 1.2 * (n + 1) / n * carried(INSIDE_BYTE, m)
    return stepped(CALL, m) + 2 * (n - 1) * stepped(INSIDE_HOP, m) + flow


def several_nodes(how: Composition, n: int, g: int, m: float, slower: float) -> float:
    """Nodes of g ranks, the last perhaps part-filled."""
    nodes = len({rank // g for rank in range(n)})
    chunk, levels = min(m, how.chunk_bytes), math.log2(nodes)
    small = carried(WIRE_BYTE, chunk)
    large = carried(WIRE_BYTE, m) - small
    if how.family == "mpi":
        inside, across = doublings(g), levels
        wire = (levels + doublings(g)) * small + 2 * (n - 1) / n * large
        return stepped(CALL, m) + hops_s(inside, across, m) + wire * slower
    if m >= how.ring_from_bytes:
        steps = 2 * (n - 1)
        across = min(2 * nodes, steps)
        inside = steps - across
        wire = 2 * (n - 1) / n * (small + large)
    else:
        inside, across = 2 * (g - 1), 2 * levels
        wire = 2 * levels * small + (2 if nodes > 2 else 1) * large
    wire /= min(g, how.rails)  # every rank of a node with a card of its own, while there are any
    return stepped(CALL, m) + hops_s(inside, across, m) + wire * slower


def hops_s(inside: int, across: int, m: float) -> float:
    return inside * stepped(INSIDE_HOP, m) + across * stepped(WIRE_HOP, m)


def reference(how: Composition, n: int, g: int, m: float, slower: float = 1.0) -> float:
    if n == 1:
        return 0.0
    return one_node(how, n, m) if n <= g else several_nodes(how, n, g, m, slower)


COMPOSITIONS = st.builds(
    Composition,
    st.sampled_from(FAMILIES),
    st.sampled_from([1.0, 4096.0, 131072.0, 2.0**20]),
    st.sampled_from([1.0, 65536.0, 2.0**25, 1e12]),
    st.sampled_from([0.0, 0.5, 2.5]),
    st.booleans(),
    st.sampled_from([1.0, 2.0, 4.0]),
)
SIZES = st.floats(0, 1e9) | st.sampled_from([0.0, 4096.0, 131072.0, 262144.0, 2.0**25])


@settings(max_examples=400)
@given(how=COMPOSITIONS, n=st.integers(1, 70), g=st.integers(1, 9), m=SIZES,
       slower=st.floats(0.1, 10))  # fmt: skip
def test_matches_the_scalar_reference(
    how: Composition, n: int, g: int, m: float, slower: float
) -> None:
    found = LibraryCost(how, EDGES, PRICES)(n, g, m, slower)
    assert found == pytest.approx(reference(how, n, g, m, slower), rel=1e-9, abs=1e-15)


@settings(max_examples=600)
@given(how=COMPOSITIONS, n=st.integers(2, 300), g=st.integers(1, 16), m=st.floats(1, 1e12))
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


@settings(max_examples=10)
@given(how=COMPOSITIONS)
def test_the_price_of_one_hop_is_never_taken_off(how: Composition) -> None:
    """With any layout, every kind of hop can only add to the time."""
    n, g, m = np.arange(2, 70).reshape(-1, 1, 1), np.arange(1, 9).reshape(-1, 1), np.array([1, 1e9])
    plain = LibraryCost(how, EDGES, PRICES)(n, g, m)
    for at in range(len(PRICES)):
        dearer = tuple(price + 1e-6 * (at == other) for other, price in enumerate(PRICES))
        assert np.all(LibraryCost(how, EDGES, dearer)(n, g, m) >= plain)


@settings(max_examples=60)
@given(how=COMPOSITIONS)
def test_arrays_broadcast_and_agree_with_single_points(how: Composition) -> None:
    cost = LibraryCost(how, EDGES, PRICES, (Anchor(6, 3, (1e3, 1e6), (2e-4, 3e-3)),))
    n, g = np.array([1, 2, 3, 6, 24]).reshape(-1, 1, 1, 1), np.array([1, 3, 8]).reshape(-1, 1, 1)
    m, slower = np.array([8.0, 5e4, 3e7]).reshape(-1, 1), np.array([0.5, 2.0])
    grid = np.broadcast_to(cost(n, g, m, slower), (5, 3, 3, 2))
    for at in np.ndindex(grid.shape):
        i, j, k, link = at
        single = cost(n[i, 0, 0, 0], g[j, 0, 0], m[k, 0], slower[link])
        assert grid[at] == pytest.approx(float(single), rel=1e-12)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_terms_are_one_for_each_coefficient(family: str) -> None:
    n, g, m = (np.array([value]) for value in (8.0, 4.0, 1e6))
    for edges in ((), EDGES):
        assert len(list(terms(Composition(family), edges, n, g, m))) == 5 + 5 * len(edges)


def test_an_anchor_holds_at_its_layout_and_no_other() -> None:
    plain = LibraryCost(Composition("nccl"), EDGES, PRICES)
    ends = np.array([1e3, 1e6])
    measured = np.array([2.0, 4.0]) * plain(8, 4, ends)
    anchor = Anchor(8, 4, tuple(ends), tuple(measured))
    cost = LibraryCost(Composition("nccl"), EDGES, PRICES, (anchor,))
    between = math.sqrt(1e9)
    assert cost(8, 4, ends) == pytest.approx(measured)
    assert cost(8, 4, between) == pytest.approx(math.sqrt(measured.prod()))
    assert cost(8, 4, 10.0) == pytest.approx(2.0 * plain(8, 4, 10.0))
    assert cost(8, 4, 1e9) == pytest.approx(4.0 * plain(8, 4, 1e9))
    sizes = np.array([10.0, between, 1e9])
    for n, g in ((8, 2), (8, 8)):
        assert np.array_equal(cost(n, g, sizes), plain(n, g, sizes))


def test_between_two_layouts_a_time_lies_between_theirs_and_beyond_it_grows_as_composed() -> None:
    plain = LibraryCost(Composition("nccl"), EDGES, PRICES)
    sizes = np.array([1e3, 1e6])
    anchors = tuple(
        Anchor(n, 4, tuple(sizes), tuple(factor * plain(n, 4, sizes)))
        for n, factor in ((8, 2.0), (32, 1.5))
    )
    cost = replace(plain, anchors=anchors)
    two, eight = cost(8, 4, sizes), cost(32, 4, sizes)
    assert cost(16, 4, sizes) == pytest.approx(np.sqrt(two * eight))  # half way in octaves
    assert cost(64, 4, sizes) == pytest.approx(1.5 * plain(64, 4, sizes))
    assert np.all(cost(48, 4, sizes) > eight)
    assert np.all(cost(48, 4, sizes) < cost(64, 4, sizes))
    slower = [replace(plain, anchors=anchors)(n, 4, sizes, 3.0) for n in (8, 16, 32, 48)]
    assert np.all(np.diff(slower, axis=0) > 0)


def test_a_slower_link_slows_what_an_anchor_measured() -> None:
    plain = LibraryCost(Composition("nccl"), EDGES, PRICES)
    sizes = (1e3, 1e6)
    cost = replace(plain, anchors=(Anchor(8, 4, sizes, (1e-3, 2e-3)),))
    expected = np.array([1e-3, 2e-3]) * plain(8, 4, sizes, 3.0) / plain(8, 4, sizes)
    assert cost(8, 4, sizes, 3.0) == pytest.approx(expected)


def test_an_anchor_of_one_node_serves_wider_nodes_that_hold_as_many() -> None:
    """Four ranks in a node with eight places are laid out as four in one with four."""
    cost = LibraryCost(
        Composition("nccl"), (), (1e-6,) * 5, (Anchor(4, 4, (1.0, 2.0), (1.0, 1.0)),)
    )
    assert cost(4, 8, 1e6) == cost(4, 4, 1e6)


def test_a_slower_link_raises_the_price_of_its_bytes_alone() -> None:
    cost = LibraryCost(Composition("nccl"), EDGES, PRICES)
    assert cost(4, 4, 1e8, 2.0) == cost(4, 4, 1e8, 1.0)  # one node: no link
    assert cost(4, 4, 1e8, np.nan) == cost(4, 4, 1e8)  # nor need its speed be known
    assert cost(16, 4, 0.0, 2.0) == cost(16, 4, 0.0, 1.0)  # latency stays
    latency = float(cost(16, 4, 1e6, 1e-12))
    assert cost(16, 4, 1e6, 3.0) - latency == pytest.approx(3 * (cost(16, 4, 1e6) - latency))


def test_what_was_not_measured_is_not_priced() -> None:
    nccl, free = Composition("nccl"), (0.0, 0.0, 0.0)
    inside = LibraryCost(nccl, EDGES, (*CALL, *INSIDE_HOP, *INSIDE_BYTE, *free, *free))
    outside = LibraryCost(nccl, EDGES, (*CALL, *INSIDE_HOP, *free, *WIRE_HOP, *WIRE_BYTE))
    ranks, per_node = np.array([1, 4, 8]), 4
    assert inside.priced(ranks, per_node).tolist() == [True, True, False]
    assert outside.priced(ranks, per_node).tolist() == [True, False, True]
    assert LibraryCost(nccl, EDGES, PRICES).priced(ranks, per_node).all()


def test_on_other_numbers_of_nodes_the_cheaper_of_ring_and_tree_counts() -> None:
    how = Composition("nccl", ring_from_bytes=1e6)
    anchor = Anchor(80, 8, (1e3, 1e8), (1e-4, 1e-1))  # 10 nodes
    cost = LibraryCost(how, EDGES, PRICES, (anchor,))
    ring = LibraryCost(how, EDGES, PRICES)
    tree = LibraryCost(replace(how, ring_from_bytes=np.inf), EDGES, PRICES)
    sizes = np.array([1e3, 2e6, 1e8])
    off = cost(80, 8, sizes) / ring(80, 8, sizes)
    less = np.minimum(ring(40, 8, sizes), tree(40, 8, sizes))
    assert cost(40, 8, sizes) == pytest.approx(np.minimum(less, cost(80, 8, sizes)))
    dearer = np.maximum(ring(80, 8, sizes) / tree(80, 8, sizes), 1.0)
    for n in (88, 8000):
        more = np.minimum(ring(n, 8, sizes), dearer * tree(n, 8, sizes))
        assert cost(n, 8, sizes) == pytest.approx(off * more)
    assert cost(80, 8, [1e3, 1e8]) == pytest.approx([1e-4, 1e-1])
    assert cost(40, 4, sizes) == pytest.approx(ring(40, 4, sizes))  # as many: it took the ring
    assert cost(79, 8, sizes) == pytest.approx(off * ring(79, 8, sizes))


def test_a_node_that_is_not_full_takes_no_other_algorithm() -> None:
    """Between two nodes a tree sends a message once, a ring nearly twice: which of both NCCL took
    was measured."""
    how = Composition("nccl", ring_from_bytes=1e6)
    free = LibraryCost(how, EDGES, PRICES)
    cost = replace(free, anchors=(Anchor(16, 8, (1e8,), (float(free(16, 8, 1e8)),)),))
    fewer, full = (float(cost(n, 8, 1e8)) for n in (15, 16))
    assert 0.97 * full < fewer < full
