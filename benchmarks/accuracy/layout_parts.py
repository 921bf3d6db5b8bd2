"""Parts of layouts that were measured by themselves: layers, stages, schedules.

benchmarks/data/layout_parts.csv has what Galvatron's profiler measured of Llama-2-7B cut to few
layers, on accelerators that by their rates are A100. benchmarks/data/schedules.csv has what a user
of zero-bubble schedules reports of one model on eight H800; stages, micro-batches and their size
are not in the report, so these are as in the schedules' paper (arXiv 2401.10241), recalled.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from benchmarks.accuracy.layouts import DATA, Row, laid_out, memory_gb, models, step_model, steps
from dse.catalog.stacks import layout_stacks
from dse.model.parallel.memory import Kept, States, kept_bytes, stage_bytes
from dse.model.parallel.schedules import stages
from dse.model.parallel.sharding import layer

# Of what logits take with their loss, 8 bytes each, 2 are gradients: none after a forward pass.
WITHOUT_GRADIENTS = 6 / 8
KNOWN = 3  # batches of a layer that a factor is fitted on
PLAIN: Row = {
    "source": "parts", "model": "llama2-7b", "stack": "megatron", "device": "a100-sxm4-80gb",
    "cards_gbps": "800", "gpus": "8", "node": "8", "precision": "bf16", "sequence": "2048",
    "tensor": "1", "context": "1", "pipeline": "1", "expert": "1", "data": "1", "virtual": "1",
    "schedule": "1f1b", "zero": "0", "micro_batch": "1", "global_batch": "1", "recompute": "0",
    "sequence_parallel": "1", "overlap": "1",
}  # fmt: skip
# Of the report on schedules; an H800 computes as an H100 does.
REPORTED = {"model": "gpt-6.2b", "device": "h100-sxm", "cards_gbps": "3200", "sequence": "1024",
            "pipeline": "8", "micro_batch": "3", "global_batch": "96"}  # fmt: skip


def _measured(what: str) -> list[Row]:
    with (DATA / "layout_parts.csv").open(newline="", encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if row["what"] == what]


def forward() -> np.ndarray:
    """Seconds of a layer's forward pass by batch, over those measured, without the first three,
    that a factor is fitted on. Measured: half of what four layers take more than two."""
    ms: dict[int, dict[str, float]] = {}
    for row in _measured("forward"):
        ms.setdefault(int(row["micro_batch"]), {})[row["layers"]] = float(row["value"])
    batches = sorted(ms)
    took = np.array([(ms[b]["4"] - ms[b]["2"]) / 2e3 for b in batches])
    at = laid_out([{**PLAIN, "micro_batch": str(b)} for b in batches], "1f1b")
    model = step_model(PLAIN)
    passes = layer(
        model.model.runs[0][0], at.cut, model.device, model.precision, model.wide or model.device,
        model.runtime.eager, model.runtime.fused_attention,
    )  # fmt: skip
    ratio = passes.forward_s / took
    return np.asarray(ratio[KNOWN:] / np.exp(np.log(ratio[:KNOWN]).mean()))


def activations() -> np.ndarray:
    """Bytes that the first and the last stage keep after a forward pass, over those measured; of
    layers one factor, fitted on those of a single layer by tensor degree."""
    stack, model = layout_stacks()["megatron"], models()["llama2-7b"]
    kept = Kept(**stack.kept)
    alone = _measured("layer")
    at = laid_out([{**PLAIN, "tensor": row["tensor"]} for row in alone], "1f1b")
    ahead = kept_bytes(model.runs[0][0], at.cut, kept, np.zeros(()))
    factor = np.exp(np.mean(np.log([float(row["value"]) for row in alone]) - np.log(ahead / 1e9)))
    ratios = []
    for row in _measured("stage"):
        cut = replace(model, runs=((model.runs[0][0], int(row["layers"])),))
        layout = laid_out([{**PLAIN, **{k: row[k] for k in ("tensor", "pipeline", "data")},
                            "micro_batch": row["micro_batch"]}], "1f1b")  # fmt: skip
        found = stages(cut, int(row["pipeline"]))
        stage = next(one for one in found if one.head == (row["stage"] == "last"))
        parts = stage_bytes(cut, stage, layout, kept, States())
        logits = WITHOUT_GRADIENTS * parts["logits_bytes"]
        total = factor * parts["activations_bytes"] + logits
        ratios.append(total[0] / 1e9 / float(row["value"]))
    return np.array(ratios)


def figure_1() -> np.ndarray:
    """Bytes of activations of the first stage, over those of Korthikanti et al."""
    kept = Kept(**layout_stacks()["megatron-2022"].kept)
    ratios = []
    for row in _measured("first"):
        model = models()["gpt-6144-48-64" if row["layers"] == "48" else "gpt-12288-96-96"]
        again = row["stage"] == "selective"
        deep = row["pipeline"] != "1"
        layout = laid_out([{
            **PLAIN, "tensor": row["tensor"], "pipeline": row["pipeline"],
            "micro_batch": row["micro_batch"], "global_batch": "256",
            "recompute": str(int(again)), "sequence_parallel": str(int(again)),
            "virtual": "3" if deep else "1",
        }], "interleaved")  # fmt: skip
        first = stages(model, int(row["pipeline"]), 3 if deep else 1)[0]
        parts = stage_bytes(model, first, layout, kept, States())
        ratios.append(parts["activations_bytes"][0] / 1e9 / float(row["value"]))
    return np.array(ratios)


def schedules() -> Mapping[str, np.ndarray]:
    """Times and memory over those of 1F1B, over what the report has of them."""
    with (DATA / "schedules.csv").open(newline="", encoding="utf-8") as file:
        told = list(csv.DictReader(file))
    found = [
        {**PLAIN, **REPORTED, "schedule": row["schedule"], "virtual": row["virtual"]}
        for row in told
    ]
    step, memory = steps(found).step_s, memory_gb(found)
    rates, gb = (np.array([float(row[k]) for row in told]) for k in ("samples_per_s", "memory_gb"))
    return {
        "time": (step / step[0] * rates / rates[0])[1:],
        "memory": (memory / memory[0] / gb * gb[0])[1:],
    }
