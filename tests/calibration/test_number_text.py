"""Times and sizes as people read them."""

from __future__ import annotations

import pytest

from dse.calibration.number_text import size_text, time_text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, "0 s"), (1.5e-6, "1.5 us"), (0.0042, "4.2 ms"), (59.0, "59 s"), (7200.0, "2 h")],
)
def test_times_are_read_in_their_unit(seconds: float, text: str) -> None:
    assert time_text(seconds) == text


def test_sizes_are_read_in_binary_units() -> None:
    assert [size_text(v) for v in (1, 1536, 2**20, 2**50)] == ["1 B", "1.5 KiB", "1 MiB", "1 PiB"]
