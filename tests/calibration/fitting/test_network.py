"""Forced algorithms between nodes: host's and wire's part come back from planted times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from dse.calibration.experiment import Experiment, Measurement, this_machine
from dse.calibration.fitting.profile import fit_experiments
from dse.calibration.network_part import NetworkFit, in_lockstep
from dse.calibration.prediction import predict
from dse.calibration.profile import Profile
from dse.errors import MeasurementError
from dse.model.links import StepCost

EDGE = 65536.0
SIZES = tuple(1024 * 4**k for k in range(7))
SLOW, FAST = 25e6, 50e6
TRUE = NetworkFit(
    latency_s=40e-6, s_per_byte=(2e-9, 1e-9), edges_bytes=(EDGE,), jump_s=(100e-6,),
    wire_factor=(1.0, 2.0), wire_jump_bytes=(0.0,), link_bytes_per_s=(SLOW, FAST),
    ranks_per_node=(1, 1), shared_cores=None, held_out="ranks", error=0.0, error_p90=0.0,
    textbook_error=0.0, textbook_error_p90=0.0, residual=0.0,
)  # fmt: skip
ALGORITHMS = ("halving-doubling", "recursive-doubling", "ring")


def measured(
    nodes: Sequence[int], speeds: Sequence[float], sizes: Sequence[int] = SIZES
) -> list[Measurement]:
    random = np.random.default_rng(3)
    return [
        Measurement(
            transport="mpi", library="openmpi", version="5", run=1, algorithm=algorithm, ranks=n,
            ranks_per_node=1, nodes=n, link="lab", link_bytes_per_s=speed, bytes=m, repetitions=9,
            median_s=float(TRUE.seconds(algorithm, n, m, speed, 0.0))
            * float(np.exp(0.02 * random.standard_normal())),
        )
        for algorithm in ALGORITHMS for n in nodes for speed in speeds for m in sizes
    ]  # fmt: skip


def fit(samples: Sequence[Measurement]) -> Profile:
    return fit_experiments([Experiment("lab", "", "", None, tuple(samples))], "lab")


@pytest.fixture(scope="module")
def profile() -> Profile:
    return fit(measured((2, 3, 4), (SLOW, FAST)))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_more_nodes_and_another_link(profile: Profile, algorithm: str) -> None:
    for nodes, speed in ((6, SLOW), (8, FAST), (4, 2 * FAST), (16, 100e6)):
        m = np.array(SIZES, dtype=float)
        at = predict(profile, algorithm, nodes, m, 1, speed)
        exact = TRUE.seconds(algorithm, nodes, m, speed, 0.0)
        assert np.median(np.abs(at.seconds / exact - 1)) < 0.10
        assert not np.any(at.in_range)
        assert np.all(at.low < at.seconds)


def test_the_wire_is_told_from_the_host(profile: Profile) -> None:
    fitted = profile.network["recursive-doubling"]
    assert profile.split == "measured"
    assert fitted.link_bytes_per_s == (SLOW, FAST)
    assert fitted.wire_factor[-1] == pytest.approx(2.0, rel=0.15)


def test_one_speed_says_that_the_split_is_assumed() -> None:
    assert fit(measured((2, 3, 4), (SLOW,))).split == "assumed"


@pytest.mark.parametrize(("nodes", "ratio"), [(2, 2.0), (4, 4.0 / 3.5)])
def test_training_does_not_begin_in_lockstep(profile: Profile, nodes: int, ratio: float) -> None:
    """The planted wire factor is 2; on 4 nodes half of the first exchanges take it once."""
    fitted = profile.network["recursive-doubling"]
    alone, met = (
        fitted.seconds("recursive-doubling", nodes, 2.0**24, SLOW, 0.0, after_barrier=after)
        for after in (True, False)
    )
    assert met / alone == pytest.approx(ratio, rel=0.1)


def test_one_rank_count_is_too_little() -> None:
    with pytest.raises(
        MeasurementError,
        match="between nodes: too few measurements; measure at two or more rank counts",
    ):
        fit(measured((4,), (SLOW, FAST)))


def test_a_single_node_costs_nothing(profile: Profile) -> None:
    assert predict(profile, "ring", 1, 2.0**20, 1).seconds == 0.0


def test_which_exchanges_are_in_lockstep() -> None:
    def found(algorithm: str, ranks: int, per_node: int = 1) -> tuple[float, float]:
        size, count = in_lockstep(algorithm, np.array(ranks), np.array(1024.0), per_node)
        return float(size), float(count)

    assert found("ring", 2) == (512, 2)  # both of its steps
    assert found("ring", 3) == (1024 / 3, 2 / 3)
    assert found("recursive-doubling", 2) == (1024, 1)
    assert found("recursive-doubling", 4) == (1024, 0.5)
    assert found("recursive-doubling", 3)[1] == 0  # begins with a fold
    assert found("halving-doubling", 2) == (512, 2)
    assert found("halving-doubling", 8) == (512, 0.25)
    assert found("halving-doubling", 6)[1] == 0
    assert found("recursive-doubling", 8, per_node=4)[1] == 0  # begins inside the node
    assert found("tree", 4)[1] == 0


INSIDE = StepCost(2e-6, (1e-10,))


def shared(places: Sequence[tuple[int, int]]) -> list[Measurement]:
    """Times of (ranks, ranks per node): a node's ranks meet inside it, and share its link."""
    random = np.random.default_rng(4)
    return [
        Measurement(
            transport="mpi", library="openmpi", version="5", run=1, algorithm=algorithm, ranks=n,
            ranks_per_node=g, nodes=-(-n // g), link="lab" if n > g else "shared-memory", bytes=m,
            link_bytes_per_s=FAST if n > g else None, repetitions=9,
            median_s=float(TRUE.seconds(
                algorithm, n, m, FAST, 0.0, ranks_per_node=g, inside=INSIDE))
            * float(np.exp(0.02 * random.standard_normal())),
        )
        for algorithm in ALGORITHMS for n, g in places for m in SIZES
    ]  # fmt: skip


@pytest.fixture(scope="module")
def four_a_node() -> Profile:
    return fit(shared([(2, 4), (4, 4), (8, 4), (12, 4), (16, 4)]))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_several_ranks_a_node_share_its_link_and_meet_inside(
    four_a_node: Profile, algorithm: str
) -> None:
    profile = four_a_node
    assert profile.network[algorithm].ranks_per_node == (4, 4)
    m = np.array(SIZES, dtype=float)
    more, alone = predict(profile, algorithm, 32, m, 4), predict(profile, algorithm, 4, m, 4)
    exact = TRUE.seconds(algorithm, 32, m, FAST, 0.0, ranks_per_node=4, inside=INSIDE)
    assert np.median(np.abs(more.seconds / exact - 1)) < 0.10
    inside = TRUE.seconds(algorithm, 4, m, FAST, 0.0, ranks_per_node=4, inside=INSIDE)
    assert np.median(np.abs(alone.seconds / inside - 1)) < 0.10
    assert np.all(alone.in_range)
    assert not np.any(more.in_range)
    assert np.all(predict(profile, algorithm, 8, m, 4).in_range)
    assert not np.any(predict(profile, algorithm, 8, m, 2).in_range)  # 2 a node: not measured


def test_two_nodes_alone_are_fitted_beside_one_and_say_what_was_held_out() -> None:
    profile = fit(shared([(2, 4), (4, 4), (8, 4)]))
    assert {part.held_out for part in profile.network.values()} == {"sizes"}
    far = predict(profile, "ring", 1000, 2.0**20, 4)
    near = predict(profile, "ring", 8, 2.0**20, 4)
    assert far.high / far.low > near.high / near.low
    assert near.in_range
    assert not far.in_range


def test_one_node_and_several_in_one_question() -> None:
    profile = fit(shared([(2, 4), (4, 4), (8, 4), (16, 4)]))
    both = predict(profile, "ring", [1, 4, 8], 2.0**20, 4)
    assert both.seconds[0] == 0.0
    for at, n in ((1, 4), (2, 8)):
        alone = predict(profile, "ring", n, 2.0**20, 4)
        assert both.seconds[at] == alone.seconds
        assert both.in_range[at] == alone.in_range


def test_emulated_nodes_share_their_cores_and_real_ones_do_not() -> None:
    machine = replace(this_machine(), cores=2)
    emulated = replace(TRUE, shared_cores=2)
    samples = [
        replace(s, median_s=float(emulated.seconds(
            s.algorithm, s.ranks, s.bytes, s.link_bytes_per_s, 0.0)))
        for s in measured((2, 3, 4), (SLOW, FAST))
    ]  # fmt: skip
    lab = Experiment("lab", "", "", machine, tuple(samples), shared_cores=True)
    profile = fit_experiments([lab], "lab")
    m = np.array(SIZES, dtype=float)
    for algorithm in ALGORITHMS:
        exact = emulated.seconds(algorithm, 8, m, FAST, 0.0)
        found = predict(profile, algorithm, 8, m, 1, FAST).seconds
        assert np.median(np.abs(found / exact - 1)) < 0.03
        host = profile.network[algorithm].host(m)
        assert np.median(np.abs(host / TRUE.host(m) - 1)) < 0.1
