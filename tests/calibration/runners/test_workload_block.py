"""A block of a workload: its sizes from the rows of work, and what torch makes of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dse import catalog
from dse.calibration.fitting.profile import fit_experiments
from dse.calibration.runners.compute_speed import run
from dse.calibration.runners.registry import Request
from dse.calibration.runners.workload_block import block_of, usual_batch
from dse.catalog.rows_of_work import CAUSAL_ATTENTION
from dse.errors import ArgumentError, DseError
from tests.calibration.test_compute_part import experiment, product


def dense(network: catalog.Workload) -> bool:
    """Whether a block has neither experts nor latent attention."""
    runs = network.shape.runs if network.shape else ()
    return not any(block.experts or block.latent for block, _ in runs)


TIMED = [
    name for name in catalog.names("workloads")
    if catalog.workload(name).family in ("encoder", "decoder", "encoder-decoder", "convolutional")
    and catalog.workload(name).work is not None and dense(catalog.workload(name))
]  # fmt: skip


def test_sizes_of_a_block_are_those_of_the_network() -> None:
    bert = block_of("bert-large-s128")
    assert bert["transformer"] == {
        "tokens": 128, "hidden": 1024, "heads": 16, "head_size": 64, "kv": 1024, "ffn": 4096,
        "gated": False, "causal": False, "bias": True, "fused": False,
    }  # fmt: skip
    assert all(layer.startswith("layer0.") for layer in bert["layers"])
    llama = block_of("llama2-70b")["transformer"]
    assert (llama["kv"], llama["gated"], llama["causal"], llama["fused"]) == (
        1024,
        True,
        True,
        True,
    )
    first, *_, last = block_of("resnet50")["convolutions"]
    assert first == {
        "pixels": 224, "inputs": 3, "outputs": 64, "kernel": 7, "stride": 2, "groups": 1
    }  # fmt: skip
    assert last["pixels"] == 7


@pytest.mark.parametrize("name", TIMED)
def test_a_block_has_the_operations_of_its_layers(name: str) -> None:
    block, network = block_of(name), catalog.workload(name)
    table = dict(zip(network.layer_names, network.layer_forward_flops, strict=True))
    layers = sum(float(table[layer]) for layer in block["layers"])
    rows = [row for row in network.work or () if row.layer in block["layers"]]
    hidden = sum(row.forward_flops for row in rows if row.kind == CAUSAL_ATTENTION) / 2
    assert block["sample_flops"] == pytest.approx(3 * (layers - hidden), rel=0.25)
    assert 1 <= usual_batch(block, "cuda") <= 512
    assert usual_batch(block, "cpu") == 1


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "dlrm-mlperf-v1-dense",
            r"can be timed \(recommender\); name one that is encoder, decoder",
        ),
        ("pai-bert", "no block of pai-bert can be timed"),
        ("mixtral-8x7b", "can be timed: it has experts or latent attention"),
        ("deepseek-v2-lite", "can be timed: it has experts or latent attention"),
        ("resnt50", "no such workload; did you mean resnet50"),
    ],
)
def test_a_workload_without_a_block_is_one_line(name: str, said: str) -> None:
    with pytest.raises(DseError, match=said):
        block_of(name)


@pytest.mark.parametrize(
    "name", ["bert-base-s128", "t5-base", "transformer-base", "resnet50", "mobilenet-v1"]
)
def test_torch_computes_what_the_rows_say(name: str) -> None:
    torch = pytest.importorskip("torch")
    from torch.utils.flop_counter import FlopCounterMode

    from dse.calibration.runners.compute_torch import workload_block

    work = workload_block(block_of(name), 1, "fp32", torch.device("cpu"))
    ready = work.prepare()
    with FlopCounterMode(display=False) as counted:
        ready.run()
    ready.check()
    assert counted.get_total_flops() == pytest.approx(work.about["flops"], rel=0.01)


def test_a_timed_block_is_a_rate_of_plain_code_on_the_nearest_accelerator() -> None:
    block = replace(
        product(4096, 1e12), kind="block", name="bert-large-s128", batch=128, median_s=0.02,
        precision="bf16", device="NVIDIA A100-SXM4-80GB", layers=("layer0.ffn1.w",),
    )  # fmt: skip
    measured = [replace(product(4096, 1e12), device=block.device), block]
    (rate,) = fit_experiments([experiment(*measured)], "x").throughput
    assert (rate.accelerator, rate.stack, rate.layers) == (
        "a100-sxm4-80gb", "plain", ("layer0.ffn1.w",)
    )  # fmt: skip
    assert rate.pass_s == pytest.approx(0.02)
    on_cpu = fit_experiments([experiment(*(replace(s, device="cpu") for s in measured))], "x")
    assert on_cpu.throughput[0].accelerator == "cpu"


@pytest.mark.evidence
@pytest.mark.slow
def test_this_machine_times_a_block_where_there_is_torch() -> None:
    pytest.importorskip("torch")
    found = run(Request(20.0, workload="transformer-base")).compute
    (block,) = (speed for speed in found if speed.kind == "block")
    assert (block.name, block.batch, block.device) == ("transformer-base", 1, "cpu")
    assert block.layers
    assert block.flop_per_s < max(speed.flop_per_s for speed in found)


def test_a_wrong_workload_is_refused_before_anything_starts() -> None:
    with pytest.raises(ArgumentError, match="no block of gnmt-v2"):
        run(Request(5.0, workload="gnmt-v2"))
