"""What a report says of the software that trains."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.report.assumptions import assumptions
from tests.pricing.priced import point
from tests.report.test_gradients import problem

VENDOR = "the vendor's container and examples (stack: vendor)"
PLAIN = "ordinary framework code (stack: plain)"


@pytest.mark.parametrize(
    ("axis", "baseline", "mine", "said"),
    [
        ("stack: [plain, vendor]", "stack: plain, precision: fp32", "vendor",
         f"The recommended point is assumed to train with {VENDOR}, the baseline with {PLAIN}."),
        ("stack: [plain, vendor]", "precision: fp32", "vendor",
         f"the baseline with {PLAIN} (not given, so the first of the axis)."),
        ("stack: [plain, vendor]", "precision: fp32", "plain",
         f"Recommended point and baseline are both assumed to train with {PLAIN}."),
        ("stack: vendor", "precision: fp32", "vendor",
         f"Recommended point and baseline are both assumed to train with {VENDOR}."),
    ],
)  # fmt: skip
def test_the_software_of_the_recommended_point_and_of_the_baseline_is_said(
    tmp_path: Path, axis: str, baseline: str, mine: str, said: str
) -> None:
    found = problem(tmp_path, axis, baseline=baseline)
    lines = assumptions(found, point(found, stack=mine))
    (line,) = [line for line in lines if "assumed to train with" in line]
    assert line.endswith(said)


def test_software_that_the_study_does_not_name_is_the_usual_one(tmp_path: Path) -> None:
    found = problem(tmp_path)
    told = " ".join(assumptions(found, point(found)))
    assert "assumed to train with" not in told
    assert "The training software is assumed to be the vendor's container" in told
