"""dse.model.overlap"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.model import overlap


def events(ready: list[float], cost: list[float]) -> float:
    """The stream as it happens: a bucket starts when it is ready and the one before is done."""
    end = 0.0
    for start, seconds in zip(ready, cost, strict=True):
        end = max(end, start) + seconds
    return end


@given(st.lists(st.tuples(st.floats(0, 10), st.floats(0, 10)), min_size=1, max_size=30))
def test_last_end_matches_the_event_loop(buckets: list[tuple[float, float]]) -> None:
    ready = sorted(start for start, _ in buckets)
    cost = [seconds for _, seconds in buckets]
    end, total = overlap.last_end_s([np.array(r) for r in ready], [np.array(c) for c in cost])
    assert float(end) == pytest.approx(events(ready, cost))
    assert float(total) == pytest.approx(sum(cost))


@given(
    st.lists(st.floats(0, 1e8), min_size=1, max_size=60),
    st.floats(1, 1e8),
)
def test_buckets_hold_every_byte_in_backward_order(sizes: list[float], cap: float) -> None:
    buckets = overlap.fuse(np.array(sizes), cap)
    assert sum(bucket.message_bytes for bucket in buckets) == pytest.approx(sum(sizes))
    firsts = [bucket.first for bucket in buckets]
    assert firsts == sorted(firsts, reverse=True)
    for bucket in buckets[:-1]:
        assert bucket.message_bytes >= cap


def test_a_bucket_is_ready_when_its_earliest_layer_is_done() -> None:
    layer_done = np.array([15.0, 14.0, 12.0, 8.0])  # the backward pass takes 8, 4, 2, 1
    buckets = overlap.fuse(np.array([10.0, 0.0, 10.0, 10.0]), 20.0)
    assert [b.first for b in buckets] == [2, 0]
    ready = overlap.ready_s(buckets, layer_done)
    assert [float(r) for r in ready] == [12.0, 15.0]
