"""A layout as options of software: each file parses, and has the degrees that were priced."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from dse.errors import ArgumentError
from dse.report import json_form
from dse.report.design_point import Point
from dse.report.document import RunDocument
from dse.report.launch import launch_file
from tests.report.documents import document
from tests.report.laid_out import STUDY, laid_out


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunDocument:
    return laid_out(tmp_path_factory.mktemp("study")).document


@pytest.fixture(scope="module")
def two_sided(tmp_path_factory: pytest.TempPathFactory) -> RunDocument:
    """Of T5 base: 12 layers read 512 tokens, and 12 write 114."""
    study = STUDY.replace("laid-out", "two-sided").replace("llama3-8b", "t5-base")
    study = study.replace("[1, 2]\n  schedule: [1f1b, interleaved]", "[1]\n  schedule: [1f1b]")
    study = study.replace("virtual_stages: 2,", "virtual_stages: 1,")
    study = study.replace("schedule: interleaved", "schedule: 1f1b")
    study = study.replace("tensor_parallel: 4,", "tensor_parallel: 2,")  # of ranks that divide 114
    return laid_out(tmp_path_factory.mktemp("study"), study).document


def piped(run: RunDocument, **others: str) -> Point:
    """TP 4, PP 4, DP 2 of 32 GPUs, with other labels."""
    degrees = {"tensor_parallel": "4", "pipeline_parallel": "4", "virtual_stages": "2",
               "schedule": "interleaved", "zero": "1", "recompute": "full",
               "accumulation": "64"}  # fmt: skip
    config = {**run.baseline.config, **degrees, **others}
    idle = ("aggregation", "overlap", "context_exchange", "expert_parallel",
            "expert_tensor_parallel", "accumulation")  # fmt: skip
    alike = tuple(axis for axis in idle if axis not in others)
    return replace(run.fastest, config=config, gpus=32, nodes=4, immaterial=alike)


def text(run: RunDocument, form: str, **others: str) -> str:
    return launch_file(run, piped(run, **others), "row 1 of the front", form)


def options(script: str) -> dict[str, str]:
    """Of a command: by name, '' where an option has no value."""
    found = re.findall(r"--([a-z0-9-]+)(?: ([^-\s\\]\S*))?", script.rpartition("torchrun")[2])
    return dict(found)


@pytest.mark.parametrize("form", ["megatron", "torchrun", "slurm"])
def test_the_shell_reads_every_script(run: RunDocument, form: str) -> None:
    done = subprocess.run(
        ["bash", "-n"], input=text(run, form), capture_output=True, text=True, check=False,
        timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def test_megatron_has_the_degrees_and_what_follows_from_them(run: RunDocument) -> None:
    found = options(text(run, "megatron"))
    assert found["tensor-model-parallel-size"] == found["pipeline-model-parallel-size"] == "4"
    assert found["num-layers-per-virtual-pipeline-stage"] == "4"  # 32 layers, 4 stages of 2 parts
    assert (found["micro-batch-size"], found["global-batch-size"]) == ("1", "128")
    assert found["recompute-granularity"] == "full"
    assert {"sequence-parallel", "use-distributed-optimizer", "bf16"} <= set(found)
    assert found["seq-length"] == "8192"
    assert "context-parallel-size" not in found


def test_megatron_shards_weights_by_its_own_fsdp(run: RunDocument) -> None:
    found = options(text(run, "megatron", zero="3", precision="fp8"))
    assert found["data-parallel-sharding-strategy"] == "optim_grads_params"
    assert found["fp8-format"] == "hybrid"


@pytest.mark.parametrize(
    ("others", "one_queue"),
    [
        ({"zero": "1"}, True),
        ({"zero": "0"}, True),
        ({"zero": "1", "tensor_parallel": "1", "context_parallel": "2",
          "context_exchange": "ring"}, True),
        ({"zero": "0", "tensor_parallel": "1"}, False),  # nothing to keep in order
        ({"zero": "2"}, False),
        ({"zero": "3"}, False),
        ({"zero": "hsdp"}, False),
    ],
)  # fmt: skip
def test_megatron_s_fsdp_is_never_told_to_use_one_queue(
    run: RunDocument, others: dict[str, str], one_queue: bool
) -> None:
    said = text(run, "megatron", **others)
    assert ("export CUDA_DEVICE_MAX_CONNECTIONS=1\n" in said) == one_queue
    assert ("--use-megatron-fsdp" in said) == (others["zero"] not in ("0", "1"))


OVERLAPS = {"tp-comm-overlap", "overlap-grad-reduce", "overlap-param-gather"}


@pytest.mark.parametrize(
    ("others", "written"),
    [
        ({"zero": "1"}, OVERLAPS),
        ({"zero": "0"}, {"tp-comm-overlap", "overlap-grad-reduce"}),  # nothing to gather
        ({"zero": "1", "tensor_parallel": "1"}, {"overlap-grad-reduce", "overlap-param-gather"}),
        ({"zero": "1", "sequence_parallel": "false"}, OVERLAPS - {"tp-comm-overlap"}),
        ({"zero": "1", "pipeline_parallel": "8"}, {"tp-comm-overlap"}),  # one data rank
        ({"zero": "1", "context_parallel": "2", "context_exchange": "ring"}, OVERLAPS),
        ({"zero": "3"}, {"tp-comm-overlap"}),  # its FSDP overlaps by itself
        ({"zero": "1", "stack": "megatron-2022"}, set()),
        ({"zero": "0", "stack": "megatron-deepspeed"}, set()),
        ({"zero": "1", "stack": "fsdp2"}, {"overlap-grad-reduce", "overlap-param-gather"}),
        ({"zero": "1", "stack": "nanotron"}, {"tp-comm-overlap"}),
    ],
)  # fmt: skip
def test_megatron_overlaps_what_the_price_hides(
    run: RunDocument, others: dict[str, str], written: set[str]
) -> None:
    found = set(options(text(run, "megatron", **others)))
    assert found & OVERLAPS == written
    assert "tp-comm-overlap" not in written or "sequence-parallel" in found
    assert ("use-distributed-optimizer" in found) == (others["zero"] != "0")


@pytest.mark.parametrize(("stack", "hides"), [("nanotron", True), ("megatron-2022", False)])
def test_nanotron_overlaps_what_the_price_hides(run: RunDocument, stack: str, hides: bool) -> None:
    told = yaml.safe_load(text(run, "nanotron", stack=stack))["parallelism"]
    assert told["tp_linear_async_communication"] is hides
    assert told["tp_mode"] == "REDUCE_SCATTER"


def test_megatron_starts_an_encoder_decoder_as_one(two_sided: RunDocument) -> None:
    said = text(two_sided, "megatron", pipeline_parallel="1", virtual_stages="1")
    found = options(said)
    assert "pretrain_t5.py" in said
    assert "pretrain_gpt.py" not in said
    assert (found["encoder-num-layers"], found["decoder-num-layers"]) == ("12", "12")
    assert (found["encoder-seq-length"], found["decoder-seq-length"]) == ("512", "114")
    assert not {"num-layers", "seq-length"} & set(found)
    assert "sequence-parallel" in found
    assert "tp-comm-overlap" not in found  # user buffers have one length
    piped = text(two_sided, "megatron", virtual_stages="1")
    assert "refuses pipelines" in piped
    assert "refuses pipelines" not in said


@pytest.mark.parametrize("form", ["torchtitan", "deepspeed", "nanotron"])
def test_what_has_no_encoder_decoders_says_so(
    run: RunDocument, two_sided: RunDocument, form: str
) -> None:
    assert text(two_sided, form).count("encoder-decoders") == 1
    assert "encoder-decoders" not in text(run, form)


def test_a_run_s_file_keeps_both_sides(two_sided: RunDocument) -> None:
    sides = two_sided.study.sides
    assert sides is not None
    assert json_form.parsed(RunDocument, json_form.plain(two_sided)).study.sides == sides


def test_torchtitan_has_the_mesh(run: RunDocument) -> None:
    found = tomllib.loads(text(run, "torchtitan", zero="3"))
    mesh = found["parallelism"]
    assert (mesh["data_parallel_shard_degree"], mesh["data_parallel_replicate_degree"]) == (2, 1)
    assert mesh["tensor_parallel_degree"] == mesh["pipeline_parallel_degree"] == 4
    assert mesh["pipeline_parallel_schedule"] == "Interleaved1F1B"
    assert found["training"]["global_batch_size"] == 128
    assert found["training"]["local_batch_size"] == 64  # all micro-batches of a pipeline
    assert found["activation_checkpoint"]["mode"] == "full"


def test_deepspeed_batches_multiply_to_the_global_batch(run: RunDocument) -> None:
    found = json.loads(text(run, "deepspeed", pipeline_parallel="1", accumulation="16"))
    product = found["train_micro_batch_size_per_gpu"] * found["gradient_accumulation_steps"] * 8
    assert found["train_batch_size"] == product == 128
    assert found["zero_optimization"]["stage"] == 1
    assert found["tensor_parallel"] == {"autotp_size": 4}


def test_nanotron_has_the_degrees_and_says_what_it_lacks(run: RunDocument) -> None:
    said = text(run, "nanotron")
    found = yaml.safe_load(said)
    degrees = found["parallelism"]
    assert (degrees["dp"], degrees["pp"], degrees["tp"]) == (2, 4, 4)
    assert degrees["recompute_layer"] is True
    assert found["tokens"]["batch_accumulation_per_replica"] == 64
    assert "interleaved" in said.partition("parallelism:")[0]


def test_any_script_finds_the_layout_in_its_environment(run: RunDocument) -> None:
    said = text(run, "torchrun")
    for variable in ("TENSOR_PARALLEL=4", "DATA_PARALLEL=2", "MICRO_BATCHES=64", "ZERO=1"):
        assert f"export {variable}\n" in said


def test_a_point_that_is_no_layout_has_no_such_file() -> None:
    plain = document()
    with pytest.raises(ArgumentError, match="laid out"):
        launch_file(plain, plain.recommended, "the recommended point", "megatron")


def test_a_study_of_layouts_writes_its_file(run: RunDocument, tmp_path: Path) -> None:
    path = tmp_path / "start.sh"
    path.write_text(launch_file(run, run.recommended, "the recommended point", "megatron"))
    degree = run.recommended.config["tensor_parallel"]
    assert f"--tensor-model-parallel-size {degree} " in path.read_text()
