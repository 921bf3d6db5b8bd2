"""dse.model.aggregation.nccl against its formulas written out one number at a time."""

from __future__ import annotations

from dataclasses import replace
from math import ceil, inf, log2
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.model.aggregation.base import Cluster
from dse.model.aggregation.nccl import NCCL_ALGORITHMS, NcclAllreduce
from dse.model.aggregation.nccl_tuner import GENERATIONS, PROTOCOLS
from dse.model.links import Link
from tests.model.works import gradients_of

US, GB, PB = 1e-6, 1e9, 1e15
BASE = {"tree": (6.8, 14.0, 8.4), "ring": (6.6, 14.0, 8.4)}
HARDWARE = {
    "NVLINK": {"tree": (0.6, 1.25, 4.0), "ring": (0.6, 1.9, 3.4)},
    "PCI": {"tree": (1.0, 1.9, 4.0), "ring": (1.0, 2.5, 5.7)},
    "NET": {"tree": (5.0, 8.5, 14.0), "ring": (2.7, 4.0, 14.0)},
}
MACHINE = {"pascal": 0, "volta": 0, "ampere": 1, "hopper": 2, "blackwell": 3}
OWN_LINK = {"pascal": 18.0, "volta": 20.0, "ampere": 20.0, "hopper": 20.6, "blackwell": 40.1}
LL_ROWS = ((39.0, 39.0, 20.4), (87.7, 22.5, 19.0), (141.0, 45.0, 35.0), (282.0, 90.0, 70.0))
RING_LL128 = (20.0, 20.0, 36.7, 40.0)
TREE_LL128 = ((20.0, 20.0, 20.0), (20.0, 20.0, 20.0), (36.7, 36.7, 29.0), (55.6, 31.67, 20.0))
TREE = ((26.5, 18.5, 10.0), (24.0, 23.6, 17.8), (38.7, 41.4, 36.0), (70.0, 42.8, 24.0))
STEP = {"LL": 32 * 1024, "LL128": 576_000, "Simple": 512 * 1024}
GRADIENTS = gradients_of([1e6])


class Spot:
    """One layout, by plain numbers: GPUs that reach (inside, between) bytes/s."""

    def __init__(
        self, n: int, g: int, gpu: str, nvlink: bool, speeds: tuple[float, float], wire_s: float,
        direct: bool = True, amd: bool = False, cards: float = 1.0,
    ) -> None:  # fmt: skip
        self.n, self.nodes, self.local = n, ceil(n / g), min(n, g)
        self.gpu, self.nvlink, self.wire_s, self.direct = gpu, nvlink, wire_s, direct
        self.amd, (self.inside, self.between) = amd, speeds
        self.row, self.column = MACHINE[gpu], min(self.nodes, 3) - 1
        self.link, self.cards = (OWN_LINK[gpu] if nvlink else 12.0) * GB, cards
        self.slower = {"pascal": 1.34, "volta": 1.29, "ampere": 1.4}.get(gpu, 1.0)

    @property
    def bus(self) -> float:
        if self.nodes == 1:
            return self.inside
        return self.between if self.local == 1 else min(self.inside, self.between)

    @property
    def channels(self) -> float:
        if self.nodes == 1:
            return max(2, ceil(self.inside / self.link))
        return max(2, self.cards * ceil(self.between / self.cards / 25e9))

    def base_s(self, how: str, protocol: str) -> float:
        return BASE[how][PROTOCOLS.index(protocol)] * US * self.slower

    def may(self, protocol: str) -> bool:
        near = (self.nvlink or self.local == 1) and (self.direct or self.nodes == 1)
        return protocol != "LL128" or (self.gpu != "pascal" and near)

    def under_way(self, m: float, step: float, s_per_byte: float) -> float:
        """One step on every channel that a tier keeps busy: two for a link, 4 to 32."""
        busy = 2 / (s_per_byte * self.link) if s_per_byte else 32
        return min(m, min(max(busy, 4), 32) * step)

    def hop_s(self, how: str, protocol: str) -> float:
        at = PROTOCOLS.index(protocol)
        own = HARDWARE["NVLINK" if self.nvlink else "PCI"][how][at] * self.slower
        if how == "ring" and self.nodes > 1:
            own = max(own, (3.0 if protocol == "Simple" else 1.0) * (2 if self.amd else 1))
        return own * US

    def across_s(self, how: str, protocol: str) -> float:
        own = HARDWARE["NET"]["tree" if self.local == 1 else how][PROTOCOLS.index(protocol)]
        return own * US + self.wire_s * (2 if protocol == "Simple" else 1)

    def rate(self, how: str, protocol: str, bus: float) -> float:
        ll = LL_ROWS[self.row if self.nodes == 1 else int(self.amd)][self.column] * GB
        if how == "ring":
            return {"LL": min(bus / 2, ll), "Simple": bus,
                    "LL128": min(0.92 * bus, self.channels * RING_LL128[self.row] * GB),
                    }[protocol]  # fmt: skip
        wide = min(0.92 * bus, self.channels * TREE[self.row][self.column] * GB)
        share = 7 / 9 if self.nodes == 1 else 120 / 128
        cap = self.channels * TREE_LL128[self.row][self.column] * GB
        return {"LL": min(wide / 3.8, ll), "LL128": min(wide * share, cap), "Simple": wide}[
            protocol
        ]


