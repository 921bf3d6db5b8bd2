"""llm-analysis asked how long given steps take; run by its own environment's Python.

Standard input: the steps as JSON. Prints JSON. Its own boards where it has them, else it is told
the data sheet's numbers. It has formats of 16 and 8 bits, and transformers of equal blocks only.
"""

from __future__ import annotations

import json
import logging
import sys
from importlib.metadata import version
from typing import Any

from llm_analysis.analysis import ActivationRecomputation, LLMAnalysis
from llm_analysis.config import (
    DtypeConfig,
    GPUConfig,
    ModelConfig,
    get_gpu_config_by_name,
)
from llm_analysis.logger import logger

GPU = {
    "a100-sxm4-80gb": "a100-sxm-80gb",
    "a100-sxm4-40gb": "a100-sxm-40gb",
    "a100-pcie-40gb": "a100-pcie-40gb",
    "h100-sxm": "h100-sxm-80gb",
    "h100-pcie": "h100-pcie-80gb",
    "v100-sxm2-16gb": "v100-sxm-16gb",
    "v100-sxm2-32gb": "v100-sxm-32gb",
    "rtx-a6000": "a6000-48gb",
}
BITS = {"fp16": 16, "bf16": 16, "fp8": 8}
# Its default, and what a comment beside that default says Megatron-LM reaches.
WAYS = {"default (100 % of the peak)": None, "50 % of the peak": 0.5}
GIGA, TERA = 1e9, 1e12


def main() -> None:
    """Ask, print."""
    logger.setLevel(logging.CRITICAL)
    steps = json.load(sys.stdin)
    ways = {way: [rate(step, share) for step in steps] for way, share in WAYS.items()}
    print(json.dumps({"version": version("llm-analysis"), "ways": ways}))


def rate(step: dict[str, Any], share: float | None) -> float | None:
    """Samples/s; None where it has no words for the step."""
    shape, bits = step["shape"], BITS.get(step["precision"])
    if shape is None or bits is None:
        return None
    model = ModelConfig(
        name=step["workload"],
        num_layers=shape["layers"],
        n_head=shape["heads"],
        hidden_dim=shape["hidden"],
        vocab_size=shape["vocabulary"],
        max_seq_len=shape["tokens"],
        num_key_value_heads=shape["kv_heads"],
    )
    kind = DtypeConfig(f"w{bits}a{bits}e16", bits, bits, 16)
    analysis = LLMAnalysis(model, board(step), kind, flops_efficiency=share)
    batch, full = step["batch"], ActivationRecomputation.FULL
    # Told all three, it does not stop at its own estimate of what fits, which times do not need.
    found = analysis.training(
        batch_size_per_gpu=batch,
        gradient_accumulation_steps=1,
        global_batch_size=batch,
        seq_len=shape["tokens"],
        activation_recomputation=full if step["recomputed"] else ActivationRecomputation.NONE,
    )
    return batch / float(found["latency_per_iter"])


def board(step: dict[str, Any]) -> GPUConfig:
    """Its own, or one of the data sheet's peak and memory."""
    if step["accelerator"] in GPU:
        return get_gpu_config_by_name(GPU[step["accelerator"]])
    peak = step["peak_flops_per_s"] / TERA
    return GPUConfig(
        name=step["accelerator"],
        mem_per_GPU_in_GB=(step["memory_bytes"] or 0.0) / GIGA,
        hbm_bandwidth_in_GB_per_sec=step["memory_bytes_per_s"] / GIGA,
        intra_node_bandwidth_in_GB_per_sec=0.0,
        intra_node_min_message_latency=0.0,
        peak_fp16_TFLOPS=peak,  # of the two the one that the step's format asks for
        peak_i8_TFLOPS=peak,
    )


if __name__ == "__main__":
    main()
