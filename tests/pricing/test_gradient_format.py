"""The format of summed gradients where a study does not say: by the stack of each point."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dse.api import Study
from dse.model.precision import PRECISIONS, usual_gradient
from dse.pricing.gradient_format import summed_format, summed_formats
from dse.pricing.load import load
from tests.pricing import studies

STACKS = studies.SMALL.replace(
    "precision: [fp32, fp16]", "precision: [fp32, fp16]\n  stack: [vendor, tuned]"
)


@pytest.mark.parametrize("stack", [None, "plain", "vendor", "tuned"])
@pytest.mark.parametrize("precision", [None, *PRECISIONS])
def test_only_tuned_software_sums_16_bit_weights_in_their_bits(
    precision: str | None, stack: str | None
) -> None:
    narrow = {"fp16": "fp16", "bf16": "bf16", "fp8": "bf16"} if stack == "tuned" else {}
    values = {"precision": precision, "stack": stack}
    for absent in ({}, {"gradient": None}, {"gradient": "auto"}):
        assert summed_format({**values, **absent}) == narrow.get(str(precision), "fp32")
    for given in ("fp32", "fp16", "bf16"):
        assert summed_format({**values, "gradient": given}) == given


def test_software_that_sums_four_bytes_sums_fp32() -> None:
    assert {usual_gradient(name, 4.0) for name in PRECISIONS} == {"fp32"}


def test_points_follow_their_stack_and_cost_what_the_format_costs(tmp_path: Path) -> None:
    study = Study(load(studies.written(tmp_path, STACKS)))
    point = {"gpus": 16, "gpus_per_node": 4, "aggregation": "ring-mpi", "precision": "fp16"}
    rows = [
        {**point, "stack": stack, "gradient": gradient}
        for stack in ("vendor", "tuned")
        for gradient in ("auto", "fp32", "fp16")
    ]
    found = study.price(rows)
    for column in ("step_s", "comm_s", "memory_slack_bytes"):
        vendor, vendor_wide, _, tuned, _, tuned_narrow = found[column]
        assert vendor == vendor_wide
        assert tuned == tuned_narrow
    wide, narrow = found["comm_s"][4:]
    assert narrow < wide
    assert np.all(np.isfinite(found["step_s"]))


def test_all_formats_of_a_study_are_known(tmp_path: Path) -> None:
    assert summed_formats(load(studies.written(tmp_path)).study) == {"fp32"}
    assert summed_formats(load(studies.written(tmp_path, STACKS)).study) == {"fp32", "fp16"}
    given = STACKS.replace("stack:", "gradient: bf16\n  stack:")
    assert summed_formats(load(studies.written(tmp_path, given)).study) == {"bf16"}
    sometimes = STACKS.replace(
        "when:\n", "when:\n  - {axis: gradient, values: [bf16], if: {stack: vendor}}\n"
    )
    found = summed_formats(load(studies.written(tmp_path, sometimes)).study)
    assert found == {"bf16", "fp32", "fp16"}
