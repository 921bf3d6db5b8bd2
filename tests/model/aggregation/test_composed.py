"""dse.model.aggregation.composed: what a transport makes of an algorithm's steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dse.model.aggregation.algorithms import ALGORITHMS
from dse.model.aggregation.base import Cluster
from dse.model.aggregation.composed import Composed, Software
from dse.model.links import FREE, NO_WIRE, Link, Network, StepCost
from tests.model.works import gradients_of

COST = StepCost(2e-6, (1e-10,))
DEVICE = Software(COST, COST, 3e-10)
HOST = replace(DEVICE, reaches_device=False)
NODES = Cluster(
    np.array(16.0), np.array(4.0), Link(1e-7, 5e10), Link(5e-6, 1e10), 2.0, host_bytes_per_s=1.2e10
)
# One rank a node, so that nothing but the wire between nodes costs anything.
ALONE = replace(NODES, gpus_per_node=np.array(1.0), inside=NO_WIRE, across=Link(0.0, 1e10))
GRADIENTS = gradients_of([1e6])
SIZES = np.array([0.0, 1e3, 4e6])


def message_s(name: str, software: Software, layout: Cluster = NODES) -> np.ndarray:  # type: ignore[type-arg]
    return np.asarray(Composed(ALGORITHMS[name], software).message_s(SIZES, GRADIENTS, layout))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_message_takes_the_algorithms_own_steps(name: str) -> None:
    network = Network(COST, COST, NODES.inside, NODES.across, 2.0, False, 3e-10)
    steps = ALGORITHMS[name](16, 4, SIZES, network)
    assert message_s(name, DEVICE).tolist() == steps.tolist()


@pytest.mark.parametrize("name", ALGORITHMS)
def test_what_reaches_no_device_is_copied_out_and_back(name: str) -> None:
    """The ranks of a node then meet in host memory, over no wire."""
    bare = replace(NODES, inside=NO_WIRE)
    copies = 2 * SIZES / 1.2e10
    assert message_s(name, HOST) == pytest.approx(message_s(name, DEVICE, bare) + copies)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_fitted_cost_goes_with_the_nominal_speed_of_a_link(name: str) -> None:
    reached = replace(NODES, across=Link(5e-6, 0.8e10))
    fitted = replace(DEVICE, link_share=0.8)
    assert message_s(name, fitted, reached) == pytest.approx(message_s(name, DEVICE))


def test_one_flow_takes_all_cards_where_the_transport_can() -> None:
    wire = Software(FREE, FREE)
    one, both = (message_s("ring", replace(wire, multirail=m), ALONE) for m in (False, True))
    assert both == pytest.approx(one / 2)


def test_bytes_on_the_wire_are_those_of_the_crossing() -> None:
    wire = Software(FREE, FREE)
    once = message_s("ring", wire, ALONE)
    twice = message_s("ring", replace(wire, crossing=StepCost(0.0, (2.0,))), ALONE)
    assert twice == pytest.approx(2 * once)


def test_draws_ride_along_a_first_axis() -> None:
    scales = np.array([0.5, 1.0, 2.0]).reshape(-1, 1)
    drawn = StepCost(2e-6 * scales, (1e-10 * scales,))
    layout = replace(NODES, gpus=np.array([2.0, 16.0]))
    model = Composed(ALGORITHMS["ring"], Software(drawn, drawn, 3e-10), leading_axes=1)
    (together,) = model.bucket_s(GRADIENTS, layout)
    assert together.shape == (3, 2)
    for row, scale in zip(together, scales.ravel(), strict=True):
        cost = StepCost(2e-6 * scale, (1e-10 * scale,))
        (alone,) = Composed(ALGORITHMS["ring"], Software(cost, cost, 3e-10)).bucket_s(
            GRADIENTS, layout
        )
        assert row == pytest.approx(alone)
