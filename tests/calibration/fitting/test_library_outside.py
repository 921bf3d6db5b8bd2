"""A library's own choice away from what was measured: how sure, how fast at best, and what not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dse.calibration.fitting.library import NEVER, mended_s
from dse.calibration.fitting.step_cost import Rows, rows_of
from dse.calibration.prediction import predict
from dse.calibration.profile import Profile
from dse.errors import MeasurementError, OutsideCalibration
from dse.model.aggregation.measured_library import Composition
from tests.calibration.fitting.test_library import SIZES, fit, measured, planted

WIRE_BYTES_PER_S = 5e9  # what `planted` takes for the bytes of large messages between nodes
COST = planted(Composition("nccl", ring_from_bytes=NEVER))


@pytest.fixture(scope="module")
def profile() -> Profile:
    """Two nodes of 8, on a link of known speed, from 1 KiB on."""
    samples = measured(COST, [(16, 8)], sizes=[size for size in SIZES if size >= 1024])
    return fit([replace(sample, link_bytes_per_s=WIRE_BYTES_PER_S) for sample in samples])


def test_below_the_smallest_size_the_time_may_be_far_less_but_not_more(profile: Profile) -> None:
    least, tiny = (predict(profile, "auto", 16, size, 8) for size in (1024.0, 1.0))
    assert tiny.high <= least.high
    assert tiny.seconds / tiny.low > 2 * least.seconds / least.low
    assert least.in_range
    assert not tiny.in_range


def test_the_first_node_beyond_is_as_unsure_as_the_composition_is_off(profile: Profile) -> None:
    assert profile.auto is not None
    slow = [replace(a, seconds=tuple(3 * s for s in a.seconds)) for a in profile.auto.anchors]
    jump = replace(profile, auto=replace(profile.auto, anchors=tuple(slow)))
    there, beyond = (predict(jump, "auto", n, 2.0**24, 8) for n in (16, 24))
    assert beyond.seconds > there.seconds  # the factor of three is taken along,
    assert beyond.seconds / beyond.low > 2.5  # and may be of that layout alone


def test_no_interval_is_faster_than_the_wire(profile: Profile) -> None:
    for nodes in (3, 16, 500):
        at = predict(profile, "auto", 8 * nodes, 2.0**30, 8)
        assert at.low >= 2 * (nodes - 1) / nodes * 2.0**30 / WIRE_BYTES_PER_S * (1 - 1e-12)
        assert at.low <= at.seconds <= at.high


def test_where_the_wire_decides_the_sum_may_still_take_longer(profile: Profile) -> None:
    usual = predict(profile, "auto", 24, 2.0**30, 8)
    slow = replace(profile, link_bytes_per_s=WIRE_BYTES_PER_S / 10)
    at = predict(slow, "auto", 24, 2.0**30, 8)
    wire = 2 * (3 - 1) / 3 * 2.0**30 / (WIRE_BYTES_PER_S / 10)
    assert at.seconds == at.low == pytest.approx(wire)
    assert at.high / at.seconds >= usual.high / usual.seconds > 1.05


def test_another_links_speed_slows_the_bytes(profile: Profile) -> None:
    here = predict(profile, "auto", 32, 2.0**30, 8)
    slow = predict(profile, "auto", 32, 2.0**30, 8, WIRE_BYTES_PER_S / 4)
    assert slow.seconds == pytest.approx(4 * here.seconds, rel=0.05)
    assert slow.high / slow.low > here.high / here.low
    same = predict(profile, "auto", 16, 2.0**20, 8, WIRE_BYTES_PER_S)
    assert same.in_range
    assert same.seconds == predict(profile, "auto", 16, 2.0**20, 8).seconds
    assert not predict(profile, "auto", 16, 2.0**20, 8, WIRE_BYTES_PER_S / 4).in_range


def test_where_the_links_speed_is_not_known_no_other_can_be_asked_for() -> None:
    blind = fit(measured(COST, [(16, 8)]))
    with pytest.raises(OutsideCalibration, match="does not state its link speed"):
        predict(blind, "auto", 16, 2.0**20, 8, 1e9)


def test_a_choice_on_two_links_is_two_profiles() -> None:
    samples = measured(COST, [(16, 8)])
    two = [replace(s, link_bytes_per_s=speed) for speed in (5e9, 1.25e9) for s in samples]
    with pytest.raises(
        MeasurementError, match=r"links of different speeds, 10 and 40 Gbps; fit each separately"
    ):
        fit(two)


def test_a_part_filled_node_was_not_measured() -> None:
    wide = fit(measured(COST, [(16, 8), (64, 8)]))
    assert predict(wide, "auto", 32, 2.0**20, 8).in_range
    assert not predict(wide, "auto", 33, 2.0**20, 8).in_range


def rows(seconds: list[float]) -> Rows:
    [sample] = measured(COST, [(16, 8)], sizes=[1024])
    sizes = [1024 * 2**k for k in range(len(seconds))]
    return rows_of(
        [replace(sample, bytes=m, median_s=t) for m, t in zip(sizes, seconds, strict=True)], 8
    )


def test_a_time_off_both_its_neighbours_and_the_composition_is_a_disturbance() -> None:
    composed = np.array([1e-5, 2e-5, 4e-5, 8e-5, 16e-5])
    spiked = rows([1e-5, 2e-5, 16e-5, 8e-5, 16e-5])
    assert mended_s(spiked, composed) == pytest.approx(composed)
    # What the composition expects, or what the neighbours share, is none.
    assert mended_s(spiked, spiked.seconds) == pytest.approx(spiked.seconds)
    slow = rows([1e-5, 8e-5, 16e-5, 32e-5, 64e-5])
    assert mended_s(slow, composed) == pytest.approx(slow.seconds)


def test_a_time_that_several_runs_agree_on_stays() -> None:
    composed = np.array([1e-5, 2e-5, 4e-5, 8e-5, 16e-5])
    spiked = replace(rows([1e-5, 2e-5, 16e-5, 8e-5, 16e-5]), noise=np.full(5, 0.01))
    assert np.array_equal(mended_s(spiked, composed), spiked.seconds)


def test_the_first_and_smallest_message_is_no_slower_than_the_next() -> None:
    composed = np.array([1e-5, 1e-5, 2e-5, 4e-5])
    cold = rows([9e-5, 1e-5, 2e-5, 4e-5])
    assert mended_s(cold, composed) == pytest.approx(composed)
