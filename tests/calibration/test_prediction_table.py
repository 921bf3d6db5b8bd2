"""Predictions as records: corners, range flags with their reasons, and where profiles are found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dse.calibration import predict
from dse.calibration.prediction_table import prediction_records, prediction_table
from dse.errors import OutsideCalibration
from tests.calibration.library_profiles import between_nodes, one_node, profile

FABRIC = profile()


def records(ranks: tuple[int, ...], sizes: tuple[int, ...], local: int | None = None):  # type: ignore[no-untyped-def]
    return prediction_records(FABRIC, ("auto",), ranks, local, sizes)


def test_the_keys_come_in_the_promised_order() -> None:
    (found,) = records((32,), (2**20,))
    promised = ["bytes", "ranks", "seconds", "low", "high", "in_range"]
    assert list(found)[:6] == promised
    assert found["in_range"] is True
    assert found["why_outside"] == ""
    assert found["ranks_per_node"] == 4
    seconds, low, high, _ = predict(FABRIC, "auto", 32, 2**20, 4)
    assert (found["seconds"], found["low"], found["high"]) == (seconds, low, high)


@pytest.mark.parametrize("ranks", [1, 2, 10, 31, 10**6])
@pytest.mark.parametrize("size", [1, 2**20, 10**15])
def test_corners_are_finite_and_flagged_with_a_reason(ranks: int, size: int) -> None:
    (found,) = records((ranks,), (size,))
    times = [found["low"], found["seconds"], found["high"]]
    assert np.isfinite(times).all()
    assert times == sorted(times)
    assert (found["seconds"] == 0) == (ranks == 1)
    assert found["in_range"] == (not found["why_outside"])


def test_a_node_that_is_not_full_counts_the_ranks_it_has() -> None:
    assert [r["ranks_per_node"] for r in records((4, 8), (64,), 16)] == [4, 8]
    assert [r["ranks_per_node"] for r in records((4, 8), (64,), 8)] == [4, 8]


def test_what_cannot_be_priced_says_why_beside_the_others() -> None:
    inside = one_node("inside")
    found = prediction_records(inside, ("auto",), (2, 4, 16), 8, (2**10, 2**20))
    assert [record["seconds"] is None for record in found] == [False] * 4 + [True] * 2
    assert all(record["why"] == "" for record in found[:4])
    for record in found[4:]:
        assert (record["low"], record["high"], record["in_range"]) == (None, None, False)
        assert "cannot price that layout" in record["why"]
    assert len({record["why"] for record in found[4:]}) == 1
    cells = [list(column.cells) for column in prediction_table(inside, found).columns]
    assert cells[4][-1] == "-"
    with pytest.raises(OutsideCalibration, match="cannot price"):
        prediction_records(inside, ("auto",), (16,), 8, (2**10,))


def test_another_link_speed_is_priced_and_said() -> None:
    known = replace(FABRIC, link_bytes_per_s=12.5e9)
    sizes = (2**10, 2**24)
    for given, speed in ((None, 12.5e9), (12.5e9, 12.5e9), (3.125e9, 3.125e9)):
        found = prediction_records(known, ("auto",), (8, 32), 4, sizes, given)
        expected = [float(predict(known, "auto", n, m, 4, given).seconds)
                    for n in (8, 32) for m in sizes]  # fmt: skip
        assert [record["seconds"] for record in found] == pytest.approx(expected)
        assert {record["link_bytes_per_s"] for record in found} == {speed}
        other = "a link of 25 Gbps per node (measured: 100 Gbps per node)"
        told = "" if speed == 12.5e9 else other
        assert {record["why_outside"] for record in found} == {told}
    slow, usual = (prediction_records(known, ("auto",), (32,), 4, sizes, given)[1]["seconds"]
                   for given in (3.125e9, None))  # fmt: skip
    assert slow > 2 * usual
    (inside,) = prediction_records(known, ("auto",), (4,), 4, (2**20,))
    assert inside["link_bytes_per_s"] is None


def test_another_link_speed_is_refused_where_the_own_is_not_known() -> None:
    with pytest.raises(OutsideCalibration, match="fabric does not state the link speed"):
        prediction_records(FABRIC, ("auto",), (32,), 4, (2**20,), 3.125e9)
    lab = between_nodes()
    (forced,) = prediction_records(lab, ("ring",), (4,), 1, (2**24,), 5e9)
    assert forced["seconds"] == float(predict(lab, "ring", 4, 2**24, 1, 5e9).seconds)
    assert forced["why_outside"] == "a link of 40 Gbps (measured: 80 Gbps)"
    unknown = {"ring": replace(lab.network["ring"], link_bytes_per_s=(0.0, 0.0))}
    with pytest.raises(OutsideCalibration, match="does not state the link speed"):
        prediction_records(replace(lab, network=unknown), ("ring",), (4,), 1, (2**24,), 5e9)
