"""Collectives over two tiers of links."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.model.arrays import Array
from dse.model.leaves import Leaf
from dse.model.parallel.exchanges import Tiers
from dse.model.parallel.mesh import Group, Mesh, group

TIERS = Tiers(450e9, 400e9)
KINDS = ("all_reduce_s", "halves_s", "exchange_s")


@pytest.mark.parametrize("kind", KINDS)
def test_one_rank_sends_nothing(kind: str) -> None:
    assert getattr(TIERS, kind)(group(1, 1, 8, 64), 1e9) == 0


@given(st.sampled_from(KINDS), st.integers(2, 64), st.floats(1, 1e10), st.floats(1.01, 10))
def test_more_bytes_take_longer_and_faster_links_less(
    kind: str, ranks: int, size: float, more: float
) -> None:
    ranks_of = group(ranks, 1, 8, 64)
    slow, fast = Tiers(450e9, 400e9), Tiers(450e9 * more, 400e9 * more)
    assert getattr(slow, kind)(ranks_of, size * more) > getattr(slow, kind)(ranks_of, size)
    assert getattr(fast, kind)(ranks_of, size) < getattr(slow, kind)(ranks_of, size)


def test_bus_bandwidth_inside_a_node() -> None:
    """Large all-reduce: ``2 (r - 1) / r S / T`` is the share of the link that it reaches."""
    size, node = 1e10, group(8, 1, 8, 8)
    assert 1.75 * size / TIERS.all_reduce_s(node, size) == pytest.approx(
        TIERS.all_reduce * 450e9, rel=1e-2
    )


def test_a_wide_tensor_group_is_hierarchical() -> None:
    """Sixteen ranks on two nodes cross once a node, not once a rank: less than all on the cards."""
    size, wide = 1e9, group(16, 1, 8, 16)
    cards_alone = 2 * 15 / 16 * size / (400e9 / 8)
    assert float(TIERS.all_reduce_s(wide, size)) < cards_alone / 3


def test_sharing_and_length_do_not_multiply() -> None:
    """A node's groups share its cards; alone on many nodes one reaches only a part of them."""
    tiers = Tiers(450e9, 400e9, shared=0.5)
    size = 1e10
    alone, shared = (
        float(tiers.all_reduce_s(group(32 * inside, 8 // inside, 8, 256), size))
        for inside in (8, 1)
    )
    assert shared == pytest.approx(2 * 31 / 32 * size / (400e9 * tiers.all_reduce / 8), rel=1e-2)
    assert alone == pytest.approx(
        2 * (31 / 32 * size / (400e9 * tiers.all_reduce / 4)
             + 0.25 * 7 / 8 * size / (450e9 * tiers.all_reduce)), rel=1e-2,
    )  # fmt: skip


def test_rings_pass_every_rank() -> None:
    """What kills a tensor group over nodes is latency: n - 1 hops, a tree's are few."""
    wide = group(32, 1, 8, 32)
    tiers = Tiers(450e9, 400e9, hop_s=45e-6, call_s=0.0)
    assert tiers.halves_s(wide, 0.0) == pytest.approx(31 * 45e-6)
    assert tiers.all_reduce_s(wide, 0.0) == pytest.approx(4 * 45e-6)
    assert np.all(tiers.send_s(group(1, 1, 8, 8), 1e9) == 0)


def test_a_collective_takes_a_step_to_each_rank_of_a_node() -> None:
    """SimuMax's fit to B200: a fixed part, and n - 1 times a step."""
    tiers = Tiers(900e9, 400e9, call_s=24e-6, step_s=8.6e-6)
    for ranks in (2, 8):
        node = group(ranks, 1, 8, 8)
        assert tiers.halves_s(node, 0.0) == pytest.approx(24e-6 + (ranks - 1) * 8.6e-6)
        assert tiers.exchange_s(node, 0.0) == pytest.approx(24e-6 + 8.6e-6)


@pytest.mark.parametrize(("sending", "cards"), [(1, 4), (4, 1), (6, 8 / 6), (72, 1)])
def test_stages_reach_the_cards_of_their_own_trays(sending: int, cards: float) -> None:
    """A domain of 18 trays of 4, each with 4 cards of 50 GB/s."""
    tiers = Tiers(900e9, 72 * 50e9, hop_s=0.0, trays=18.0, tray=4.0)
    stages = Group(np.asarray(2.0), np.asarray(2.0), np.asarray(float(sending)))
    expected = 1e9 / (cards * 50e9 * tiers.cards)
    assert float(tiers.send_s(stages, 1e9)) == pytest.approx(expected)


def test_leaves_hold_up_what_leaves_them() -> None:
    """Leaves of 7 nodes with 8 cards each, and 7 links up: rings leave once, all-to-all all."""
    free = Tiers(450e9, 400e9, call_s=0.0, hop_s=0.0, shared=0.0)
    held = replace(free, leaf=Leaf(np.array(7.0), np.array(7.0), 8.0))

    def times(cost: Callable[[Tiers, Group, float], Array], ranks: int, stride: int) -> float:
        wide = group(ranks, stride, 8, 512)
        assert wide.inside == 1  # so that nothing but cards takes time
        return float(cost(held, wide, 1e9) / cost(free, wide, 1e9))

    costs = (Tiers.halves_s, Tiers.exchange_s, Tiers.all_reduce_s, Tiers.send_s)
    assert [times(cost, 4, 8) for cost in costs] == [1.0] * 4
    assert [times(cost, 64, 8) for cost in costs] == pytest.approx([8 / 7, 8, 8 / 7, 8 / 7])
    assert [times(cost, 8, 64) for cost in costs] == pytest.approx([8.0] * 4)
    one = np.ones(())
    for nodes, slower in ((1, 8 / 7), (2, 16 / 7), (8, 8)):  # of a stage
        stages = Mesh(8 * one, one, 16 * one, nodes * one, one, one, 8 * one).stages
        assert held.send_s(stages, 1e9) == pytest.approx(slower * free.send_s(stages, 1e9))
