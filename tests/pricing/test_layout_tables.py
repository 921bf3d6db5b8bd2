"""Tables of layouts: which row a point means."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.pricing.load import load
from tests.pricing import studies
from tests.report.laid_out import STUDY

SHORT = """\
study: short
workload: llama3-8b
stack: megatron
space: {{node: dgx-h100, gpus: 8, tensor_parallel: 8, {}}}
constraints: [fits_memory]
objectives: {{maximize: tokens_per_s, minimize: memory_bytes}}
"""


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


@pytest.mark.parametrize(
    ("sequence", "wanted"),
    [(8192, {(10, 10), (96, 96)}), (131_072, {(96, 6)}), (3072, {(96, 256)}), (5000, set())],
)
def test_a_step_is_whole_sequences(
    tmp_path: Path, sequence: int, wanted: set[tuple[int, int]]
) -> None:
    """Samples of 8192 tokens, and as many tokens in sequences of another length."""
    text = SHORT.format("sequence: [8192, 131072, 3072, 5000], global_batch: [10, 96]")
    problem = load(studies.written(tmp_path, text))
    fixed = {**problem.study.baseline.values, "sequence": sequence}
    table = problem.tables(fixed)
    rows = [table.values(row) for row in range(len(table))]
    assert {(row["global_batch"], row["accumulation"]) for row in rows} == wanted
    removed = table.removed.get("the sequence divides the tokens of a step", 0)
    assert len(table) + removed == 2
    for row in rows:
        point = problem.points_at({**fixed, **row, "accumulation": None})
        assert float(point.accumulation.item()) == row["accumulation"]
        assert not point.rules  # type: ignore[attr-defined]


def test_micro_batches_of_short_sequences_lose_no_tokens(tmp_path: Path) -> None:
    """Three of half a sample are a step of one and a half."""
    text = SHORT.format("sequence: 4096, accumulation: 3")
    problem = load(studies.written(tmp_path, text))
    assert float(problem.baseline["global_batch"].item()) == pytest.approx(1.5)
    more = problem.applicable({**problem.study.baseline.values, "accumulation": 8})
    assert (more["accumulation"], more["global_batch"]) == (8, 4)


HALVES = ("all_gather", "reduce_scatter")


@pytest.mark.parametrize(
    ("workload", "axes", "split", "operations"),
    [
        ("llama3-8b", "tensor_parallel: [2, 8]", "true", HALVES),
        ("llama3-8b", "tensor_parallel: [2, 8]", "false", ()),
        ("llama3-8b", "tensor_parallel: 1", "true", ()),
        ("llama3-8b", "tensor_parallel: [1, 16], zero: [0, 1]", "false", HALVES),
        ("llama3-8b", "tensor_parallel: 16, zero: [0, 1]", "false", ()),  # no copies share states
        ("llama3-8b", "zero: [0, hsdp]", "false", HALVES),
        ("llama3-8b", "pipeline_parallel: [1, 2]", "false", ("sendrecv",)),
        ("llama3-8b", "context_parallel: 2", "false", ("sendrecv",)),
        ("llama3-8b", "context_parallel: 2, context_exchange: all-to-all", "false", ("alltoall",)),
        ("llama3-8b", "context_parallel: 2, context_exchange: all-gather", "false", HALVES),
        ("llama3-8b", "expert_parallel: 2, expert_tensor_parallel: 2", "false", ()),
        ("mixtral-8x7b", "expert_parallel: [1, 2]", "false", ("alltoall",)),
        ("mixtral-8x7b", "expert_tensor_parallel: [1, 2]", "false", HALVES),
    ],
)  # fmt: skip
def test_a_study_measures_what_its_layouts_exchange(
    tmp_path: Path, workload: str, axes: str, split: str, operations: tuple[str, ...]
) -> None:
    zero = "" if "zero" in axes else "zero: 0, "
    text = (
        f"study: own\nworkload: {workload}\nstack: megatron\nmemory: ignore\n"
        f"sequence_parallel: {split}\n"
        f"space: {{node: dgx-h100, gpus: 16, {zero}{axes}, global_batch: 64}}\n"
        "objectives: {maximize: tokens_per_s, minimize: capital}\n"
    )
    assert load(studies.written(tmp_path, text)).tables.operations == operations


def test_a_baseline_has_the_first_of_the_hosts_that_a_study_names(tmp_path: Path) -> None:
    """In the order of the study, whichever would hold a layout in fewer nodes."""
    text = SHORT.replace("node: dgx-h100, gpus: 8, tensor_parallel: 8",
                         "accelerator: h100-sxm, inter_node: 10gbe, gpus: 16")  # fmt: skip
    problem = load(
        studies.written(tmp_path, text.format("gpus_per_node: [1, 8], zero: 3, recompute: full"))
    )
    assert problem.study.baseline.values["gpus_per_node"] == 1
