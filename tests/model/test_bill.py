"""dse.model.bill"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.model.bill import bill, fat_tree


def reference(endpoints: int, radix: int, ratio: int) -> tuple[int, int, int, int]:
    """Leaves, spines, cores and cables: spines are added until all leaves have their links."""
    half = max(radix // 2, 1)
    down = max(radix * ratio // (1 + ratio), 1)
    up = -(-down // ratio)
    if endpoints <= radix:
        return math.ceil(endpoints / radix), 0, 0, endpoints
    leaves = math.ceil(endpoints / down)
    if endpoints <= radix * down:
        spines = 1
        while spines * max(radix // leaves, 1) < up:  # links of a leaf, as many to each spine
            spines += 1
        return leaves, spines, 0, endpoints + leaves * up
    pods = math.ceil(leaves / half)
    cores = math.ceil(up * half / max(radix // pods, 1))
    return leaves, pods * up, cores, endpoints + leaves * up + pods * up * half


@given(st.integers(0, 100_000), st.integers(2, 128), st.integers(1, 8))
def test_a_tree_is_counted_as_by_hand(endpoints: int, radix: int, ratio: int) -> None:
    tree = fat_tree(endpoints, radix, ratio)
    found = (tree.leaves, tree.spines, tree.cores, tree.links)
    assert tree.cables == endpoints
    assert tuple(int(part) for part in found) == reference(endpoints, radix, ratio)
    if ratio == 1:
        assert tree == fat_tree(endpoints, radix)


@given(st.integers(0, 30_000), st.sampled_from([32, 36, 40, 64, 128]), st.integers(1, 16))
def test_an_oversubscribed_tree_needs_no_more_switches_and_cables(
    endpoints: int, radix: int, ratio: int
) -> None:
    tree, other = (fat_tree(endpoints, radix, value) for value in (ratio, ratio + 1))
    assert other.leaves <= tree.leaves
    assert other.switches <= tree.switches
    assert other.links <= tree.links
    if endpoints <= radix:
        assert other == tree, "one switch has no links up"


@given(st.integers(1, 100_000), st.sampled_from([32, 36, 40, 64, 128]))
def test_every_leaf_reaches_every_spine_with_all_that_comes_from_below(
    endpoints: int, radix: int
) -> None:
    tree = fat_tree(endpoints, radix)
    if tree.spines == 0:
        assert tree.leaves == 1
        assert endpoints <= radix
    elif tree.cores == 0:
        links = radix // int(tree.leaves)
        assert tree.leaves * (radix // 2) >= endpoints
        assert links * tree.leaves <= radix, "a spine has a port for each"
        assert links * tree.spines >= radix // 2


@pytest.mark.parametrize(("endpoints", "switches"), [(1024, 48), (2048, 96), (32768, 2560)])
def test_published_networks_of_64_port_switches(endpoints: int, switches: int) -> None:
    """All tiers, as the sheet that the price of NDR is from counts them."""
    assert fat_tree(endpoints, 64).switches == switches


@pytest.mark.parametrize(
    ("endpoints", "radix", "switches"),
    [
        (512, 40, 26 + 20),  # 26 leaves have one link to each of 20 spines
        (256, 36, 15 + 9),  # two to each of nine
        (1040, 64, 33 + 32),  # 16 servers more than fill 32 leaves
    ],
)
def test_networks_that_do_not_divide_evenly(endpoints: int, radix: int, switches: int) -> None:
    assert fat_tree(endpoints, radix).switches == switches


def test_trees_broadcast() -> None:
    tree = fat_tree(np.array([[1], [65]]), np.array([32.0, 64.0, 128.0]))
    assert tree.switches.tolist() == [[1, 1, 1], [5 + 3, 3 + 2, 1]]


@pytest.mark.parametrize(
    ("gpus", "per_node", "sold_in", "bought"),
    [
        (1, 1, 4, 4),  # one of a board of four
        (8, 8, 4, 8),
        (6, 2, 4, 12),  # three nodes with a board each
        (12, 4, 8, 24),
        (2, 8, 4, 4),  # one node, of which two train
        (5, 1, 1, 5),
        (12, 8, 1, 12),  # the last node is filled in part
        (12, 8, 4, 12),
        (9, 8, 4, 12),
    ],
)
def test_nodes_have_whole_boards(gpus: int, per_node: int, sold_in: int, bought: int) -> None:
    found = bill(gpus, per_node, 1, 0.0, 64, nics_included=False, sold_in=sold_in)
    assert (found.accelerators, found.training) == (bought, gpus)


def test_one_node_has_no_network_and_several_have_servers_besides() -> None:
    alone = bill(8, 8, 2, 4.0, 64, nics_included=False)
    assert (alone.nodes, alone.nics, alone.servers, alone.tree.switches) == (1, 0, 0, 0)
    two = bill(16, 8, 2, 4.0, 64, nics_included=False)
    assert (two.nodes, two.nics, two.servers) == (2, 2 * 2 + 4, 4)
    assert (two.tree.switches, two.tree.cables) == (1, 8)
    whole = bill(16, 8, 2, 4.0, 64, nics_included=True)
    assert (whole.nics, whole.tree.cables) == (4, 8), "cards of the servers are bought"
