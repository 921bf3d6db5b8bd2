"""Tables of layouts: which row a point means."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.pricing.load import load
from tests.pricing import studies
from tests.report.laid_out import STUDY


@pytest.mark.parametrize(
    ("told", "without_effect"),
    [
        ("zero: 0", "zero: 1"),  # at one data rank
        ("recompute: none", "recompute: selective"),  # with fused attention
        ("tensor_parallel: 4, pipeline_parallel: 4, virtual_stages: 2,\n           schedule: "
         "interleaved", "tensor_parallel: 4, pipeline_parallel: 1, schedule: interleaved"),
    ],
)  # fmt: skip
def test_a_baseline_may_give_what_has_no_effect(
    tmp_path: Path, told: str, without_effect: str
) -> None:
    assert told in STUDY
    problem = load(studies.written(tmp_path, STUDY.replace(told, without_effect)))
    base = problem.study.baseline.values
    expected = {"zero": "0", "recompute": "none", "schedule": "interleaved"}
    if "pipeline_parallel: 1" in without_effect:
        expected["schedule"] = "1f1b"
    assert {name: base[name] for name in expected} == expected
    assert problem.baseline_samples_per_s > 0
