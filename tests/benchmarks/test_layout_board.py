"""What the table of layouts says of targets, splits and intervals, and what schedules cost."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import pytest

from benchmarks.accuracy import layout_parts
from benchmarks.accuracy.layout_board import Judged, Target, ran, split
from benchmarks.accuracy.layouts import Ranking, holds, measured, ranking, stalled
from dse import catalog
from dse.catalog.stacks import layout_stacks
from dse.model.parallel.step import Step
from dse.pricing.layout_rates import Spread


def step(compute: float, tensor: float, bubble: float) -> Step:
    terms = {name: np.zeros(3) for name in Step._fields}
    terms |= {"compute_s": np.full(3, compute), "tensor_s": np.full(3, tensor)}
    terms |= {"bubble_s": np.full(3, bubble), "step_s": np.full(3, compute + tensor + bubble)}
    return Step(**terms)


def test_waiting_grows_with_what_is_waited_for() -> None:
    twice = step(2.0, 1.0, 0.5).taking(np.asarray(2.0), lambda _: np.asarray(2.0))
    assert twice.step_s == pytest.approx([7.0] * 3)
    assert twice.bubble_s == pytest.approx([1.0] * 3)
    slower = step(2.0, 1.0, 0.6).taking(np.asarray(1.0), lambda _: np.asarray(4.0))
    assert slower.bubble_s == pytest.approx([1.2] * 3)
    assert slower.step_s == pytest.approx([7.2] * 3)


def test_an_interval_holds_what_its_spread_reaches() -> None:
    """Of a step that only computes nine in ten lie within 1.645 standard deviations."""
    measured_s = np.exp(0.1 * np.array([0.0, 1.4, 1.9]))
    held = holds(Spread(0.1, 0.3), step(1.0, 0.0, 0.0), measured_s)
    assert held.tolist() == [True, True, False]


def test_what_is_missed_is_named_and_the_rest_is_not() -> None:
    order = Ranking(np.array([1.0, 0.9, 0.96, 1.0]), np.array([0.9, 0.7]))
    aim = Target(0.10, share=0.95, close=0.8, correlation=0.9, least_correlation=0.6)
    line = Judged("a", "nothing", np.array([1.05, 0.8, 1.0]), aim, order)
    assert line.target.told(line).split(", ") == [
        "median 10 %", "share 0.95", "80 % of groups within 5 % missed", "rank 0.9 missed",
        "none below 0.6",
    ]  # fmt: skip


def test_no_scale_is_both_fitted_on_and_judged() -> None:
    some, rest = split(measured("nanotron"), 48, "gpus")
    assert len(some) == 48
    assert {row["gpus"] for row in some} == {"8", "32", "128"}
    assert {row["gpus"] for row in rest} == {"16", "64", "256"}


def test_runs_of_one_layout_alone_rank_nothing() -> None:
    rows = measured("dgxc, bf16")
    found = ranking(rows, np.array([float(row["global_batch"]) for row in rows]))
    assert len(found.share) == len(found.correlation) == 0


def test_zero_bubbles_trade_memory_for_time_as_reported() -> None:
    """Over 1F1B: interleaved, ZB-2P and ZB-V, each within 8 % of what a user measured."""
    for ratio in layout_parts.schedules().values():
        assert ratio == pytest.approx([1.0] * 3, abs=0.08)
    assert layout_parts.figure_1() == pytest.approx([1.0] * 4, rel=2e-3)


def test_stacks_state_the_nodes_that_their_rows_had() -> None:
    most: dict[str, dict[str, float]] = {name: {} for name in layout_stacks()}
    for row in ran():
        nodes = math.ceil(float(row["gpus"]) / float(row["node"]))
        generation = str(catalog.accelerator(row["device"]).generation)
        of = most[row["stack"]]
        of[generation] = max(of.get(generation, 0), nodes)
    assert {name: dict(one.measured) for name, one in layout_stacks().items()} == most


def test_nanotron_states_how_many_of_its_pipelines_stalled() -> None:
    """To five points: published counts take other runs for twins of those that stalled."""
    rows = measured("nanotron")
    by: dict[float, list[bool]] = defaultdict(list)
    for row, late in zip(rows, stalled(rows), strict=True):
        if row["pipeline"] != "1":
            by[math.ceil(float(row["gpus"]) / float(row["node"]))].append(bool(late))
    told = layout_stacks()["nanotron"].stalls
    assert {nodes: float(np.mean(late)) for nodes, late in by.items()} == pytest.approx(
        told, abs=0.05
    )
