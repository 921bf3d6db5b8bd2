"""A study of transformers laid out: what its keys mean, what it has by default, what is refused."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dse import load_study
from dse.catalog.stacks import layout_stacks
from dse.errors import StudyError
from dse.model.parallel import enumeration
from dse.pricing.load import known_names, load
from dse.pricing.memory_remedies import shortage
from dse.pricing.problem import Problem
from dse.study import Study, read_study
from dse.study.axes import LAYOUT_STACKS, OF_LAYOUT, WHOLE_STACKS

PAGE = Path(__file__).parents[2] / "docs" / "study.md"
LAID_OUT = """\
study: laid-out
workload: llama3-8b
space:
  node: dgx-h100
  gpus: [8, 16]
  tensor_parallel: [1, 2]
  zero: [0, 1]
objectives: {maximize: tokens_per_s, minimize: capital}
"""
TOP = "space:"  # before which keys are written
FIRST = "space:\n"  # after which axes are written


def changed(folder: Path, *changes: tuple[str, str]) -> Path:
    text = LAID_OUT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    file = folder / "study.yaml"
    file.write_text(text, encoding="utf-8")
    return file


@pytest.fixture(name="folder")
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return Path()


def read(folder: Path, *changes: tuple[str, str]) -> Study:
    return read_study(changed(folder, *changes), known_names())


def told(folder: Path, *changes: tuple[str, str]) -> str:
    """What is said of a study that is wrong."""
    with pytest.raises(StudyError) as found:
        load(changed(folder, *changes))
    return str(found.value)


def beside(*lines: str) -> tuple[str, str]:
    return TOP, "".join(f"{line}\n" for line in lines) + TOP


def inside(*lines: str) -> tuple[str, str]:
    return FIRST, FIRST + "".join(f"  {line}\n" for line in lines)


def last(line: str) -> tuple[str, str]:
    end = "minimize: capital}\n"
    return end, f"{end}{line}\n"


def layouts(problem: Problem) -> list[dict[str, Any]]:
    space = problem.space
    return [dict(space.point(index)) for index in range(space.size)]


# -- values ------------------------------------------------------------------------------------


def test_auto_is_every_divisor_of_the_accelerators(folder: Path) -> None:
    study = read(folder, ("[8, 16]", "[8, 12]"), ("[1, 2]", "auto"))
    assert study.values("tensor_parallel") == (1, 2, 3, 4, 6, 8, 12)
    found = study.axis("tensor_parallel")
    assert found is not None
    assert found.labels == ("1", "2", "3", "4", "6", "8", "12")


def test_auto_is_a_degree_only_where_it_divides_the_accelerators(folder: Path) -> None:
    points = layouts(load(changed(folder, ("[8, 16]", "[4, 16]"), ("[1, 2]", "auto"))))
    degrees = {
        gpus: {p["tensor_parallel"] for p in points if p["gpus"] == gpus} for gpus in (4, 16)
    }
    assert degrees == {4: {1, 2, 4}, 16: {1, 2, 4, 8, 16}}


@pytest.mark.parametrize("written", ["[0, 1, 2, 3, hsdp]", "['0', '1', '2', '3', HSDP]"])
def test_zero_is_a_number_or_a_word(folder: Path, written: str) -> None:
    assert read(folder, ("[0, 1]", written)).values("zero") == ("0", "1", "2", "3", "hsdp")


@pytest.mark.parametrize("word", ["true", "false"])
def test_sequence_parallelism_is_true_or_false(folder: Path, word: str) -> None:
    study = read(folder, beside(f"sequence_parallel: {word}"))
    assert study.values("sequence_parallel") == (word,)


def test_an_axis_of_one_value_may_stand_beside_space(folder: Path) -> None:
    lines = ("stack: nanotron", "precision: [bf16]", "inter_node: ib-ndr", "micro_batch: 2")
    outside = read(folder, beside(*lines))
    within = read(folder, inside(*lines))
    names = ("stack", "precision", "inter_node", "batch_per_gpu")
    for name in names:
        assert outside.values(name) == within.values(name) != ()
    assert outside.values("batch_per_gpu") == (2,)
    assert outside.values("stack") == ("nanotron",)


def test_a_micro_batch_is_a_batch_per_gpu_of_the_baseline_too(folder: Path) -> None:
    study = read(folder, inside("micro_batch: [1, 2]"), last("baseline: {micro_batch: 2}"))
    assert study.baseline.values["batch_per_gpu"] == 2


def test_what_a_study_of_layouts_leaves_out_has_defaults(folder: Path) -> None:
    study = read(folder)
    assert study.laid_out
    defaults = {axis.name: axis.labels for axis in study.defaults}
    assert defaults["stack"] == ("megatron",)
    assert defaults["precision"] == ("bf16",)
    assert defaults["aggregation"] == ("auto-nccl",)
    assert defaults["batch_per_gpu"] == ("1",)
    assert not set(defaults) & set(OF_LAYOUT)


def test_a_stack_of_layouts_is_enough(folder: Path) -> None:
    study = read(folder, ("  tensor_parallel: [1, 2]\n  zero: [0, 1]\n", "  stack: fsdp2\n"))
    assert study.laid_out
    points = layouts(load("study.yaml"))
    assert [(p["gpus"], p["tensor_parallel"], p["zero"]) for p in points] == [
        (8, 1, "3"), (16, 1, "3"),
    ]  # fmt: skip


def test_a_global_batch_decides_the_passes(folder: Path) -> None:
    problem = load(changed(folder, inside("global_batch: 64", "micro_batch: [1, 4]")))
    for point in layouts(problem):
        data = np.asarray(problem.point(point)["data_parallel"]).item()
        assert data == point["gpus"] / point["tensor_parallel"]
        assert point["accumulation"] * point["batch_per_gpu"] * data == 64


@pytest.mark.parametrize(
    ("written", "imbalance", "capacity"),
    [
        ("{imbalance: 1.2, balance: dropless, capacity_factor: none}", 1.2, None),
        ("{}", 1.2, None),
        ("{imbalance: 1, capacity_factor: 0}", 1.0, 0.0),
        ("{balance: forced}", 1.0, None),
        ("{balance: forced, imbalance: 1, capacity_factor: 1.25}", 1.0, 1.25),
    ],
)
def test_experts(folder: Path, written: str, imbalance: float, capacity: float | None) -> None:
    experts = read(folder, last(f"experts: {written}")).experts
    assert (experts.imbalance, experts.capacity_factor) == (imbalance, capacity)
    assert experts.balance == ("forced" if "forced" in written else "dropless")


# -- what is refused ---------------------------------------------------------------------------

REFUSED: dict[str, tuple[tuple[tuple[str, str], ...], str]] = {
    "zero": ((("[0, 1]", "4"),), "7:9: zero: 4: no such zero; use 0, 1, 2, 3 or hsdp"),
    "twice": (
        (beside("zero: 1"),), "3:1: zero stands in space, too; keep one of the two",
    ),
    "both": (
        (beside("batch_per_gpu: 1"), inside("micro_batch: 2")),
        "5:3: micro_batch and batch_per_gpu are one axis; keep one of the two",
    ),
    "several": (
        (beside("micro_batch: [1, 2]"),),
        "3:1: micro_batch: several values outside of space; write micro_batch below space",
    ),
    "auto outside": (
        (beside("pipeline_parallel: auto"),),
        "3:1: pipeline_parallel: several values outside of space; "
        "write pipeline_parallel below space",
    ),
    "batch and passes": (
        (inside("global_batch: 64", "accumulation: 2"),),
        "5:3: accumulation follows from global_batch; keep one of the two",
    ),
    "no transformer": (
        (("llama3-8b", "resnet50"),),
        "2:11: resnet50 has no sequences of tokens, so it is not laid out; "
        "drop the axes of layouts",
    ),
    "unknown stack": (
        (beside("stack: megatorn"),),
        "3:8: stack: 'megatorn': no such stack; did you mean megatron?",
    ),
    "conditional": (
        (last("when: [{axis: pipeline_parallel, values: [2], if: {gpus: 16}}]"),),
        "9:8: pipeline_parallel cannot be conditional; put pipeline_parallel in space",
    ),
    "condition": (
        (last("when: [{axis: bucket, values: 1 MiB, if: {tensor_parallel: 2}}]"),),
        "9:8: tensor_parallel cannot be conditional; put tensor_parallel in space",
    ),
    "closed model": (
        (last("model: pai"),),
        "9:8: model pai lays nothing out; drop it, or the axes of layouts",
    ),
    "no such degree": (
        (("[1, 2]", "[5, 7]"),),
        "4:3: no layout is left; most combinations break this rule: "
        "the tensor degree divides the accelerators; give values that meet it, or auto",
    ),
    "no such batch": (
        (inside("global_batch: 7"),),
        "4:3: no layout is left; most combinations break this rule: "
        "micro-batches divide the global batch; give values that meet it, or auto",
    ),
    "imbalance": (
        (last("experts: {imbalance: 0.5}"),),
        "9:22: imbalance: 0.5 is out of range; write a value at least 1.0",
    ),
    "forced": (
        (last("experts: {imbalance: 1.5, balance: forced}"),),
        "9:22: imbalance: 1.5 contradicts balance: forced; drop one of them",
    ),
    "balance": (
        (last("experts: {balance: even}"),),
        "9:20: balance: 'even' is not known; use dropless or forced",
    ),
    "capacity": (
        (last("experts: {capacity_factor: lots}"),),
        "9:28: capacity_factor: 'lots' is not a number; write capacity_factor: none",
    ),
    "rank order": (
        (last("rank_order: dp-tp"),),
        "9:13: rank_order: 'dp-tp' is not known; use tp-cp-ep-dp-pp",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "line"), REFUSED.values(), ids=REFUSED)
def test_bad_input_is_one_clear_line(
    folder: Path, changes: tuple[tuple[str, str], ...], line: str
) -> None:
    assert told(folder, *changes) == f"study.yaml:{line}"


@pytest.mark.parametrize("stack", WHOLE_STACKS)
def test_software_that_shares_no_work_takes_no_degrees(folder: Path, stack: str) -> None:
    for axis, written, value in (
        ("tensor_parallel", "[1, 2]", "2"), ("recompute", "full", "full"),
        ("sequence", "16384", "16384"),
    ):  # fmt: skip
        degree = inside(f"{axis}: {written}")
        changes = [] if axis == "tensor_parallel" else [("  tensor_parallel: [1, 2]\n", ""), degree]
        line = told(folder, *changes, inside(f"stack: {stack}"))
        assert f": {axis} {value} under stack {stack}, which is known with data" in line
        assert line.endswith(f"; drop {axis}, or write stack: megatron")
        assert "\n" not in line


@pytest.mark.parametrize(
    ("axis", "own", "shared"),
    [("tensor_parallel", 1, 2), ("pipeline_parallel", 1, 2), ("recompute", "none", "full"),
     ("sequence", 8192, 16384)],
)  # fmt: skip
def test_beside_other_software_its_degrees_are_no_layouts(
    folder: Path, axis: str, own: object, shared: object
) -> None:
    """They are counted as what its rule removes, and the baseline is of software that fits."""
    written = "" if axis == "tensor_parallel" else f"  {axis}: [{own}, {shared}]\n"
    problem = load(changed(folder, (FIRST, f"{FIRST}  stack: [vendor, megatron]\n{written}")))
    found = {(str(one["stack"]), one[axis]) for one in layouts(problem)}
    assert found == {("vendor", own), ("megatron", own), ("megatron", shared)}
    assert problem.space.removed[enumeration.WHOLE] >= 2
    assert problem.study.baseline.values["stack"] == "megatron"


def test_a_degree_of_one_software_alone_is_enough(folder: Path) -> None:
    only = ("tensor_parallel: [1, 2]\n", "tensor_parallel: 2\n  stack: [plain, megatron]\n")
    assert {str(one["stack"]) for one in layouts(load(changed(folder, only)))} == {"megatron"}


@pytest.mark.parametrize("key", ["experts: {}", "rank_order: tp-cp-ep-dp-pp"])
def test_keys_of_layouts_need_layouts(folder: Path, key: str) -> None:
    usual = inside("aggregation: auto-nccl", "batch_per_gpu: 1")
    name = key.partition(":")[0]
    line = told(folder, ("  tensor_parallel: [1, 2]\n  zero: [0, 1]\n", ""), usual,
                ("tokens_per_s,", "speedup,"), last(key))  # fmt: skip
    assert line.startswith(f"study.yaml:9:1: {name}: nothing is laid out; drop it, or add axes")


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (("minimize: capital", "minimize: memory_bytes"), "8:43: memory_bytes"),
        (last("constraints: [tensor_s <= 1 s]"), "9:14: tensor_s"),
    ],
)
def test_quantities_of_layouts_need_layouts(
    folder: Path, change: tuple[str, str], line: str
) -> None:
    usual = inside("aggregation: auto-nccl", "batch_per_gpu: 1")
    said = told(folder, ("  tensor_parallel: [1, 2]\n  zero: [0, 1]\n", ""), usual,
                ("tokens_per_s,", "speedup,"), change)  # fmt: skip
    assert said.startswith(f"study.yaml:{line} is known of layouts alone; name another quantity")


# -- the space ---------------------------------------------------------------------------------


def test_a_structure_without_a_layout_is_left_out_of_the_space(folder: Path) -> None:
    problem = load(changed(folder, ("[1, 2]", "16"), ("[0, 1]", "1")))
    assert problem.space.size == 1
    (slab,) = problem.space.slabs
    assert slab.fixed["gpus"] == 16
    assert [box.size for box in problem.space.boxes(100)] == [1]
    assert problem.space.index(problem.space.point(0)) == 0


def test_points_and_numbers_go_both_ways(folder: Path) -> None:
    space = load(changed(folder, ("[1, 2]", "auto"))).space
    assert space.size > 10
    assert [space.index(space.point(number)) for number in range(space.size)] == [
        *range(space.size)
    ]


def test_more_of_zero_is_what_lets_a_layout_fit(folder: Path) -> None:
    problem = load(changed(folder))
    line = shortage(problem, {**problem.study.baseline.values, "zero": "0"})
    assert "too little per GPU; what fits: " in line
    assert "zero 1" in line


# -- the page ----------------------------------------------------------------------------------


def _section() -> str:
    page = PAGE.read_text(encoding="utf-8")
    return page.partition("## Layouts of transformers\n")[2].partition("\n## ")[0]


def test_the_study_of_the_page_is_complete(folder: Path) -> None:
    (text,) = re.findall(r"```yaml\n(.*?)```", _section(), re.S)
    (folder / "study.yaml").write_text(text, encoding="utf-8")
    problem = load("study.yaml")
    points = layouts(problem)
    assert {p["tensor_parallel"] for p in points} == {1, 2, 4, 8, 16, 32}
    assert all(p["zero"] != "3" for p in points if p["pipeline_parallel"] != 1)
    raw = 2 * 3 * 6 * 3 * 2 * 2 * 3 * 2 * 2
    assert len(points) + sum(problem.space.removed.values()) == raw


def test_the_page_has_what_is_usual_of_each_stack() -> None:
    rows = {
        name: [cell.strip(" `") for cell in rest.split("|")]
        for name, rest in re.findall(r"^\| `([\w-]+)` \|(.*)\|$", _section(), re.M)
    }
    for name, stack in layout_stacks().items():
        split = str(stack.sequence_parallel).lower()
        assert rows[name] == [stack.title, str(stack.zero), stack.schedule, split]
    assert {*layout_stacks()} == {*LAYOUT_STACKS}


def test_every_axis_with_a_rule_is_on_the_page() -> None:
    rules = _section().partition("| axis | its rules |")[2]
    columns = {"tensor", "context", "pipeline", "expert", "expert_tensor"}
    assert columns <= {field.name for field in fields(enumeration.Choices)}
    for name in (*(f"{column}_parallel" for column in columns), "zero", "schedule",
                 "virtual_stages", "context_exchange", "global_batch"):  # fmt: skip
        assert f"`{name}`" in rules


def test_what_is_no_layout_is_not_explained(folder: Path) -> None:
    study = load_study(changed(folder))
    with pytest.raises(StudyError, match="no such layout; keep its rule: tensor, context and pipe"):
        study.explain({"gpus": 8, "tensor_parallel": 2, "pipeline_parallel": 8})