def ring_s(spot: Spot, m: float) -> float:
    """Hop by hop: a share goes twice round all nodes, less the last two hops."""
    steps = 2 * (spot.n - 1)
    crossings = 0 if spot.nodes == 1 else min(2 * spot.nodes, steps)
    best = inf
    for protocol in filter(spot.may, PROTOCOLS):
        total = spot.base_s("ring", protocol)
        for step in range(steps):
            crosses = step < crossings
            total += spot.across_s("ring", protocol) if crosses else spot.hop_s("ring", protocol)
        if protocol == "Simple" and spot.nodes > 1 and m / (spot.channels * spot.n) >= 64:
            total *= 1.9 if spot.gpu in ("pascal", "volta") else 1.4
        total += steps * m / spot.n / spot.rate("ring", protocol, spot.bus)
        best = min(best, total)
    return best


def tree_s(spot: Spot, m: float) -> float:
    levels = 0 if spot.nodes == 1 else ceil(log2(spot.nodes))
    sent = 1 if spot.nodes == 2 else 2
    best = inf
    for protocol in filter(spot.may, PROTOCOLS):
        inside = across = 0.0
        if spot.local > 1:
            inside = 1 / spot.rate("tree", protocol, spot.inside)
        if spot.nodes > 1:
            pattern = 0.85 if spot.local == 1 else 1.0
            across = 2 / sent / spot.rate("tree", protocol, spot.between * 2 / sent) / pattern
        slowest = max(2 * inside, sent * across)
        first = 2 * (spot.local - 1) * inside * spot.under_way(m, STEP[protocol], inside)
        first += 2 * levels * across * spot.under_way(m, STEP[protocol], across)
        chunk = spot.under_way(m, STEP[protocol], max(inside, across))
        total = spot.base_s("tree", protocol)
        total += 2 * (spot.local - 1) * spot.hop_s("tree", protocol)
        total += 2 * levels * (spot.across_s("tree", protocol) if levels else 0.0)
        best = min(best, total + max(first + (m - chunk) * slowest, m * slowest))
    return min(best, nvls_s(spot, m))


def nvls_s(spot: Spot, m: float) -> float:
    if spot.gpu not in ("hopper", "blackwell") or not spot.nvlink or spot.local < 5:
        return inf
    levels = 0 if spot.nodes == 1 else ceil(log2(spot.nodes))
    inside = 1.2 * (spot.local + 1) / spot.local / spot.inside
    across = 1 / spot.between if levels else 0.0
    step = STEP["Simple"]
    slowest = max(inside, (1 if spot.nodes == 2 else 2) * across)
    first = 2 * 1.2 / spot.inside * spot.under_way(m, step, inside)
    first += 2 * levels * across * spot.under_way(m, step, across)
    chunk = spot.under_way(m, step, max(inside, across))
    latency = 25 * US + 2 * levels * (20.9 * US + 2 * spot.wire_s)
    return latency + max(first + (m - chunk) * slowest, m * slowest)


