"""What a library chose, fitted: planted costs come back, and an interval is as wide as it says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from dse.calibration.experiment import Experiment, Measurement
from dse.calibration.fitting.library import NEVER, adds_in_switch
from dse.calibration.fitting.profile import fit_experiments
from dse.calibration.prediction import predict
from dse.calibration.profile import Profile
from dse.errors import MeasurementError, OutsideCalibration
from dse.model.aggregation.measured_library import Composition, LibraryCost
from dse.model.arrays import Array

EDGES = (4096.0, 262144.0)
SIZES = [8 * 2**k for k in range(0, 26)]


def planted(composition: Composition) -> LibraryCost:
    """8 us a call, 1 us and 6 us a hop; 20 GB/s and 5 GB/s, less for small messages."""
    coefficients = np.zeros(5 + 5 * len(EDGES))
    coefficients[0] = 8e-6
    coefficients[3], coefficients[6:9] = 1e-6, (2e-10, 5e-11, 5e-11)
    coefficients[9], coefficients[12:15] = 6e-6, (5e-10, 2e-10, 2e-10)
    return LibraryCost(composition, EDGES, tuple(coefficients))


def measured(
    cost: LibraryCost,
    layouts: Sequence[tuple[int, int]],
    seed: int = 1,
    sizes: Sequence[int] = SIZES,
) -> list[Measurement]:
    """Times of (ranks, ranks per node) with 3 % noise."""
    random = np.random.default_rng(seed)
    return [
        Measurement(
            transport="nccl", library="nccl", version="2.20", run=1, algorithm="auto", ranks=n,
            ranks_per_node=g, nodes=-(-n // g), link="ib", bytes=m, repetitions=20,
            median_s=float(cost(n, g, m) * np.exp(0.03 * random.standard_normal())),
        )
        for n, g in layouts for m in sizes
    ]  # fmt: skip


def fit(samples: Sequence[Measurement]) -> Profile:
    return fit_experiments([Experiment("planted", "", "", None, tuple(samples))], "planted")


def off(profile: Profile, cost: LibraryCost, n: int, g: int) -> Array:
    sizes = np.array(SIZES, dtype=float)
    seconds = predict(profile, "auto", n, sizes, g)[0]
    return np.abs(seconds / cost(n, g, sizes) - 1)


def test_a_node_of_twice_the_ranks() -> None:
    cost = planted(Composition("nccl"))
    profile = fit(measured(cost, [(2, 2), (4, 4)]))
    assert np.median(off(profile, cost, 8, 8)) < 0.05
    assert off(profile, cost, 8, 8).max() < 0.25


def test_bytes_never_pass_between_nodes_faster_than_their_wire() -> None:
    """A tree's busier link carries a message once on two nodes, a ring's almost twice."""
    cost = planted(Composition("nccl", ring_from_bytes=NEVER))
    wire = 1.0 / 2e-10  # what `planted` takes for the bytes of large messages
    blind = measured(cost, [(16, 8)])
    told = [replace(sample, link_bytes_per_s=wire) for sample in blind]
    half = predict(fit(blind), "auto", 64, 2.0**30, 8).seconds / cost(64, 8, 2.0**30)
    right = predict(fit(told), "auto", 64, 2.0**30, 8).seconds / cost(64, 8, 2.0**30)
    assert half == pytest.approx(0.5, rel=0.1)
    assert right == pytest.approx(1.0, rel=0.1)


def test_flows_that_share_a_bus_are_told_from_a_switch() -> None:
    shared = planted(Composition("nccl", sharing=1.5))
    profile = fit(measured(shared, [(2, 2), (4, 4)]))
    assert profile.auto is not None
    assert profile.auto.sharing == 1.5
    assert np.median(off(profile, shared, 8, 8)) < 0.08


def test_four_times_the_nodes() -> None:
    cost = planted(Composition("nccl"))
    profile = fit(measured(cost, [(8, 4), (16, 4)]))
    assert np.median(off(profile, cost, 64, 4)) < 0.10


def test_an_mpi_library_between_nodes() -> None:
    cost = planted(Composition("mpi", chunk_bytes=65536.0))
    samples = [
        Measurement(**{**vars(s), "transport": "mpi", "library": "some-mpi"})
        for s in measured(cost, [(4, 1), (8, 1), (16, 1)])
    ]
    profile = fit(samples)
    assert profile.auto is not None
    assert profile.auto.chunk_bytes == 65536.0
    assert np.median(off(profile, cost, 64, 1)) < 0.08


def test_about_nine_in_ten_new_measurements_lie_in_the_interval() -> None:
    cost = planted(Composition("nccl"))
    profile = fit(measured(cost, [(2, 2), (4, 4), (8, 8)]))
    again = measured(cost, [(2, 2), (4, 4), (8, 8)], seed=2)
    n, m, t = (
        np.array([float(getattr(s, k)) for s in again]) for k in ("ranks", "bytes", "median_s")
    )
    _, low, high, in_range = predict(profile, "auto", n, m)
    assert in_range.all()
    assert 0.83 <= np.mean((low <= t) & (t <= high)) <= 0.98
    assert np.median(high / low) < 1.6


def test_a_profile_of_one_rank_count_says_so_at_a_thousand() -> None:
    cost = planted(Composition("nccl"))
    profile = fit(measured(cost, [(16, 8)]))
    assert profile.auto is not None
    assert profile.auto.held_out == "sizes"
    near, far = (predict(profile, "auto", n, 2.0**20, 8) for n in (16, 1000))
    assert near[3]
    assert not far[3]
    assert far[2] / far[1] > 2 * near[2] / near[1]


def test_a_tier_that_was_not_measured_has_no_price() -> None:
    profile = fit(measured(planted(Composition("nccl")), [(8, 8)]))
    with pytest.raises(
        OutsideCalibration, match=r"measured only on 1 x 8.*, so the cost between nodes is unknown"
    ):
        predict(profile, "auto", 1000, 2.0**20, 8)


def test_fewer_ranks_a_node_than_measured_may_lack_their_cards() -> None:
    profile = fit(measured(planted(Composition("nccl")), [(8, 4), (16, 4)]))
    found = predict(profile, "auto", 16, 2.0**28, 1)
    assert not found.in_range
    assert found.high > 4 * found.seconds


def test_a_layout_between_the_measured_ones_is_less_sure() -> None:
    profile = fit(measured(planted(Composition("nccl")), [(8, 8), (16, 4)]))
    known, other = (predict(profile, "auto", n, 2.0**20, g) for n, g in ((16, 4), (16, 8)))
    assert known.in_range
    assert other.high / other.low > 1.2 * known.high / known.low


def test_beyond_the_measured_nodes_no_ring_is_dearer_than_the_tree() -> None:
    profile = fit(measured(planted(Composition("nccl")), [(8, 4), (16, 4)]))
    assert profile.auto is not None
    edge = profile.auto.ring_from_bytes
    below, above = predict(profile, "auto", 4096, np.array([0.99 * edge, edge]), 4).seconds
    assert above < 1.5 * below


def test_one_rank_and_huge_numbers_are_priced() -> None:
    profile = fit(measured(planted(Composition("nccl")), [(8, 4), (16, 4)]))
    assert predict(profile, "auto", 1, 2.0**20, 4)[0] == 0
    for n, m in ((5, 1.0), (10**6, 2.0**20), (7, 2.0**50)):
        seconds, low, high, in_range = predict(profile, "auto", n, m, 4)
        assert 0 < low < seconds < high < np.inf
        assert not in_range


def test_forced_and_chosen_are_not_mixed_up() -> None:
    profile = fit(measured(planted(Composition("nccl")), [(2, 2), (4, 4)]))
    with pytest.raises(OutsideCalibration, match=r"not measured with 'ring'.*it measured auto"):
        predict(profile, "ring", 4, 1024.0)


def test_one_size_is_refused() -> None:
    samples = measured(planted(Composition("nccl")), [(2, 2), (4, 4)], sizes=[1024])
    with pytest.raises(MeasurementError, match=r"1 message size: .* measure 4 or more"):
        fit(samples)


def test_another_collective_is_refused() -> None:
    samples = [
        Measurement(**{**vars(s), "collective": "broadcast"})
        for s in measured(planted(Composition("nccl")), [(2, 2)])
    ]
    with pytest.raises(
        MeasurementError, match="fitted on, only broadcast; give measurements of allreduce"
    ):
        fit(samples)


def test_runs_that_contradict_each_other_are_refused() -> None:
    cost = planted(Composition("nccl"))
    first = measured(cost, [(8, 8)])
    second = [Measurement(**{**vars(s), "run": 2, "median_s": 10 * s.median_s}) for s in first]
    with pytest.raises(MeasurementError, match=r"auto on 8 ranks differ by a factor of 10"):
        fit([*first, *second])


def test_two_libraries_are_not_fitted_together() -> None:
    cost = planted(Composition("nccl"))
    other = [Measurement(**{**vars(s), "version": "2.4"}) for s in measured(cost, [(4, 4)])]
    with pytest.raises(
        MeasurementError, match=r"different libraries: nccl nccl 2.20 and nccl nccl 2.4"
    ):
        fit([*measured(cost, [(2, 2)]), *other])


@pytest.mark.parametrize(
    ("device", "adds"),
    [("H100-SXM5", True), ("h200", True), ("A100", False), ("GH200", False), ("H100 PCIe", False)],
)
def test_which_switches_add(device: str, adds: bool) -> None:
    assert adds_in_switch([device]) is adds


def test_a_rank_count_on_a_tier_that_the_others_lack_is_not_held_against_the_fit() -> None:
    cost = planted(Composition("nccl"))
    profile = fit(measured(cost, [(8, 8), (20, 2), (40, 4)]))
    judged = {p.ranks for p in profile.points if p.held_out_s is not None}
    assert judged == {20, 40}  # the fit without 8 ranks has no price inside a node
    assert profile.auto is not None
    assert profile.auto.error_p90 < 0.5
    assert profile.auto.per_octave < 0.3
