"""dse.model.racks"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.model.bill import bill
from dse.model.power import draw
from dse.model.racks import Rack, racks
from tests.model.test_power import RADIX, WATTS, WHOLE

RACK = Rack(limit_w=12_000.0, units=42.0, node_units=4.0, server_units=4.0)


def filled(gpus: float, per_node: float, rack: Rack = RACK, servers: float = 0) -> float:
    parts = bill(gpus, per_node, 1, servers, RADIX, False)
    return float(racks(parts, draw(parts, RADIX, WATTS), rack))


def test_one_node_fills_one_rack() -> None:
    assert filled(1, 1) == filled(8, 8) == 1


def test_units_bind_where_nodes_draw_little() -> None:
    # Ten of 4 units fit into 42; eleven do not, and the switch takes one more.
    strong = replace(RACK, limit_w=40_000.0)
    assert filled(10 * 8, 8, strong) == 1
    assert filled(11 * 8, 8, strong) == 2


def test_watts_bind_where_a_rack_feeds_little() -> None:
    # A node of 1.2 kW: two to a rack of 3 kW, and the network's 0.2 kW find room.
    rack = replace(RACK, limit_w=3000.0)
    assert filled(2 * 8, 8, rack) == 1
    assert filled(4 * 8, 8, rack) == 2
    assert filled(5 * 8, 8, rack) == 3


def test_nodes_above_ten_kilowatts_get_racks_that_feed_more() -> None:
    # Eight machines of 10.2 kW: two to a rack of 27 kW, three to one of 40.
    parts = bill(8 * 8, 8, 8, 0, RADIX, True, 8)
    usual = replace(RACK, limit_w=27_000.0, node_units=8.0)
    dense = replace(usual, dense_w=40_000.0)
    found = [float(racks(parts, draw(parts, RADIX, WHOLE), one)) for one in (usual, dense)]
    assert found == [4, 3]
    assert filled(40 * 8, 8, dense) == filled(40 * 8, 8, usual), "nodes of 1.2 kW"


def test_a_node_is_never_split() -> None:
    parts = bill(3 * 8, 8, 8, 0, RADIX, True, 8)
    drawn = draw(parts, RADIX, WHOLE)
    small = replace(RACK, limit_w=8000.0, node_units=8.0)
    assert float(racks(parts, drawn, small)) == 4, "three nodes, and a switch that finds no watts"
    # Four machines of 10.2 kW and 8 units, as their maker places them.
    parts = bill(4 * 8, 8, 8, 0, RADIX, True, 8)
    large = replace(RACK, limit_w=41_200.0, node_units=8.0)
    assert float(racks(parts, draw(parts, RADIX, WHOLE), large)) == 1


def test_servers_take_room() -> None:
    assert filled(8 * 8, 8) == 1
    assert filled(8 * 8, 8, servers=8) == 2


def test_unknown_watts_leave_the_count_unknown() -> None:
    parts = bill(8, 8, 1, 0, RADIX, False)
    assert np.isnan(racks(parts, draw(parts, RADIX, replace(WATTS, accelerator=np.nan)), RACK))


@given(st.integers(1, 3000), st.sampled_from([1, 8]), st.floats(500, 60_000))
def test_racks_hold_all_watts_and_units_and_no_fewer_would(
    nodes: int, per_node: int, limit: float
) -> None:
    rack = replace(RACK, limit_w=limit)
    parts = bill(nodes * per_node, per_node, 1, 0, RADIX, False)
    drawn = draw(parts, RADIX, WATTS)
    found = float(racks(parts, drawn, rack))
    node_w = float(drawn.accelerators_w + drawn.hosts_w) / nodes
    feeds = max(limit, node_w)
    together = min(math.floor(feeds / node_w * (1 + 1e-9)), 10)
    units = nodes * 4 + float(parts.tree.switches)
    least = [math.ceil(nodes / together), math.ceil(float(drawn.housed_w) / feeds * (1 - 1e-9)),
             math.ceil(units / 42 * (1 - 1e-9))]  # fmt: skip
    assert found == max(least)


@pytest.mark.parametrize("servers", [0, 3])
def test_more_nodes_never_fill_fewer_racks(servers: int) -> None:
    counts = [filled(nodes * 8, 8, servers=servers) for nodes in range(1, 200)]
    assert counts == sorted(counts)
