"""dse.model.leaves"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.model.flows import flows_of_exchanges
from dse.model.leaves import Leaf, leaf, leaf_ports

RATIOS = st.integers(1, 64) | st.fractions(1, 64, max_denominator=12)


@pytest.mark.parametrize(
    ("radix", "ratio", "down", "up"),
    [
        (64, 1, 32, 32),
        (64, 2, 42, 21),
        (64, 3, 48, 16),
        (64, 4, 51, 13),
        (32, 2, 21, 11),
        (33, 1, 16, 16),
        (2, 64, 1, 1),
        (1, 1, 1, 1),
    ],
)
def test_ports_of_a_leaf(radix: int, ratio: int, down: int, up: int) -> None:
    found = leaf_ports(radix, ratio)
    assert (found.down, found.up) == (down, up)


@given(st.integers(2, 256), RATIOS)
def test_ports_are_as_many_as_fit_and_carry_the_ratio(radix: int, ratio: Fraction | int) -> None:
    found = leaf_ports(radix, float(ratio))
    down = max(min(math.floor(Fraction(radix) * ratio / (1 + ratio)), radix - 1), 1)
    assert found.down == down
    assert found.up == max(math.ceil(Fraction(down) / ratio), 1)
    assert found.down + found.up <= radix
    assert found.up * float(ratio) >= found.down * (1 - 1e-9), "no more oversubscribed than asked"


@given(st.integers(2, 256), RATIOS, RATIOS)
def test_a_larger_ratio_never_has_fewer_ports_down_or_more_up(
    radix: int, one: Fraction | int, other: Fraction | int
) -> None:
    low, high = sorted((float(one), float(other)))
    a, b = leaf_ports(radix, low), leaf_ports(radix, high)
    assert b.down >= a.down
    assert b.up <= a.up


def test_nothing_blocks_on_one_switch_or_at_a_ratio_of_one() -> None:
    assert leaf(1000.0, 64.0, 1.0, 1.0) is None
    found = leaf(np.array([64.0, 65.0, 65.0]), 64.0, 1.0, np.array([4.0, 4.0, 1.0]))
    assert found is not None
    assert found.uplinks.tolist() == [np.inf, 13.0, np.inf]
    assert found.slower(found.nodes).tolist() == [1.0, pytest.approx(51 / 13), 1.0]


def test_only_what_leaves_a_leaf_is_slower() -> None:
    eight = leaf(128.0, 64.0, 8.0, 4.0)  # 51 ports down are 6.4 nodes of 8 cards
    assert eight is not None
    assert eight.nodes == 51 / 8
    assert eight.slower(1.0) == 1.0, "8 cards of one node have 13 links"
    assert eight.slower(2.0) == 16 / 13
    assert eight.slower(100.0) == 51 / 13, "no more than all nodes send"


def double_tree_leaving(nodes: int, width: int) -> float:
    """The most flows of a node that leave one of the leaves of ``width`` nodes, edge by edge.

    Both trees are in order, so that in each the children of a node at an odd multiple of 2^k are
    2^k / 2 away (NCCL's src/graph/trees.cc); the second is the first moved by one. An edge carries
    half a message each way, and a node inside of one tree and a leaf of the other four such halves.
    """
    crossing = np.zeros(math.ceil(nodes / width))
    for shift in (0, 1):
        for child in range(1, nodes):
            bit = child & -child
            parent = (child ^ bit) | (bit << 1)
            if parent >= nodes:
                parent = child ^ bit
            a, b = ((end + shift) % nodes // width for end in (child, parent))
            if a != b:
                crossing[[a, b]] += 1
    return float(crossing.max()) / (2 if nodes == 2 else 4)


@given(st.integers(2, 300), st.integers(1, 64))
def test_a_double_tree_leaves_a_leaf_no_more_often_than_told(nodes: int, width: int) -> None:
    if nodes > width:
        bound = Leaf(np.asarray(float(width)), np.asarray(1.0), 1.0).tree(nodes)
        assert double_tree_leaving(nodes, width) <= bound + 1e-9


@given(st.integers(2, 500), st.integers(1, 100), st.sampled_from([0, 1]))
def test_exchanges_leave_a_leaf_no_more_often_than_told(ranks: int, width: int, kept: int) -> None:
    for step, flows in enumerate(flows_of_exchanges(float(ranks), float(width), kept)):
        assert flows <= min(width, 2 * 2**step)
