"""dse.model.power: the watts of five clusters by hand, and what must hold of any."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.model.bill import bill
from dse.model.power import Draw, UnitWatts, draw

# 70 W accelerators in hosts of 500 W, on a network of cards of 9 W, ports of 3 W, cables of 2 W.
WATTS = UnitWatts(
    accelerator=70.0, idle_share=0.1, host=500.0, host_share=0.25, server=500.0, nic=9.0,
    switch_port=3.0, cable=2.0, pue=1.5,
)  # fmt: skip
# A machine of 10.2 kW with eight accelerators of 700 W and its cards.
WHOLE = replace(WATTS, accelerator=700.0, host=10_200.0 - 8 * 700.0, host_share=0.0)
RADIX = 64


def drawn(
    gpus: float, per_node: float, watts: UnitWatts = WATTS, *, cards: bool = False, nics: float = 1,
    servers: float = 0, sold_in: float = 1,
) -> Draw:  # fmt: skip
    return draw(bill(gpus, per_node, nics, servers, RADIX, cards, sold_in), RADIX, watts)


def parts(found: Draw) -> list[float]:
    return [float(found.accelerators_w), float(found.hosts_w), float(found.servers_w),
            float(found.network_w), float(found.cooling_w)]  # fmt: skip


def test_eight_accelerators_in_one_node() -> None:
    # 8 x 70; 500 + 0.25 x 560; no network; half as much again to cool.
    assert parts(drawn(8, 8)) == pytest.approx([560, 640, 0, 0, 600])
    assert float(drawn(8, 8).total_w) == pytest.approx(1800)


def test_eight_accelerators_on_eight_nodes() -> None:
    # 8 hosts of 500 and 0.25 x 560; 8 cards, a switch of 64 ports, 8 cables.
    network = 8 * 9 + 64 * 3 + 8 * 2
    assert parts(drawn(8, 1)) == pytest.approx([560, 4140, 0, network, (4700 + network) / 2])
    assert float(drawn(8, 1).total_w) == pytest.approx(7470)


def test_a_single_accelerator() -> None:
    assert parts(drawn(1, 1)) == pytest.approx([70, 517.5, 0, 0, 293.75])


def test_machines_sold_whole_draw_what_their_maker_says() -> None:
    # Two of 10.2 kW, eight ports each: one switch of 64 ports, 16 cables, no cards on the bill.
    network = 64 * 3 + 16 * 2
    found = drawn(16, 8, WHOLE, cards=True, nics=8, sold_in=8)
    assert float(found.housed_w) == pytest.approx(2 * 10_200 + network)
    alone = drawn(8, 8, WHOLE, cards=True, nics=8, sold_in=8)
    assert float(alone.housed_w) == pytest.approx(10_200)


def test_servers_and_idle_accelerators() -> None:
    # 4 nodes with 2 accelerators that train, sold by four: 8 idle at a tenth; 2 servers with a
    # card each, so 6 endpoints on one switch.
    found = drawn(8, 2, servers=2, sold_in=4)
    accelerators = (8 + 8 * 0.1) * 70
    network = 6 * 9 + 64 * 3 + 6 * 2
    assert parts(found)[:4] == pytest.approx(
        [accelerators, 4 * 500 + 0.25 * accelerators, 2 * 500, network]
    )


def test_what_is_not_there_draws_nothing_even_if_its_watts_are_unknown() -> None:
    unknown = replace(WATTS, nic=np.nan, switch_port=np.nan, cable=np.nan, server=np.nan)
    assert float(drawn(8, 8, unknown).total_w) == float(drawn(8, 8).total_w)
    assert np.isnan(drawn(16, 8, unknown).total_w)


COUNTS = st.integers(1, 5000)


@given(COUNTS, st.integers(1, 16), st.integers(0, 8), st.sampled_from([1, 4, 8]))
def test_arrays_are_as_each_by_itself(
    nodes: int, per_node: int, servers: int, sold_in: int
) -> None:
    def slow(gpus: int) -> float:
        several = gpus > per_node
        boards = -(-per_node // sold_in) * (gpus // per_node)
        idle = boards * sold_in - gpus
        tree = bill(gpus, per_node, 1, servers, RADIX, False).tree
        accelerators = gpus * 70 + idle * 70 * 0.1
        hosts = (gpus // per_node) * 500 + accelerators * 0.25
        cards = (gpus // per_node + servers) * 9 if several else 0
        network = cards + float(tree.switches) * 64 * 3 + float(tree.links) * 2
        return (accelerators + hosts + (servers * 500 if several else 0) + network) * 1.5

    gpus = np.array([1, nodes, 2 * nodes]) * per_node
    found = drawn(gpus, per_node, servers=servers, sold_in=sold_in).total_w  # type: ignore[arg-type]
    assert found == pytest.approx([slow(int(many)) for many in gpus])


@given(COUNTS, st.integers(1, 16))
def test_more_nodes_never_draw_less(nodes: int, per_node: int) -> None:
    fewer, more = (float(drawn(n * per_node, per_node).total_w) for n in (nodes, nodes + 1))
    assert more > fewer


@given(st.integers(1, 2000), st.integers(2, 16))
def test_the_same_accelerators_on_more_nodes_draw_more(nodes: int, per_node: int) -> None:
    gpus = nodes * per_node
    assert float(drawn(gpus, 1).total_w) > float(drawn(gpus, per_node).total_w)


@given(COUNTS, st.floats(1.0, 3.0))
def test_cooling_is_what_pue_adds(gpus: int, pue: float) -> None:
    found = drawn(gpus, 8, replace(WATTS, pue=pue))
    assert float(found.total_w) == pytest.approx(float(found.housed_w) * pue)
    assert float(found.cooling_w) >= 0
