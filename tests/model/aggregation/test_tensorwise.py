"""dse.model.aggregation.tensorwise and dse.model.device_buffers"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dse.model.aggregation.algorithms import ALGORITHMS
from dse.model.aggregation.tensorwise import FASTER, Approach, allreduce_s, step_s, summed
from dse.model.device_buffers import PointerQueries, on_device, on_host, with_terms
from dse.model.fusion import Fusion
from dse.model.links import NO_WIRE, Link, Network, StepCost
from dse.model.passes import Compute
from dse.model.tensor_servers import Servers

SOFTWARE = StepCost(5e-6, (0.0,))
NETWORK = Network(SOFTWARE, SOFTWARE, NO_WIRE, Link(1e-6, 1e10))
SIZES = np.array([1e6, 2e6, 4e6, 8e6])
LAYERS = np.arange(4)
DONE_S = np.array([0.20, 0.15, 0.08, 0.02])[:, None]
PASSES = Compute(np.array([0.1]), np.array([0.2]), DONE_S)
SIXTEEN = np.array([16.0])
RING = (ALGORITHMS["ring"],)


def test_every_query_of_every_message_is_paid() -> None:
    asked = with_terms(NETWORK, PointerQueries(4, 1e-6), on_device(5e11, 0.0))
    cached = with_terms(NETWORK, PointerQueries(4, 5e-8), on_device(5e11, 0.0))
    for name, messages in (("ring", 30), ("recursive-doubling", 4), ("halving-doubling", 8)):
        saved = ALGORITHMS[name](16, 1, 1e6, asked) - ALGORITHMS[name](16, 1, 1e6, cached)
        assert saved == pytest.approx(messages * 4 * 0.95e-6)
    assert NETWORK.across(0.0) == pytest.approx(6e-6)  # the bare network is left as it was


def test_a_sum_on_the_accelerator_crosses_no_link() -> None:
    device, host = on_device(6e11, 1e-5), on_host(1 / 5e9, 1.2e10, 2e-5)
    assert device.s_per_byte == pytest.approx(3 / 6e11)
    assert host.s_per_byte == pytest.approx(1 / 5e9 + 2 / 1.2e10)
    assert on_host(1 / 5e9, np.inf, 0.0).s_per_byte == pytest.approx(1 / 5e9)
    slow = ALGORITHMS["ring"](8, 1, 1e8, with_terms(NETWORK, PointerQueries(), host))
    fast = ALGORITHMS["ring"](8, 1, 1e8, with_terms(NETWORK, PointerQueries(), device))
    assert slow - fast == pytest.approx(7 / 8 * 1e8 * (host.s_per_byte - device.s_per_byte))


def test_additions_start_as_often_as_something_arrives_to_be_added() -> None:
    ranks = np.array([1.0, 2.0, 8.0, 12.0])
    assert list(ALGORITHMS["ring"].additions(ranks)) == [0, 1, 7, 11]
    assert list(ALGORITHMS["halving-doubling"].additions(ranks)) == [0, 1, 3, 4]
    approach = Approach(RING, NETWORK, sum_start_s=1e-5)
    bare = ALGORITHMS["ring"](8, 1, 1e6, NETWORK)
    assert allreduce_s(approach, 8, 1, 1e6) == pytest.approx(bare + 7e-5)


def test_the_best_is_the_faster_of_the_two_at_every_size() -> None:
    sizes = 2.0 ** np.arange(2, 28)
    best = allreduce_s(Approach(FASTER, NETWORK), 16, 1, sizes)
    doubling, halving = (
        allreduce_s(Approach((ALGORITHMS[name],), NETWORK), 16, 1, sizes)
        for name in ("recursive-doubling", "halving-doubling")
    )
    assert np.array_equal(best, np.minimum(doubling, halving))
    assert best[0] == doubling[0] < halving[0]
    assert best[-1] == halving[-1] < doubling[-1]


def test_a_step_is_the_forward_pass_and_the_end_of_the_last_sum() -> None:
    slow = replace(NETWORK, inter=Link(0.0, 1e8))
    ring = step_s(Approach(RING, slow), SIZES, LAYERS, PASSES, SIXTEEN)[0]
    now = 0.0
    for size, ready in zip(SIZES[::-1], DONE_S[::-1, 0], strict=True):
        now = max(now, ready) + float(ALGORITHMS["ring"](16, 1, size, slow))
    assert ring == pytest.approx(0.1 + max(now, 0.2))


def test_fusion_pays_where_latency_does() -> None:
    far = replace(NETWORK, inter=Link(5e-3, 1e10))
    alone = Approach(RING, far)
    fused = replace(alone, fusion=Fusion(64e6, 5e-3))
    assert (
        step_s(fused, SIZES, LAYERS, PASSES, SIXTEEN)[0]
        < step_s(alone, SIZES, LAYERS, PASSES, SIXTEEN)[0]
    )


def test_tensors_are_ready_with_their_layer() -> None:
    """Two of the first layer, none of the second and last."""
    sizes, layers = np.array([1e6, 2e6, 4e6]), np.array([0, 0, 2])
    done_s = DONE_S[layers]
    each = Compute(PASSES.forward_s, PASSES.backward_s, done_s)
    for approach in (Approach(RING, NETWORK), Approach((), NETWORK, Servers(2, True, 4))):
        found = step_s(approach, sizes, layers, PASSES, SIXTEEN)
        assert found == pytest.approx(step_s(approach, sizes, np.arange(3), each, SIXTEEN))


def test_a_worker_sums_its_accelerators_before_it_sends() -> None:
    inside = replace(NETWORK, intra=Link(0.0, 1e9))
    servers = Approach((), inside, Servers(2, False, 4))
    ready = PASSES.layer_done_s
    eight, per_node = np.array([8.0]), np.array([4.0])
    end, busy = summed(servers, SIZES, ready, eight, per_node)
    local = 3 * 2 * (5e-6 + SIZES / 4 / 1e9)
    now, done = 0.0, np.zeros((4, 1))
    for at in range(3, -1, -1):
        now = max(now, ready[at, 0]) + local[at]
        done[at] = now
    two, two_busy = summed(servers, SIZES, done, np.array([2.0]))
    assert end == pytest.approx(two)
    assert busy == pytest.approx(two_busy + local.sum())
    one, _ = summed(servers, SIZES, ready, np.array([4.0]), per_node)
    assert one == pytest.approx(done[0])  # one node needs no server
