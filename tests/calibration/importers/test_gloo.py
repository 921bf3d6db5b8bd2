"""The layouts of gloo's benchmark."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.errors import MeasurementError, StudyError
from tests.calibration.importers import samples as s
from tests.calibration.importers.reading import read


@pytest.mark.parametrize(
    ("text", "ranks", "algorithm", "repetitions", "link_bytes_per_s"),
    [
        (s.GLOO_2018, 4, "ring", [4000, 961], 25e9 / 8),
        (s.GLOO_NOW, 3, "halving-doubling", [40, 10], None),
    ],
)
def test_a_layout(
    tmp_path: Path, text: str, ranks: int, algorithm: str, repetitions: list[int],
    link_bytes_per_s: float | None,
) -> None:  # fmt: skip
    found = read(tmp_path, text, nodes=ranks)
    assert [x.bytes for x in found.samples] == [400, 1_000_000]
    assert [(x.min_s, x.median_s) for x in found.samples] == [
        pytest.approx((90e-6, 110e-6)), pytest.approx((700e-6, 800e-6)),
    ]  # fmt: skip
    assert [x.repetitions for x in found.samples] == repetitions
    assert {(x.transport, x.collective, x.algorithm, x.link, x.ranks, x.link_bytes_per_s)
            for x in found.samples} == {
        ("gloo", "allreduce", algorithm, "tcp", ranks, link_bytes_per_s)
    }  # fmt: skip
    assert all(x.p95_s is None for x in found.samples)


def test_broken_rows(tmp_path: Path) -> None:
    disordered = s.GLOO_2018.replace("700        800", "900        800")
    found = read(tmp_path, disordered)
    assert ([x.bytes for x in found.samples], found.dropped) == ([400], 1)
    assert read(tmp_path, s.GLOO_2018[:-25]).dropped == 1


def test_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="give --ranks N"):
        read(tmp_path, s.GLOO_2018.replace("processes=4, ", ""))
    with pytest.raises(MeasurementError, match=r"no usable result \(read as gloo benchmark"):
        read(tmp_path, s.GLOO_HEAD)


@pytest.mark.parametrize("text", [s.GLOO_2018, s.GLOO_NOW])
def test_a_heading_with_a_number_without_end_is_read(tmp_path: Path, text: str) -> None:
    """Which took a minute for each heading, in the square of its digits."""
    heading = "max (us)"
    assert heading in text
    found = read(tmp_path, text.replace(heading, f"{heading} {'1' * 200_000}"), nodes=3)
    assert [x.bytes for x in found.samples] == [400, 1_000_000]
