"""dse.pricing.constraints: what a point must meet, and what is said where it does not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import dse
from dse.errors import StudyError
from dse.pricing import constraints
from dse.pricing.constraints import demands, unmet
from dse.pricing.load import load
from tests.pricing import studies
from tests.report.searched import searched


def test_a_precision_that_is_missing_is_no_unknown_speed_as_well() -> None:
    rejected = {constraints.KNOWN: 5, constraints.COMPUTABLE: 3, "gpus <= 8": 2}
    counts = {constraints.KNOWN: 2, constraints.COMPUTABLE: 3, "gpus <= 8": 2}
    assert constraints.counted_once(rejected) == counts
    missed = [constraints.COMPUTABLE, constraints.KNOWN]
    assert constraints.reasons(missed) == [unmet(constraints.COMPUTABLE)]
    assert constraints.reasons([constraints.KNOWN]) == [unmet(constraints.KNOWN)]


def without_the_word(text: str) -> str:
    """The study without the constraint fits_memory."""
    return text.replace("constraints: [fits_memory, ", "constraints: [")


def test_points_that_do_not_fit_are_infeasible_unless_the_study_ignores_memory(
    tmp_path: Path,
) -> None:
    text = without_the_word(studies.SMALL)
    assert "fits_memory" not in text
    point = {"gpus": 1, "batch_per_gpu": 1024}
    checked = dse.load_study(studies.written(tmp_path, text))
    priced = checked.price([point])
    assert not priced["feasible"][0]
    assert priced["reason"][0] == unmet(constraints.FITS)
    for helps in ("smaller batch", "accumulation", "optimizer", "16-bit", "larger accelerator"):
        assert helps in priced["reason"][0]
    ignored = dse.load_study(studies.written(tmp_path, text + "memory: ignore\n"))
    assert ignored.price([point])["feasible"][0]
    assert constraints.FITS not in ignored.explain(point).point.constraints


def test_an_explanation_says_what_would_fit(tmp_path: Path) -> None:
    study = dse.load_study(studies.written(tmp_path))
    short = study.explain({"gpus": 16, "batch_per_gpu": 1024}).point.memory_short
    assert re.fullmatch(
        r"[\d.]+ GiB too little per GPU; what fits: batch_per_gpu 128 \(accumulation keeps the "
        r"global batch\)(, or [\w =-]+)*",
        short,
    ), short
    assert study.explain({"gpus": 16, "batch_per_gpu": 32}).point.memory_short == ""


def test_another_software_stack_may_make_it_fit(tmp_path: Path) -> None:
    text = without_the_word(studies.SMALL).replace("resnet50", "bert-large-s512")
    text = text.replace("p100-sxm2-16gb", "a100-sxm4-80gb").replace("[32, 64, 256]", "[16, 40]")
    text = text.replace("batch_per_gpu: 32, precision: fp32", "batch_per_gpu: 16, precision: tf32")
    study = dse.load_study(studies.written(tmp_path, text.replace("[fp32, fp16]", "[tf32]")))
    short = study.explain({"batch_per_gpu": 40}).point.memory_short
    assert "batch_per_gpu 16 " in short
    assert short.endswith("stack plain")
    assert study.explain({"batch_per_gpu": 40, "stack": "plain"}).point.memory_short == ""


def test_a_baseline_that_does_not_fit_is_refused_with_the_remedy(tmp_path: Path) -> None:
    big = studies.SMALL.replace("batch_per_gpu: 32, precision", "batch_per_gpu: 4096, precision")
    with pytest.raises(StudyError, match=r"too little memory for .*: .* GiB too little") as caught:
        load(studies.written(tmp_path, big))
    assert "memory: ignore" in str(caught.value)
    assert "\n" not in str(caught.value)
    ignoring = without_the_word(big) + "memory: ignore\n"
    assert load(studies.written(tmp_path, ignoring)).baseline_samples_per_s > 0


def test_memory_cannot_be_ignored_and_demanded(tmp_path: Path) -> None:
    text = studies.SMALL + "memory: ignore\n"
    with pytest.raises(StudyError, match="fits_memory contradicts memory: ignore"):
        load(studies.written(tmp_path, text))


@pytest.mark.parametrize("text", [studies.SMALL, without_the_word(studies.SMALL)])
def test_memory_that_is_not_known_rejects_nothing_and_is_said_once(
    text: str, tmp_path: Path
) -> None:
    unknown = text.replace("resnet50", "gnmt-v2")
    problem = load(studies.written(tmp_path, unknown))
    assert constraints.FITS not in [name for name, _ in demands(problem.baseline, problem.study)]
    found = searched(tmp_path, unknown).document
    assert [one.name for one in found.remarks].count("memory unknown") == 1
    assert found.state == "not ready"


def test_more_colocated_servers_than_workers_are_infeasible(tmp_path: Path) -> None:
    text = studies.SMALL.replace("  - {axis: ps_servers, values: [1, 2],", (
        "  - {axis: ps_placement, values: [dedicated, colocated], if: {aggregation: ps-grpc}}\n"
        "  - {axis: ps_servers, values: [1, 2, 3],"
    )).replace("350 kUSD", "2 MUSD")  # fmt: skip
    study = dse.load_study(studies.written(tmp_path, text))
    point = {"gpus": 8, "gpus_per_node": 4, "aggregation": "ps-grpc"}
    priced = study.price([
        {**point, "ps_placement": where, "ps_servers": servers}
        for where in ("colocated", "dedicated") for servers in (1, 2, 3)
    ])  # fmt: skip
    assert priced["feasible"].tolist() == [True, True, False, True, True, True]
    assert priced["reason"][2] == unmet(constraints.HOSTED)
    assert "more colocated servers than workers" in priced["reason"][2]
    alone = study.price([{**point, "gpus": 4, "ps_placement": "colocated", "ps_servers": 3}])
    assert alone["feasible"][0], "one node sums by itself"


def test_the_closed_model_demands_memory_too(tmp_path: Path) -> None:
    text = without_the_word(studies.SMALL) + "model: pai\n"
    study = dse.load_study(studies.written(tmp_path, text))
    priced = study.price([{"gpus": 1, "batch_per_gpu": 1024}, {"gpus": 1, "batch_per_gpu": 32}])
    assert priced["feasible"].tolist() == [False, True]
    assert priced["reason"][0] == unmet(constraints.FITS)


def test_what_is_found_fits_whatever_the_study_says_of_memory(tmp_path: Path) -> None:
    text = without_the_word(studies.SMALL).replace("batch_per_gpu: [32, 64, 256]", (
        "batch_per_gpu: [32, 256, 2048]"
    )).replace('"global_batch <= 2048"', '"global_batch <= 100000"')  # fmt: skip
    found = dse.load_study(studies.written(tmp_path, text)).search().document
    assert found.rejected[constraints.FITS] > 0
    assert all((point.memory_slack_bytes or 0.0) >= 0 for point in found.front)
    ignoring = studies.written(tmp_path, text + "memory: ignore\n")
    more = dse.load_study(ignoring).search().document
    assert any((point.memory_slack_bytes or 0.0) < 0 for point in more.front)
    assert any("Memory is ignored" in line for line in more.assumptions)
