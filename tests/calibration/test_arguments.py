"""What the commands on profiles are asked: what is taken, and what is refused."""

from __future__ import annotations

import pytest

from dse.calibration import arguments
from dse.calibration.number_text import size_text
from dse.calibration.prediction_table import prediction_records
from dse.errors import OutsideCalibration, StudyError
from tests.calibration.library_profiles import profile

FABRIC = profile()


@pytest.mark.parametrize(
    ("text", "expected"),
    [("4KiB,1MiB", (4096, 2**20)), ("4096", (4096,)), ("1 GB, 1e3", (10**9, 1000)), ("8,8", (8,))],
)
def test_sizes_are_read(text: str, expected: tuple[int, ...]) -> None:
    assert arguments.sizes(text) == expected


@pytest.mark.parametrize("text", ["", "0", "-1", "4 KiB,", "3 Q", "1e99", "4 Gbps", "nan"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(StudyError, match=r"^bytes: "):
        arguments.sizes(text)


@pytest.mark.parametrize("text", ["", "0", "-4", "2.5", "x", "1e30", "inf", "4 KiB"])
def test_what_is_no_count_is_refused(text: str) -> None:
    with pytest.raises(StudyError, match=r"^ranks: "):
        arguments.counts(text, "--ranks")


def test_a_count_has_no_unit() -> None:
    with pytest.raises(StudyError, match=r"^ranks: '8x' is not a whole number; write for example "):
        arguments.counts("8x", "--ranks")


def test_a_size_in_bits_is_refused_with_what_is_right() -> None:
    with pytest.raises(StudyError, match="'1Mib' is in bits; write 1 MiB, or 1 Mibit if"):
        arguments.sizes("1Mib")


def test_a_size_that_is_printed_can_be_asked_for() -> None:
    for power in range(0, 61, 5):
        text = size_text(2.0**power).replace(",", "")  # thousands; it parts sizes here
        assert arguments.sizes(text) == (2**power,)


def test_an_unknown_algorithm_gets_a_suggestion() -> None:
    with pytest.raises(StudyError, match="did you mean ring"):
        arguments.algorithms(FABRIC, "rign")
    assert arguments.algorithms(FABRIC, None) == ("auto",)
    with pytest.raises(OutsideCalibration, match="auto"):
        prediction_records(FABRIC, ("ring",), (8,), None, (64,))
