"""Suggested runs: what one tells of others, what there is to run on, and when to end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dse.calibration import Profile, predict
from dse.calibration.library_part import NORMAL_90
from dse.calibration.planning import (
    NOISE,
    TARGET,
    Capacity,
    Points,
    conditioned,
    covariance,
    half_width,
    suggest,
)
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


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((8, 4), {(64.0, 8.0): (32, 4), (6.0, 2.0): (6, 2), (20.0, 2.0): (20, 3)}),
        ((1, 16), {(64.0, 8.0): (16, 16), (8.0, 4.0): (8, 8)}),
    ],
)
def test_a_layout_is_cut_to_what_there_is(
    given: tuple[int, int], expected: dict[tuple[float, float], tuple[int, int]]
) -> None:
    capacity = Capacity(*given)
    for layout, cut in expected.items():
        assert capacity.layout(*layout) == cut
        assert -(-cut[0] // cut[1]) <= capacity.nodes


def test_the_variance_is_that_of_the_predicted_interval(profile: Profile) -> None:
    asked = points("ring", (4, 4, 2.0**20), (64, 64, 2.0**20))
    _, low, high, _ = predict(profile, "ring", asked.ranks, asked.message_bytes)
    expected = np.log(high / low) / 2 / NORMAL_90
    assert np.sqrt(np.diag(covariance(profile, asked))) == pytest.approx(expected, rel=1e-6)


def test_covariances_are_valid_and_fall_with_distance(profile: Profile) -> None:
    rows = [(n, n, m) for n in (2, 4, 8, 16, 64) for m in (2.0**10, 2.0**16, 2.0**22)]
    found = covariance(profile, points("ring", *rows))
    assert np.linalg.eigvalsh(found).min() > -1e-9
    away = covariance(
        library_profiles.profile(),
        points("auto", (64, 4, 2.0**20), (64, 4, 2.0**22), (128, 4, 2.0**22)),
    )
    sd = np.sqrt(np.diag(away))
    assert 1 > away[0, 1] / sd[0] / sd[1] > away[0, 2] / sd[0] / sd[2] > 0


def test_algorithms_tell_nothing_of_one_another(profile: Profile) -> None:
    both = Points(np.array(["ring", "tree"]), *(np.array([v, v]) for v in (4.0, 4.0, 2.0**20)))
    assert covariance(profile, both)[0, 1] == 0


def test_conditioning_is_that_of_a_gaussian() -> None:
    prior = np.array([[0.04, 0.03], [0.03, 0.05]])
    after = conditioned(prior, 1)
    assert after[0, 0] == pytest.approx(0.04 - 0.03**2 / (0.05 + NOISE**2))
    assert after[1, 1] == pytest.approx(0.05 * NOISE**2 / (0.05 + NOISE**2))
    assert (half_width(after) < half_width(prior)).all()
