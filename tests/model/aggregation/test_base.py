"""dse.model.aggregation.base: messages one after the other, against a loop."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.model.aggregation.base import Bucketed, Cluster, Gradients, Layout, all_finite
from dse.model.arrays import Array
from dse.model.links import Link
from tests.model.works import gradients_of

EIGHT = Cluster(np.array(8.0))


@dataclass(frozen=True)
class Straight(Bucketed):
    """A microsecond a message and a nanosecond a byte, whatever the layout."""

    asked: list[tuple[int, ...]] = field(default_factory=list)
    axes = frozenset({"bucket"})

    def message_s(self, message_bytes: Array, gradients: Gradients, layout: Layout) -> Array:
        del gradients, layout
        self.asked.append(message_bytes.shape)
        return 1e-6 + 1e-9 * message_bytes

    def bounded(self, gradients: Gradients, layout: Layout) -> bool:
        del gradients, layout
        return True


@given(
    st.lists(st.integers(0, 10**7), min_size=1, max_size=12),
    st.floats(1, 1e8),
    st.booleans(),
)
def test_messages_follow_one_another(sizes: list[int], bucket: float, overlapped: bool) -> None:
    """A message leaves when its last gradient is there, and the one before is through."""
    gradients = gradients_of(np.array(sizes, dtype=float), 4.0, bucket, overlapped)
    done = np.linspace(0.05, 0.001, len(sizes))
    now = spent = held = 0.0
    pending = []
    for layer in reversed(range(len(sizes))):
        held += 4.0 * sizes[layer]
        if held >= bucket:
            pending.append((done[layer], held))
            held = 0.0
    if held:  # what is left waits for the first layer that has parameters
        pending.append((done[next(at for at, size in enumerate(sizes) if size)], held))
    for ready, size in pending:
        seconds = 1e-6 + 1e-9 * size
        now = (max(now, ready) if overlapped else now) + seconds
        spent += seconds
    end, busy = Straight().summed(gradients, done, EIGHT)
    assert float(end) == pytest.approx(now)
    assert float(busy) == pytest.approx(spent)
    assert float(gradients.message_bytes.sum()) == pytest.approx(4.0 * sum(sizes))


def test_every_distinct_size_is_priced_once() -> None:
    model = Straight()
    gradients = gradients_of([1e6] * 6 + [2e6], bucket_bytes=1.0)
    costs = model.bucket_s(gradients, EIGHT)
    assert model.asked == [(2,)]
    assert [float(cost) for cost in costs] == pytest.approx([8.001e-3] + [4.001e-3] * 6)
    wide = Cluster(np.ones((3, 1)), across=Link(0.0, np.ones((1, 2))))
    assert [cost.shape for cost in model.bucket_s(gradients, wide)] == [(1, 1)] * 7
    assert model.asked[1:] == [(2, 1, 1)]


def test_nothing_to_train_asks_for_no_price() -> None:
    model = Straight()
    end, busy = model.summed(gradients_of([0.0, 0.0]), np.ones(2), EIGHT)
    assert (float(end), float(busy), model.asked) == (0.0, 0.0, [])


def test_gradients_of_a_tensor_are_there_with_its_layer() -> None:
    tensors = Gradients(
        np.array([3.0, 5.0]), 2.0, 1.0, (), np.array([1.0, 2.0, 5.0]), np.array([0, 0, 1])
    )
    assert tensors.tensor_bytes.tolist() == [2.0, 4.0, 10.0]
    assert tensors.tensor_ready_s(np.array([0.2, 0.1])).tolist() == [0.2, 0.2, 0.1]
    plain = Gradients(
        tensors.layer_elements, 2.0, 1.0, (), tensors.tensor_elements, tensors.tensor_layer, False
    )
    assert plain.tensor_ready_s(np.array([0.2, 0.1])).tolist() == [0.0, 0.0, 0.0]


def test_the_rank_of_a_cluster_is_that_of_its_largest_array() -> None:
    assert EIGHT.rank == 0
    assert Cluster(np.ones(3)).rank == 1
    assert Cluster(np.ones(3), servers=np.ones((2, 1))).rank == 2
    assert Cluster(np.array(8.0), across=Link(0.0, np.ones((1, 1, 4)))).rank == 3


def test_finite_prices_are_known_and_not_negative() -> None:
    assert all_finite(0.0, np.array([1.0, 2.0]))
    for wrong in (np.nan, np.inf, -1.0, np.array([1.0, np.nan])):
        assert not all_finite(1.0, wrong)
