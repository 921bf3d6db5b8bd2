"""What a report says of the format in which gradients are summed."""

from __future__ import annotations

from pathlib import Path

from dse.pricing.load import load
from dse.pricing.problem import Problem
from dse.report.assumptions import assumptions
from dse.report.explain import lines
from dse.report.points import explained
from dse.search.run import labels_of
from tests.pricing import studies
from tests.pricing.priced import point

MANY = {"gpus": 16, "gpus_per_node": 4, "aggregation": "ring-mpi", "precision": "fp16"}


def problem(folder: Path, *axes: str, baseline: str = "precision: fp32") -> Problem:
    more = "".join(f"\n  {axis}" for axis in axes)
    text = studies.SMALL.replace("[fp32, fp16]", f"[fp32, fp16]{more}")
    return load(studies.written(folder, text.replace("precision: fp32,", f"{baseline},")))


def said(found: Problem, **values: str) -> str:
    return " ".join(assumptions(found, point(found, **MANY, **values)))


def test_what_each_stack_is_taken_to_sum_in_is_said(tmp_path: Path) -> None:
    usual = said(problem(tmp_path))
    assert "Under fp16 gradients are assumed to be summed in fp32" in usual
    assert "16 bits, as submissions to MLPerf do" not in usual
    tuned = said(problem(tmp_path, "stack: tuned"))
    assert "with stack tuned gradients are assumed to be summed in 16 bits" in tuned
    assert "assumed to be summed in fp32" not in tuned
    both = said(problem(tmp_path, "stack: [plain, tuned]"))
    assert "Under fp16 with stack plain gradients are assumed to be summed in fp32" in both
    assert "with stack tuned gradients are assumed to be summed in 16 bits" in both
    given = said(problem(tmp_path, "stack: tuned", "gradient: fp32"))
    assert "assumed to be summed" not in given


def test_16_bits_that_the_search_chose_have_to_be_switched_on(tmp_path: Path) -> None:
    setting = "gradients in fp16: this is a setting of the framework, which has to be switched on"
    found = problem(tmp_path, "gradient: [fp32, fp16]", "stack: [vendor, tuned]")
    assert setting in said(found, gradient="fp16", stack="vendor")
    assert setting not in said(found, gradient="fp32", stack="vendor")
    assert setting not in said(found, gradient="fp16", stack="tuned")  # where it is on
    assert setting not in said(problem(tmp_path, "gradient: fp16"), gradient="fp16")


def test_widths_that_differ_are_named_where_one_is_assumed(tmp_path: Path) -> None:
    found = problem(tmp_path, "stack: [vendor, tuned]")
    tuned = point(found, **MANY, stack="tuned")
    beside = "fp16 (assumed under stack tuned), the baseline in fp32 (assumed under stack vendor)"
    assert f"The recommended point sums gradients in {beside}." in said(found, stack="tuned")
    assert "the baseline in" not in said(found, stack="vendor")
    text = lines(explained(found, tuned))
    assert f"gradients        summed in {beside}" in text
    assert "gradient         fp16" in text
    assert labels_of(found, tuned)["gradient"] == "fp16"

    first = problem(tmp_path, "gradient: [fp16, fp32]")
    own = said(first, gradient="fp32")
    assert "in fp32 (as the study says), the baseline in fp16 (not given, so the first of" in own
    known = problem(tmp_path, "gradient: [fp16, fp32]", baseline="precision: fp32, gradient: fp16")
    assert "the baseline in" not in said(known, gradient="fp32")


def test_by_its_own_name_the_usual_format_is_in_the_study(tmp_path: Path) -> None:
    found = problem(tmp_path)
    for gradient, searched in (("fp32", True), ("auto", True), ("fp16", False)):
        values = point(found, **MANY, gradient=gradient)
        assert ("gradient" not in explained(found, values).not_searched) == searched
