"""What an operation reaches inside nodes and between them, from times of known parameters."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dse.calibration.fitting.exchanges import fit_exchanges
from dse.calibration.fitting.profile import fit_experiments
from dse.calibration.importers.logs import import_logs
from dse.calibration.profile import exchange_text, read_profile, write_profile
from tests.calibration.exchange_samples import CARDS, SIZES, experiment, measured
from tests.calibration.importers.reference import log


def test_known_parameters_are_found_again() -> None:
    found = fit_exchanges(measured())
    shares = {
        "allreduce": (0.8, 0.9), "all_gather": (0.6, 0.75), "reduce_scatter": (0.6, 0.75),
        "alltoall": (0.5, 0.4), "send": (0.7, 0.65),
    }  # fmt: skip
    assert set(found) == set(shares)
    for name, (inside, across) in shares.items():
        fit = found[name]
        assert fit.link_bytes_per_s == pytest.approx(300e9 * inside, rel=0.01)
        assert fit.cards_share == pytest.approx(across, rel=0.01)
        assert fit.cards_bytes_per_s == pytest.approx(across * CARDS, rel=0.01)
        assert (fit.call_s, fit.hop_s) == pytest.approx((20e-6, 10e-6), rel=0.02)
        assert (fit.ranks, fit.nodes) == ((2, 64), (1, 8))
        assert fit.message_bytes == (SIZES[0], SIZES[-1])
        assert fit.error_p90 < 0.01


def test_the_intervals_hold_what_is_true() -> None:
    fit = fit_exchanges(measured(("all_gather",), noise=0.1))["all_gather"]
    for at, true in enumerate((20e-6, 180e9, 10e-6, 0.75 * CARDS)):
        assert fit.low[at] / 1.05 < true < fit.high[at] * 1.05


def test_one_node_tells_nothing_of_cards_nor_many_of_links() -> None:
    every = measured(("alltoall",), cards=None)
    one = fit_exchanges([s for s in every if s.nodes == 1])["alltoall"]
    assert one.link_bytes_per_s == pytest.approx(150e9, rel=0.01)
    assert (one.hop_s, one.cards_bytes_per_s, one.cards_share) == (0, 0, 0)
    many = fit_exchanges([s for s in every if s.nodes > 1])["alltoall"]
    assert (many.call_s, many.link_bytes_per_s, many.cards_share) == (0, 0, 0)
    assert many.cards_bytes_per_s == pytest.approx(0.4 * CARDS, rel=0.02)
    assert "of a link" not in exchange_text("alltoall", many)


def test_allreduce_alone_has_parts_of_its_own() -> None:
    assert fit_exchanges(measured(("allreduce",))) == {}


def test_a_fit_of_allreduce_never_sees_another_operation() -> None:
    alone = fit_experiments([experiment(measured(("allreduce",)))], "x")
    both = fit_experiments([experiment(measured())], "x")
    assert replace(both, exchanges={}) == alone


def test_a_profile_of_other_operations_alone_is_kept(tmp_path: Path) -> None:
    profile = fit_experiments([experiment(measured(("all_gather", "sendrecv")))], "x")
    assert (profile.measured_algorithms, profile.ranks, profile.max_nodes) == ((), (2, 64), 8)
    write_profile(profile, tmp_path / "x.yaml")
    assert read_profile(tmp_path / "x.yaml") == profile


def test_a_stream_tells_the_speed_and_not_the_start() -> None:
    pairs = [
        replace(s, collective="stream", median_s=s.bytes / 200e9)
        for s in measured(("sendrecv",))
        if s.ranks == 2
    ]
    assert fit_exchanges(pairs)["send"].link_bytes_per_s == pytest.approx(200e9, rel=0.01)


# Public logs.


@pytest.mark.parametrize(
    ("name", "collective", "bus"),
    [("allgather", "all_gather", 225e9), ("alltoall", "alltoall", 225e9),
     ("reducescatter", "reduce_scatter", 231e9)],
)  # fmt: skip
def test_eight_a100_reach_what_their_log_says(name: str, collective: str, bus: float) -> None:
    samples = import_logs([log(f"nccl_superbench_{name}.log")], collective=collective).samples
    fit = fit_exchanges(samples)[collective]
    assert bus / 1.25 < fit.link_bytes_per_s < bus * 1.05
