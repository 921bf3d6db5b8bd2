"""What a report says of the format in which gradients are summed."""

from __future__ import annotations

from pathlib import Path

from dse.pricing.load import load
from dse.pricing.problem import Problem
from dse.report.gradients import beside_baseline
from dse.report.points import explained
from dse.search.run import labels_of
from tests.pricing import studies
from tests.pricing.priced import point

MANY = {"gpus": 16, "gpus_per_node": 4, "aggregation": "ring-mpi", "precision": "fp16"}


def problem(folder: Path, *axes: str, baseline: str = "precision: fp32") -> Problem:
    more = "".join(f"\n  {axis}" for axis in axes)
    text = studies.SMALL.replace("[fp32, fp16]", f"[fp32, fp16]{more}")
    return load(studies.written(folder, text.replace("precision: fp32,", f"{baseline},")))


def test_widths_that_differ_are_named_where_one_is_assumed(tmp_path: Path) -> None:
    found = problem(tmp_path, "stack: [vendor, tuned]")
    tuned = point(found, **MANY, stack="tuned")
    beside = beside_baseline(found, tuned)
    assert beside.startswith("fp16")
    assert "the baseline in fp32" in beside
    assert labels_of(found, tuned)["gradient"] == "fp16"

    first = problem(tmp_path, "gradient: [fp16, fp32]")
    own = beside_baseline(first, point(first, **MANY, gradient="fp32"))
    assert own.startswith("fp32")
    assert "the baseline in fp16" in own
    known = problem(tmp_path, "gradient: [fp16, fp32]", baseline="precision: fp32, gradient: fp16")
    assert not beside_baseline(known, point(known, **MANY, gradient="fp32"))


def test_by_its_own_name_the_usual_format_is_in_the_study(tmp_path: Path) -> None:
    found = problem(tmp_path)
    for gradient, searched in (("fp32", True), ("auto", True), ("fp16", False)):
        values = point(found, **MANY, gradient=gradient)
        assert ("gradient" not in explained(found, values).not_searched) == searched
