"""dse.model.bill"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.model.bill import bill, fat_tree


def reference(endpoints: int, radix: int) -> tuple[int, int, int, int]:
    """Leaves, spines, cores and cables, one switch after the other."""
    half = max(radix // 2, 1)
    if endpoints <= radix:
        return math.ceil(endpoints / radix), 0, 0, endpoints
    leaves = math.ceil(endpoints / half)
    up = leaves * half
    if endpoints <= radix * half:
        return leaves, math.ceil(up / radix), 0, endpoints + up
    return leaves, leaves, math.ceil(up / radix), endpoints + 2 * up


@given(st.integers(0, 100_000), st.integers(2, 128))
def test_a_tree_is_counted_as_by_hand(endpoints: int, radix: int) -> None:
    tree = fat_tree(endpoints, radix)
    found = (tree.leaves, tree.spines, tree.cores, tree.cables)
    assert tuple(int(part) for part in found) == reference(endpoints, radix)


@given(st.integers(1, 100_000), st.sampled_from([32, 36, 40, 64, 128]))
def test_all_endpoints_have_a_port_and_the_way_up_as_many(endpoints: int, radix: int) -> None:
    tree = fat_tree(endpoints, radix)
    if tree.spines == 0:
        assert tree.leaves == 1
        assert endpoints <= radix
    else:
        assert tree.leaves * (radix // 2) >= endpoints
        ports_above = (tree.cores if tree.cores else tree.spines) * radix
        assert ports_above >= tree.leaves * (radix // 2)


@pytest.mark.parametrize(("endpoints", "switches"), [(1024, 48), (2048, 96), (32768, 2560)])
def test_published_networks_of_64_port_switches(endpoints: int, switches: int) -> None:
    """All tiers, as the sheet that the price of NDR is from counts them."""
    assert fat_tree(endpoints, 64).switches == switches


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
