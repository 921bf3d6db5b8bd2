"""Forced algorithms between nodes: host's and wire's part come back from planted times."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from dse.calibration.build import fit_experiments
from dse.calibration.experiment import Experiment, Measurement
from dse.calibration.network_part import NetworkFit, first_exchange_bytes
from dse.calibration.prediction import predict
from dse.calibration.profile import Profile, read_profile, write_profile
from dse.errors import MeasurementError

EDGE = 65536.0
SIZES = tuple(1024 * 4**k for k in range(7))
SLOW, FAST = 25e6, 50e6
TRUE = NetworkFit(
    latency_s=40e-6, s_per_byte=(2e-9, 1e-9), edges_bytes=(EDGE,), jump_s=(100e-6,),
    wire_factor=(1.0, 2.0), first_factor=1.0, link_bytes_per_s=(SLOW, FAST), error=0.0,
    error_p90=0.0, textbook_error=0.0, textbook_error_p90=0.0, residual=0.0,
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
    assert fitted.first_factor == pytest.approx(1.0, rel=0.15)


def test_one_speed_says_that_the_split_is_assumed() -> None:
    assert fit(measured((2, 3, 4), (SLOW,))).split == "assumed"


def test_training_does_not_begin_in_lockstep(profile: Profile) -> None:
    fitted = profile.network["recursive-doubling"]
    alone, met = (
        fitted.seconds("recursive-doubling", 4, 2.0**22, SLOW, 0.0, after_barrier=after)
        for after in (True, False)
    )
    assert met / alone == pytest.approx(4 / 3, rel=0.1)


def test_the_profile_survives_its_file(profile: Profile, tmp_path) -> None:  # type: ignore[no-untyped-def]
    write_profile(profile, tmp_path / "lab.yaml")
    assert read_profile(tmp_path / "lab.yaml") == profile


def test_one_rank_count_is_too_little() -> None:
    with pytest.raises(MeasurementError, match="between nodes: needs two rank counts"):
        fit(measured((4,), (SLOW, FAST)))


def test_a_single_node_costs_nothing(profile: Profile) -> None:
    assert predict(profile, "ring", 1, 2.0**20, 1).seconds == 0.0


def test_who_begins_with_an_exchange() -> None:
    def first(algorithm: str, ranks: int) -> float:
        return float(first_exchange_bytes(algorithm, np.array(ranks), np.array(1024.0)))

    assert first("ring", 3) == pytest.approx(1024 / 3)
    assert (first("recursive-doubling", 4), first("recursive-doubling", 3)) == (1024, 0)
    assert (first("halving-doubling", 4), first("halving-doubling", 6)) == (512, 0)
    assert first("tree", 4) == 0
