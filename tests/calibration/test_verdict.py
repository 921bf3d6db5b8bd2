"""What a profile is said to be good for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dse.calibration.profile import Point, Profile
from dse.calibration.verdict import GOOD, verdict
from tests.calibration import library_profiles


def profile(errors: dict[int, float | None], ranks: tuple[int, ...] = (8, 32)) -> Profile:
    """A profile whose times, when held out, are missed by these shares, by size."""
    points = tuple(
        Point("auto", count, size, 1.0, None if error is None else 1 + error, 4)
        for count in ranks
        for size, error in errors.items()
    )
    return replace(library_profiles.profile("made", 1.0), points=points)


def test_good_sizes_are_a_range_and_the_rest_is_told() -> None:
    errors = {2**10: 0.5, 2**15: 0.4, 2**20: 0.1, 2**25: 0.1, 2**30: 0.1}
    first, *_ = verdict(profile(errors))
    assert first.startswith("good for 1 MiB to 1 GiB, 8-32 ranks: ")
    assert "by 10 % (median), at other sizes by 45 %" in first


def test_one_bad_size_of_many_does_not_cut_the_range() -> None:
    errors: dict[int, float | None] = {2**at: 0.05 for at in range(10, 20)}
    errors[2**15] = 0.6
    assert verdict(profile(errors))[0].startswith("good for 1 KiB to 512 KiB, ")
    errors[2**14] = errors[2**16] = 0.6  # three of ten do
    assert verdict(profile(errors))[0].startswith("good for 1 KiB to 8 KiB, ")


def test_what_is_missed_everywhere_is_of_little_use() -> None:
    assert verdict(profile({2**10: 2 * GOOD, 2**20: 2 * GOOD}))[0].startswith("of little use: ")


def test_what_was_not_held_out_is_not_checked() -> None:
    few, bare = profile({2**10: None, 2**20: None}), replace(profile({2**20: 0.1}), points=())
    (little, *_), (none, *_) = verdict(few), verdict(bare)
    assert all(said.startswith("not checked, as ") for said in (little, none))
    assert little != none, "a profile without its times may well have left some out of the fit"


@pytest.mark.parametrize("missed", [-0.2, 0.2])
def test_times_too_short_count_as_times_too_long(missed: float) -> None:
    assert "missed by 20 %" in verdict(profile({2**20: missed}))[0]


def test_what_it_cannot_tell_is_said() -> None:
    few = verdict(profile({2**20: 0.1}, ranks=(8,)))
    assert any(line.startswith("only 8 ranks were measured") for line in few)
    inside = verdict(library_profiles.one_node())
    assert any(line.startswith("one node was measured") for line in inside)
    unknown = verdict(profile({2**20: 0.1}))
    assert any("cannot tell which network to buy" in line for line in unknown)
    busy = verdict(replace(profile({2**20: 0.1}), background_cores=0.7))
    assert any("measure again when nothing else runs" in line for line in busy)
    bare = replace(library_profiles.one_node(), auto=None, fits={}, network={}, points=())
    assert verdict(bare) == ()


def test_the_error_is_that_of_all_times_left_out_as_the_fit_prints_it() -> None:
    # One small size has many ranks more than the others, and is the worst.
    often = profile({2**20: 0.2}, (8, 16, 32, 64, 128)).points
    seldom = profile({2**25: 0.02, 2**30: 0.04}, (8,)).points
    said = verdict(replace(profile({}), points=(*often, *seldom)))[0]
    assert "missed by 20 % (median)" in said
