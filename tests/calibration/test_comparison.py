"""Which of two fabrics is faster, where that can be told."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from dse.calibration import Profile
from dse.calibration.comparison import compare, summary
from dse.errors import OutsideCalibration, StudyError
from tests.calibration.library_profiles import SIZES, one_node, profile

FAST, SLOW = profile("fast"), profile("slow", slower=4.0)


def test_the_planted_factor_is_found_where_bytes_count() -> None:
    found = compare(FAST, SLOW)
    assert {row.ranks for row in found.rows} == {8, 32}
    assert {row.bytes for row in found.rows} == set(SIZES)
    large = [row for row in found.rows if row.bytes == SIZES[-1]]
    for row in large:
        assert row.faster == "A"
        assert row.low < row.ratio < row.high
        assert row.ratio == pytest.approx(4.0, rel=0.1)
    small = [row for row in found.rows if row.bytes == SIZES[0]]
    assert all(row.faster == "" and row.low < 1 < row.high for row in small)
    assert not any(row.why_outside_a or row.why_outside_b for row in found.rows)
    assert found.warnings == ()


def test_swapping_the_two_swaps_the_answer() -> None:
    one, other = compare(FAST, SLOW).rows, compare(SLOW, FAST).rows
    for a, b in zip(one, other, strict=True):
        assert a.ratio == pytest.approx(1 / b.ratio)
        assert (a.faster, b.faster) in {("A", "B"), ("", "")}


def test_two_measurements_of_the_same_times_cannot_be_told_apart() -> None:
    found = compare(FAST, replace(FAST, date="2026-03-04"))
    assert all(row.ratio == 1 and row.faster == "" for row in found.rows)
    assert all(row.low < 1 < row.high for row in found.rows)
    assert found.names == ("fast (A)", "fast (B)")
    assert "are undecided (the 90 % interval includes 1)" in summary(found)


def test_less_sure_profiles_tell_less() -> None:
    unsure = compare(replace_error(FAST, 3.0), SLOW)
    assert all(row.faster == "" for row in unsure.rows)


def replace_error(found: Profile, error: float) -> Profile:
    assert found.auto is not None
    return replace(found, auto=replace(found.auto, size_error_p90=error))


def test_points_outside_of_either_range_are_marked() -> None:
    narrow = profile("narrow", layouts=((8, 4), (16, 4)))
    found = compare(FAST, narrow, ranks=(32,), message_bytes=(2**20, 2**40))
    inside, beyond = found.rows
    assert inside.why_outside_a == ""
    assert "32 ranks (measured: 8-16)" in inside.why_outside_b
    assert "1 TiB" in beyond.why_outside_a


def test_other_devices_and_nodes_are_warned_of() -> None:
    other = profile("other", device="h100", layouts=((8, 8), (32, 8)))
    found = compare(FAST, other)
    assert len(found.warnings) == 2
    assert "a100" in found.warnings[0]
    assert "4 and 8" in found.warnings[1]
    assert len(compare(FAST, other, ranks_per_node=4).warnings) == 1


def test_nothing_in_common_is_refused() -> None:
    with pytest.raises(StudyError, match=r"no rank count in common: 8, 32 and 4; give ranks"):
        compare(FAST, profile("small", layouts=((4, 4),)))
    with pytest.raises(StudyError, match="one rank"):
        compare(FAST, SLOW, ranks=(1,))


def test_a_count_that_cannot_be_priced_is_left_out_with_a_warning() -> None:
    inside = one_node("inside")
    found = compare(FAST, inside, ranks=(4, 8), ranks_per_node=4)
    assert {row.ranks for row in found.rows} == {4}
    assert found.warnings[0].startswith(
        "8 ranks are left out: profile inside cannot price that layout"
    )
    with pytest.raises(OutsideCalibration, match="cannot price that layout"):
        compare(FAST, inside, ranks=(8,), ranks_per_node=4)


def test_forced_algorithms_give_the_fastest_of_them(profile: Profile) -> None:
    other = replace(profile, date="2026-03-04")
    found = compare(profile, other, ranks=(8,), message_bytes=(64, 2**23))
    assert len({row.algorithm_a for row in found.rows}) == 2
    alone = compare(profile, other, ranks=(8,), message_bytes=(64,), algorithm="ring")
    assert alone.rows[0].seconds_a > found.rows[0].seconds_a


def test_a_profile_beside_itself_is_refused() -> None:
    for other in (FAST, replace(FAST, name="copy")):
        with pytest.raises(StudyError, match="is the same profile as fast"):
            compare(FAST, other)


def test_it_serialises() -> None:
    found = compare(FAST, SLOW)
    data = json.loads(json.dumps(found.data()))
    assert data["a"] == "fast"
    assert len(data["rows"]) == 2 * len(SIZES)
