"""Suggested runs: they narrow what is demanded, within the budget, and end when enough is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dse.calibration import Profile
from dse.calibration.planning.advice import TARGET, suggest
from dse.calibration.planning.covariance import Points
from dse.errors import MeasurementError
from tests.calibration import library_profiles


def points(algorithm: str, *rows: tuple[float, float, float]) -> Points:
    n, g, m = (np.array(column, dtype=np.float64) for column in zip(*rows, strict=True))
    return Points(np.array([algorithm] * len(rows)), n, g, m)


def test_what_cannot_be_priced_is_left_out_and_counted() -> None:
    """Points between nodes, of a profile that was measured inside one."""
    known = library_profiles.one_node()
    rows = [(4.0, 4.0, 2.0**20), (2.0, 2.0, 2.0**24), (16.0, 4.0, 2.0**20)]
    found = suggest(known, points("auto", *rows), max_nodes=4)
    assert (found.demanded, found.unpriced) == (2, 1)
    assert "cannot price that layout" in found.why_unpriced
    assert all(run.ranks <= run.ranks_per_node for run in found.runs)
    assert not found.enough
    with pytest.raises(MeasurementError, match="none of the study's 1 points can be priced"):
        suggest(known, points("auto", rows[2]))


def test_runs_narrow_what_is_demanded_within_the_budget() -> None:
    wide = library_profiles.profile(error=0.3)
    demand = points("ring", *((64, 4, m) for m in (2.0**16, 2.0**20, 2.0**24)))
    found = suggest(wide, demand, budget_s=30.0, max_nodes=16)
    assert found.runs
    assert found.cost_s <= 30.0
    assert found.width_then < found.width_now
    assert found.good_now == 0
    assert found.good_then > 0
    assert {run.algorithm for run in found.runs} == {"auto"}
    assert {run.ranks for run in found.runs} == {64}
    assert not found.enough
    less = suggest(wide, demand, budget_s=found.runs[0].cost_s, max_nodes=16)
    assert less.runs == found.runs[:1]


def test_the_first_run_of_a_layout_pays_for_its_start() -> None:
    wide = library_profiles.profile(error=0.3)
    demand = points("auto", (32, 4, 2.0**16), (32, 4, 2.0**24))
    first, *others = suggest(wide, demand).runs
    assert all(run.cost_s < first.cost_s for run in others if run.ranks == first.ranks)
    assert first.cost_s > 1.0


def test_enough_is_said_when_it_is() -> None:
    sure = library_profiles.profile(error=0.04)
    assert sure.auto is not None
    sure = replace(sure, auto=replace(sure.auto, per_octave=0.0, per_octave_local=0.0))
    inside = points("auto", (8, 4, 2.0**20), (32, 4, 2.0**20))
    found = suggest(sure, inside)
    assert found.enough
    assert found.runs == ()
    assert found.worst_now < TARGET
    beyond = suggest(sure, points("auto", (8, 4, 2.0**34)))
    assert not beyond.enough


def test_no_run_puts_more_ranks_on_a_node_than_were_measured_there() -> None:
    """Nodes of 4 GPUs, and a study of nodes of 8: runs of 4 a node, unless 8 are there."""
    wide = library_profiles.profile(error=0.3)
    demand = points("auto", (64, 8, 2.0**20), (64, 8, 2.0**24))
    found = suggest(wide, demand)
    assert found.runs
    assert {(run.ranks, run.ranks_per_node) for run in found.runs} == {(32, 4)}
    assert found.good_then == 0
    fuller = suggest(wide, demand, max_ranks_per_node=8)
    assert {(run.ranks, run.ranks_per_node) for run in fuller.runs} == {(64, 8)}


def test_runs_end_when_enough_is_known_or_the_budget_is_spent() -> None:
    wide = library_profiles.profile(error=0.3)
    demand = points("auto", *((32, 4, m) for m in (2.0**16, 2.0**20, 2.0**24)))
    whole = suggest(wide, demand)
    assert whole.good_then == whole.demanded
    assert len(suggest(wide, demand, budget_s=whole.runs[0].cost_s).runs) == 1
    assert suggest(wide, demand, budget_s=0.1).runs == ()
    away = suggest(wide, points("auto", (64, 8, 2.0**20)))
    places = [(run.ranks, run.ranks_per_node, run.bytes) for run in away.runs]
    assert len(set(places)) == len(places)  # nothing twice


def test_an_algorithm_never_measured_gets_no_run(profile: Profile) -> None:
    assert suggest(profile, points("tree", (4, 4, 2.0**20))).runs == ()


def test_forced_runs_measure_what_is_demanded(profile: Profile) -> None:
    found = suggest(profile, points("ring", (16, 16, 2.0**22), (4, 4, 2.0**22)), budget_s=30.0)
    assert found.runs
    assert {run.algorithm for run in found.runs} == {"ring"}
    assert found.worst_then < found.worst_now


def test_no_demand_is_an_error(profile: Profile) -> None:
    with pytest.raises(MeasurementError, match="nothing to measure"):
        suggest(profile, points("ring", (1, 1, 2.0**20)))
    with pytest.raises(MeasurementError, match="nothing to measure"):
        suggest(profile, points("ps", (8, 8, 2.0**20)))


def test_forced_algorithms_between_nodes_are_suggested_there() -> None:
    lab = library_profiles.between_nodes()
    demand = points("ring", (8, 1, 2.0**20), (8, 4, 2.0**20))
    assert {run.ranks_per_node for run in suggest(lab, demand, max_nodes=8).runs} == {1}
    found = suggest(lab, demand, max_nodes=8, max_ranks_per_node=4)
    assert found.demanded == 2
    # Four ranks a node are priced as if of the same messages: one run there narrows both.
    assert {(run.ranks, run.ranks_per_node) for run in found.runs} == {(8, 4)}
    assert found.width_then < found.width_now
