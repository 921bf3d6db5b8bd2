"""dse.model.aggregation.by_layout: every point takes the price of its own part."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from dse.model.aggregation.algorithms import ALGORITHMS
from dse.model.aggregation.base import Cluster, Gradients, Layout
from dse.model.aggregation.by_layout import ByLayout
from dse.model.aggregation.composed import Composed, Software
from dse.model.arrays import Array
from dse.model.links import Link, StepCost
from tests.model.works import gradients_of

SLOW, FAST = (StepCost(2e-6 * factor, (1e-10 * factor,)) for factor in (3.0, 1.0))
NODES = Cluster(
    np.array([4.0, 8.0, 16.0, 32.0]), np.array([4.0, 4.0, 4.0, 4.0]), Link(1e-7, 5e10),
    Link(5e-6, 1e10),
)  # fmt: skip
GRADIENTS = gradients_of([1e6, 3e6])
PARTS = (
    Composed(ALGORITHMS["tree"], Software(SLOW, SLOW)),
    Composed(ALGORITHMS["ring"], Software(FAST, FAST)),
)


def of_many(layout: Layout) -> NDArray[np.intp]:
    return np.asarray(layout.gpus > 8).astype(np.intp)


def alone(gpus: float) -> Cluster:
    return Cluster(np.array(gpus), np.array(4.0), NODES.inside, NODES.across)


def busy_s(model: ByLayout | Composed, layout: Cluster) -> Array:
    done_s = np.zeros((2, *np.shape(layout.gpus)))
    return np.asarray(model.summed(GRADIENTS, done_s, layout).busy_s)


def test_every_point_has_the_price_of_its_part() -> None:
    found = busy_s(ByLayout(PARTS, of_many), NODES)
    each = [busy_s(part, NODES) for part in PARTS]
    assert found.tolist() == [*each[0][:2], *each[1][2:]]
    assert (each[0] != each[1]).all()


def test_a_part_that_no_point_takes_is_not_asked() -> None:
    class Refusing(Composed):
        def message_s(self, *_: Array | Gradients | Layout) -> Array:
            raise AssertionError("asked")

    refusing = Refusing(PARTS[1].algorithm, PARTS[1].software)
    model = ByLayout((PARTS[0], refusing), of_many)
    few, many = (Cluster(np.array(counts), np.array([4.0, 4.0]), NODES.inside, NODES.across)
                 for counts in ([4.0, 8.0], [8.0, 16.0]))  # fmt: skip
    assert busy_s(model, few).tolist() == busy_s(PARTS[0], few).tolist()
    with pytest.raises(AssertionError, match="asked"):
        busy_s(model, many)


def test_it_has_all_axes_and_algorithms_and_a_point_those_of_its_part() -> None:
    model = ByLayout(PARTS, of_many)
    assert model.axes == PARTS[0].axes | PARTS[1].axes
    assert set(model.algorithms) == {"tree", "ring"}
    for gpus, name in ((8.0, "tree"), (16.0, "ring")):
        (choice,) = model.choices(GRADIENTS, alone(gpus))
        assert choice.algorithm == name
    assert model.choices(GRADIENTS, alone(1.0)) == ()
    assert np.all(model.priced(NODES))
    assert model.bounded(GRADIENTS, NODES)
    unknown = Cluster(NODES.gpus, NODES.gpus_per_node, NODES.inside, Link(np.nan, 1e10))
    assert not model.bounded(GRADIENTS, unknown)
