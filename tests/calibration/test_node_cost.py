"""Ranks that share the cores of a node."""

from __future__ import annotations

from dse.calibration.node_cost import contention, on_cores_s
from dse.model.links import StepCost


def test_contention_begins_where_ranks_exceed_cores() -> None:
    assert contention([1, 4, 6, 8], 4).tolist() == [1.0, 1.0, 1.5, 2.0]


def test_without_sharing_a_core_nothing_is_switched() -> None:
    step = StepCost(1e-6, (1e-9,))
    free, dear = (on_cores_s("ring", 4, 1024, 1, step, 0.0, s) for s in (0.0, 1.0))
    assert free == dear
