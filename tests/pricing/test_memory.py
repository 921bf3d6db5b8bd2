"""What fits into the memory of an accelerator, beside what was run and what ran out of memory."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from dse import catalog
from dse.model import memory
from dse.model.kept import Kept
from dse.model.precision import OPTIMIZER_STATE_BYTES, PRECISIONS
from dse.pricing import devices
from dse.pricing.network import model_layers

REFERENCE = Path(
    os.environ.get("DSE_REFERENCE", Path(__file__).parents[3] / "shared" / "reference")
)
RUNS = REFERENCE / "measurements/nvidia_training_throughput.csv"

# BERT large with LAMB that NVIDIA's tables say runs out of memory.
OUT_OF_MEMORY = [
    ("bert-large-s128", "v100-sxm2-32gb", "fp32", 60),
    ("bert-large-s128", "v100-sxm2-32gb", "fp32", 64),
    ("bert-large-s512", "v100-sxm2-32gb", "fp32", 10),
    ("bert-large-s128", "a100-sxm4-80gb", "tf32", 312),
    ("bert-large-s512", "a100-sxm4-80gb", "tf32", 40),
    ("bert-large-s512", "a100-sxm4-40gb", "tf32", 16),
]


def slack_bytes(
    workload: str,
    accelerator: str,
    precision: str,
    batch: float,
    gpus: int = 1,
    optimizer: str = "adam",
    stack: str = "vendor",
) -> float:
    """Bytes of memory left over; NaN where the activations are not known."""
    layers = model_layers(catalog.workload(workload))
    device = devices.alone(catalog.workload(workload), accelerator, precision, stack)
    software = devices.software(stack)
    numbers = PRECISIONS[precision]
    needed = memory.ledger(
        layers, device, software, batch, numbers, OPTIMIZER_STATE_BYTES[optimizer], gpus
    )
    return float(device.memory_bytes - needed.total_bytes)


@pytest.mark.parametrize("gpus", [1, 8])
@pytest.mark.parametrize(("workload", "accelerator", "precision", "batch"), OUT_OF_MEMORY)
def test_what_ran_out_of_memory_does_not_fit(
    workload: str, accelerator: str, precision: str, batch: int, gpus: int
) -> None:
    assert slack_bytes(workload, accelerator, precision, batch, gpus) < 0


# model and sequence length of the tables -> workload of the catalogue, its optimizer
NETWORKS = {
    ("BERT", "128"): ("bert-large-s128", "adam"),
    ("BERT", "512"): ("bert-large-s512", "adam"),
    ("GNMT", ""): ("gnmt-v2", "adam"),
}
DEVICES = {
    "A100 80GB": "a100-sxm4-80gb",
    "A100 40GB": "a100-sxm4-40gb",
    "V100 16GB": "v100-sxm2-16gb",
    "V100 32GB": "v100-sxm2-32gb",
    "DGX-1 With 32G": "v100-sxm2-32gb",
}
FORMATS = {"fp32": "fp32", "tf32": "tf32", "fp16_mixed": "fp16"}


def _per_pass(row: dict[str, str]) -> float | None:
    """Samples of one pass. BERT's tables give full and mixed precision in one field; samples by the
    thousand are those of a step."""
    batches, passes = (
        [float(number) for number in re.findall(r"\d+", row[key])]
        for key in ("batch_size_field", "grad_accum_field")
    )
    if not batches:
        return None
    mixed = row["precision"] == "fp16_mixed"
    batch = batches[-1 if mixed else 0]
    return batch / passes[-1 if mixed else 0] if batch >= 1000 and passes else batch


def _runs() -> Iterator[tuple[str, str, str, float, int, str]]:
    with RUNS.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            network = NETWORKS.get((row["model"], row["seq_len"].removesuffix(".0")))
            device = next((key for name, key in DEVICES.items() if name in row["device"]), None)
            batch = _per_pass(row) if network and device else None
            if network and device and batch:
                precision = FORMATS[row["precision"]]
                yield network[0], device, precision, batch, int(float(row["n_gpus"])), network[1]


@pytest.mark.skipif(not RUNS.exists(), reason="needs $DSE_REFERENCE")
def test_what_ran_fits() -> None:
    runs = list(_runs())
    judged = [run for run in runs if not np.isnan(slack_bytes(*run))]
    assert len(judged) >= 60
    assert {run[0] for run in judged} == {"bert-large-s128", "bert-large-s512"}
    assert [run for run in judged if slack_bytes(*run) < 0] == []


def kept_bytes(kept: Kept, fused: bool) -> float:
    return float(sum(kept.sample_bytes(PRECISIONS["bf16"], False, fused).values()))


def test_llama_3_8b_keeps_what_its_makers_code_was_seen_to_keep() -> None:
    """torchtitan, docs/performance.md (accessed 2026-11-25): 82.4 GiB on each of 8 H100, two
    samples of 8,192 tokens in bf16, weights, gradients and Adam (16 bytes a parameter) sharded,
    some of the activations computed again. Kept whole they are more, but not twice as many; with
    every attention score they would be ten times as many."""
    network = catalog.workload("llama3-8b")
    layers = model_layers(network)
    device = devices.alone(network, "h100-sxm", "bf16", "plain")
    assert devices.software("plain").fuses(layers.family)
    assert np.isfinite(device.attention_flops)
    kept = kept_bytes(layers.kept, fused=True)
    seen = (82.4 * 2**30 - 16 * layers.total_params / 8) / 2
    assert seen < kept < 2 * seen
    assert kept_bytes(layers.kept, fused=False) > 9 * seen