def hierarchical_s(spot: Spot, m: float) -> float:
    total = 0.0
    if spot.local > 1:
        node = Spot(spot.local, spot.local, spot.gpu, spot.nvlink, (spot.inside, 1.0), 0.0)
        total += 2 * min(
            spot.base_s("ring", protocol)
            + (spot.local - 1) * (node.hop_s("ring", protocol)
                                  + m / spot.local / node.rate("ring", protocol, spot.inside))
            for protocol in filter(node.may, PROTOCOLS)
        )  # fmt: skip
    if spot.nodes > 1:
        speeds = (spot.inside, spot.between / spot.local)
        rail = Spot(spot.nodes, 1, spot.gpu, spot.nvlink, speeds, spot.wire_s, spot.direct,
                    spot.amd, spot.cards)  # fmt: skip
        total += min(ring_s(rail, m / spot.local), tree_s(rail, m / spot.local))
    return total


SCALAR = {"ring": ring_s, "tree": tree_s, "hierarchical": hierarchical_s}


def layout(
    n: Any,
    g: Any,
    gpu: str,
    nvlink: bool,
    speeds: tuple[Any, Any],
    wire_s: Any,
    rails: float = 1.0,
    bridged: bool = False,
    amd: bool = False,
) -> Cluster:
    return Cluster(
        np.asarray(n, dtype=np.float64), np.asarray(g, dtype=np.float64), Link(0.0, speeds[0]),
        Link(wire_s, np.asarray(speeds[1]) / rails), rails,
        generation=np.full((), GENERATIONS.index(gpu)), own_links=np.full((), nvlink),
        through_host=np.full((), bridged), amd_host=np.full((), amd),
    )  # fmt: skip


def message_s(name: str, m: Any, there: Cluster, sockets: float = np.inf) -> Any:
    there = replace(there, socket_bytes_per_s=sockets)
    return NcclAllreduce(name).message_s(np.asarray(m), GRADIENTS, there)


SIZES = st.sampled_from([0.0, 1.0, 4096.0, 65536.0, 2.0**20, 2.0**25, PB]) | st.floats(1, 1e12)
SPEEDS = st.tuples(st.floats(1e9, 1e12), st.floats(1e8, 1e12))


@given(
    n=st.integers(1, 40) | st.sampled_from([64, 1000]), g=st.integers(1, 12), m=SIZES,
    gpu=st.sampled_from(GENERATIONS), nvlink=st.booleans(), speeds=SPEEDS,
    wire_s=st.sampled_from([0.0, 2e-6, 75e-6]), rails=st.sampled_from([1.0, 4.0]),
    copied=st.booleans(), bridged=st.booleans(), amd=st.booleans(),
)  # fmt: skip
@pytest.mark.parametrize("name", SCALAR)
def test_every_algorithm_is_its_scalar_formula(
    name: str, n: int, g: int, m: float, gpu: str, nvlink: bool, speeds: tuple[float, float],
    wire_s: float, rails: float, copied: bool, bridged: bool, amd: bool,
) -> None:  # fmt: skip
    there = layout(n, g, gpu, nvlink, speeds, wire_s, rails, bridged, amd)
    found = float(message_s(name, m, there, 1e15 if copied else np.inf))
    spot = Spot(n, g, gpu, nvlink, speeds, wire_s, not (copied or bridged), amd, rails)
    slow = SCALAR[name](spot, m) if n > 1 else 0.0
    assert found == pytest.approx(slow, rel=1e-9)


def test_every_algorithm_has_a_scalar_formula() -> None:
    assert set(SCALAR) == set(NCCL_ALGORITHMS)


