"""dse.model.fusion"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.model import fusion
from dse.model.arrays import Array
from dse.model.fusion import Fusion, fused

ALPHA_S, BETA = 0.01, 0.001


def cost(size: Array) -> Array:
    return np.asarray(ALPHA_S + BETA * size)


def loop(sizes: list[float], ready: list[float], buffer: float, cycle: float, agree: float):
    """The background loop as it happens, tensor by tensor: (end, busy, messages)."""
    now = busy = 0.0
    messages, sent, tick = 0, 0, 0.0
    while sent < len(sizes):
        while tick < now or ready[sent] > tick:
            tick = max(tick + cycle, now) if cycle > 0 else max(now, ready[sent])
        now, seen = tick + agree, sent
        busy += agree
        while seen < len(sizes) and ready[seen] <= tick:
            seen += 1
        while sent < seen:
            held, count = sizes[sent], 1
            while sent + count < seen and held + sizes[sent + count] <= buffer:
                held, count = held + sizes[sent + count], count + 1
            now, busy = now + ALPHA_S + BETA * held, busy + ALPHA_S + BETA * held
            messages, sent = messages + 1, sent + count
        tick = max(tick + cycle, now)
    return now, busy, messages


@given(
    st.lists(st.tuples(st.integers(1, 50), st.integers(0, 40)), min_size=1, max_size=25),
    st.integers(0, 120),
    st.sampled_from([0.0, 0.5, 3.0]),
    st.sampled_from([0.0, 0.25]),
)
def test_it_is_the_loop_of_every_point(
    tensors: list[tuple[int, int]], buffer: int, cycle: float, agree: float
) -> None:
    sizes = [float(size) for size, _ in tensors]
    ready = np.sort([float(at) for _, at in tensors])
    several = np.stack([ready, ready / 4], axis=1)
    found = fused(np.array(sizes), several, Fusion(buffer, cycle, agree), cost)
    for point in range(2):
        end, busy, messages = loop(sizes, list(several[:, point]), buffer, cycle, agree)
        assert found.end_s[point] == pytest.approx(end)
        assert found.busy_s[point] == pytest.approx(busy)
        assert found.messages[point] == messages


def test_a_buffer_saves_messages_and_a_tick_waits() -> None:
    sizes, ready = np.full(8, 10.0), np.arange(8.0)[:, None]
    alone = fused(sizes, ready, Fusion(0, 0), cost)
    together = fused(sizes, ready, Fusion(1000, 100.0), cost)
    assert alone.messages[0] == 8
    assert alone.end_s[0] == pytest.approx(7 + cost(np.array(10.0)))
    assert together.messages[0] == 2  # what is there at the first tick, and the rest at the second
    assert together.end_s[0] == pytest.approx(100 + cost(np.array(70.0)))
    assert together.busy_s[0] < alone.busy_s[0]


def test_a_tensor_beyond_the_buffer_goes_alone() -> None:
    found = fused(np.array([5.0, 500.0, 5.0, 5.0]), np.zeros((4, 1)), Fusion(20, 1.0), cost)
    assert found.messages[0] == 3
    assert found.busy_s[0] == pytest.approx(3 * ALPHA_S + 515 * BETA)


def test_without_tensors_nothing_is_sent() -> None:
    found = fused(np.zeros(0), np.zeros((0, 2)), Fusion(40.0, 0.7, phases=4), cost)
    for part in (found.end_s, found.busy_s, found.messages):
        np.testing.assert_array_equal(part, [0, 0])


@pytest.mark.parametrize("kept", ["KEPT", "AT_FIRST", ""])
def test_buffers_and_cycles_of_any_shape_are_those_of_one(
    kept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kept:  # prices are then looked up later, or not at all
        monkeypatch.setattr(fusion, kept, 0)
    sizes, ready = np.geomspace(1, 500, 30), np.linspace(0, 4, 30)
    buffers, cycles = np.array([0.0, 40.0, 1e4])[:, None, None], np.array([0.0, 0.7])[:, None]
    factor = np.array([1.0, 3.0])

    def slower(factor: float | Array) -> Callable[[Array], Array]:
        return lambda size: np.asarray(cost(size) * factor)

    found = fused(
        sizes, ready[:, None, None, None], Fusion(buffers, cycles), slower(factor), (3, 2, 2)
    )
    for i, j, k in np.ndindex(3, 2, 2):
        here = Fusion(float(buffers[i, 0, 0]), float(cycles[j, 0]))
        alone = fused(sizes, ready[:, None], here, slower(factor[k]))
        assert found.end_s[i, j, k] == alone.end_s[0]
        assert found.busy_s[i, j, k] == alone.busy_s[0]
        assert found.messages[i, j, k] == alone.messages[0]


@given(
    st.lists(st.tuples(st.integers(1, 50), st.integers(0, 40)), min_size=1, max_size=25),
    st.integers(0, 120),
    st.sampled_from([0.0, 0.5, 3.0]),
    st.floats(0.0, 1.0),
    st.floats(0.0, 1.0),
)
def test_with_phases_no_step_is_longer_for_faster_sums(
    tensors: list[tuple[int, int]], buffer: int, cycle: float, start: float, rate: float
) -> None:
    sizes = np.array([float(size) for size, _ in tensors])
    ready = np.sort([float(at) for _, at in tensors])[:, None]
    how = Fusion(buffer, cycle, phases=4)
    slow = fused(sizes, ready, how, cost)
    fast = fused(sizes, ready, how, lambda size: np.asarray(start * ALPHA_S + rate * BETA * size))
    assert fast.end_s[0] <= slow.end_s[0]


def test_phases_wait_half_a_cycle_in_the_mean() -> None:
    """Gradients that are all there before the first tick leave half a cycle later."""
    for phases in (1, 2, 5):
        found = fused(np.full(3, 10.0), np.zeros((3, 1)), Fusion(100, 6.0, phases=phases), cost)
        assert found.end_s[0] == pytest.approx(3.0 + cost(np.array(30.0)))
        assert found.messages[0] == 1


def test_a_busy_loop_looks_less_often_and_fuses_more() -> None:
    """Messages that take longer than a cycle do not leave one for each look."""
    sizes, ready = np.full(40, 1.0), np.arange(40.0)[:, None]
    how = Fusion(1000, 1.0, phases=4)
    found = fused(sizes, ready, how, lambda size: np.asarray(4.0 + 0.0 * size))
    assert found.messages[0] < 12
    assert found.end_s[0] < 60


@pytest.mark.parametrize("phases", [0, 4])
def test_a_point_that_never_computes_leaves_the_others_as_they_are(phases: int) -> None:
    """What an accelerator cannot do takes forever: its column is infinite."""
    sizes, ready = np.array([3.0, 4.0, 5.0]), np.array([1.0, 2.0, 7.0])
    both = np.stack([ready, np.full(3, np.inf), 2 * ready], axis=1)
    how = Fusion(7.0, 0.5, 0.1, phases)
    found = fused(sizes, both, how, cost)
    for column, alone in ((0, ready), (2, 2 * ready)):
        expected = fused(sizes, alone[:, np.newaxis], how, cost)
        assert found.end_s[column] == expected.end_s[0]
        assert found.messages[column] == expected.messages[0]
    assert found.end_s[1] == np.inf


ODD = [0.0, 1.0, 3.0, 7.5, np.inf, np.nan]


@given(
    st.lists(st.floats(0.5, 60.0), min_size=1, max_size=8),
    st.lists(
        st.tuples(  # of a point: when its last tensor is ready, its price, buffer and cycle
            st.sampled_from(ODD), st.sampled_from(ODD), st.sampled_from([0.0, 20.0, np.inf]),
            st.sampled_from([0.0, 0.3, 5.0]),
        ),
        min_size=2,
        max_size=6,
    ),
    st.sampled_from([0, 4]),
)  # fmt: skip
def test_a_point_ends_as_it_does_alone(
    sizes: list[float], points: list[tuple[float, float, float, float]], phases: int
) -> None:
    """In any company: unknown, infinite, zero, and twice the same."""
    tensors = np.array(sizes)
    last, factor, buffer, cycle = np.array([*points, points[0]]).T
    ready = np.linspace(0.25, 1, len(sizes))[:, np.newaxis] * last
    found = fused(
        tensors, ready, Fusion(buffer, cycle, 0.01, phases),
        lambda size: np.asarray(cost(size) * factor), last.shape,
    )  # fmt: skip
    for at in range(len(last)):
        alone = fused(
            tensors, ready[:, at : at + 1], Fusion(buffer[at], cycle[at], 0.01, phases),
            lambda size, at=at: np.asarray(cost(size) * factor[at]),
        )  # fmt: skip
        np.testing.assert_array_equal(found.end_s[at], alone.end_s[0])
        np.testing.assert_array_equal(found.busy_s[at], alone.busy_s[0])
        assert np.isfinite(found.end_s[at]) == (np.isfinite(last[at]) and np.isfinite(factor[at]))