A100 = layout(16, 8, "ampere", True, (234e9, 45e9), 1e-6)


def test_only_twice_the_nodes_of_a_rings_steps_pay_for_the_network() -> None:
    """28 hops inside and 4 across two nodes of 16 GPUs: not 30 across, as message after message."""
    slower = replace(A100, across=Link(11e-6, 45e9))
    more = float(message_s("ring", 1.0, slower) - message_s("ring", 1.0, A100))
    assert more == pytest.approx(4 * 10e-6)
    assert float(message_s("ring", 1.0, A100)) < 60e-6


def test_a_tree_carries_a_message_once_between_two_nodes_and_twice_between_more() -> None:
    fast = replace(A100, inside=Link(0.0, 1e14), across=Link(1e-6, 45e9 / 4), rails=4.0)
    two, four = (
        float(message_s("tree", PB, replace(fast, gpus=np.array(n)))) for n in (16.0, 32.0)
    )
    assert four / two == pytest.approx(2.0, rel=1e-6)
    assert two == pytest.approx(PB / (0.92 * 45e9), rel=1e-6)
    fewer = replace(fast, across=Link(1e-6, 45e9 / 2), rails=2.0, gpus=np.array(16.0))
    assert message_s("tree", PB, fewer) > message_s("ring", PB, fewer)


def test_a_tree_is_not_pipelined_below_a_chunk_on_every_channel() -> None:
    """Up and then down between two GPUs; more than four channels' chunks do both at once."""
    pair = layout(2, 1, "pascal", True, (np.nan, 10e9), 0.0)
    s_per_byte = 1 / (0.92 * 0.85 * 10e9)
    for size, passes in ((1e6, 2), (1e9, 1)):
        less, more = (float(message_s("tree", m, pair)) for m in (size, size + 1e6))
        assert more - less == pytest.approx(passes * 1e6 * s_per_byte, rel=1e-6)


def test_eight_h100_add_in_their_switch() -> None:
    """Bus bandwidth beyond what a link carries: 473 GB/s were measured, 366 of them by a ring."""
    node = layout(8, 8, "hopper", True, (366e9, 1.0), 0.0)
    ring, tree = (2 * 7 / 8 * PB / float(message_s(name, PB, node)) for name in ("ring", "tree"))
    assert ring == pytest.approx(366e9, rel=1e-3)
    assert tree == pytest.approx(473e9, rel=0.01)
    four = layout(4, 4, "hopper", True, (366e9, 1.0), 0.0)
    assert message_s("tree", PB, four) > message_s("ring", PB, four)


def test_what_a_framework_composes_pays_for_three_operations() -> None:
    """A byte among 16 GPUs: more than NCCL's tree, which is one operation."""
    composed, tree = (float(message_s(name, 1.0, A100)) for name in ("hierarchical", "tree"))
    assert composed > tree
    one_node = replace(A100, gpus=np.array(8.0))
    again, ring = (float(message_s(name, 1.0, one_node)) for name in ("hierarchical", "ring"))
    assert again == pytest.approx(ring + 1.4 * 6.6e-6)  # one more base latency


def test_a_copy_beside_the_card_bounds_the_network_alone() -> None:
    half = replace(A100, across=Link(1e-6, 22.5e9))
    for sizes in (1.0, 1e6, PB):
        copied = message_s("ring", sizes, half, 45e9)
        assert message_s("ring", sizes, A100, 22.5e9) == copied
        assert copied >= message_s("ring", sizes, half)  # nor does LL128 go through the host
    one = replace(A100, gpus=np.array(8.0))
    assert message_s("ring", PB, one, 1e9) == message_s("ring", PB, one)


@pytest.mark.parametrize("name", NCCL_ALGORITHMS)
def test_a_node_of_one_gpu_needs_no_link_inside(name: str) -> None:
    there = layout(8, 1, "ampere", True, (np.nan, 10e9), 1e-6)
    assert np.isfinite(message_s(name, 1e6, there))
    assert not NcclAllreduce(name).bounded(GRADIENTS, there)
