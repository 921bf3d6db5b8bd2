"""What fits into the memory of an accelerator, beside what was run and what ran out of memory."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.accuracy.memory import OUT, RAN, Run, runs
from dse import catalog
from dse.model.kept import Kept
from dse.model.memory import DOUBT
from dse.model.normal import NORMAL_90
from dse.model.precision import PRECISIONS
from dse.pricing import devices
from dse.pricing.network import model_layers

PEAK_FP32 = 15.7e12  # FLOP/s of V100
V100 = "v100-sxm2-32gb"
# samples/s of one V100 32 GB in fp32 by tokens and batch, as the table of BioBERT has them
RATES = {(128, 128): 2165.04 / 16, (512, 16): 416.92 / 16}


def outcome(kind: str) -> list[Run]:
    return [run for run in runs() if run.outcome == kind]


@pytest.mark.parametrize("gpus", [1, 8, 256])
@pytest.mark.parametrize("run", outcome(RAN), ids=str)
def test_what_ran_is_not_refused(run: Run, gpus: int) -> None:
    assert not run.room(gpus).too_little


def test_what_ran_out_of_memory_is_refused_or_told_that_it_may() -> None:
    """Of fourteen, ten are refused; none is held to fit."""
    rooms = [run.room() for run in outcome(OUT)]
    risks = np.array([float(room.out_of_memory) for room in rooms])
    assert len(rooms) == 14
    assert sum(bool(room.too_little) for room in rooms) == 10
    assert np.all(risks > DOUBT)


@pytest.mark.parametrize("setting", RATES, ids=str)
def test_biobert_trains_bert_base(setting: tuple[int, int]) -> None:
    """As BERT large its rates in fp32 would be above the peak of V100."""
    tokens, batch = setting
    assert Run("bert-base-s512", tokens, V100, "fp32", batch, RAN) in runs()
    base, large = (catalog.resized(f"bert-{size}-s512", tokens) for size in ("base", "large"))
    assert 3 * RATES[setting] * base.forward_flops < PEAK_FP32
    assert 3 * RATES[setting] * large.forward_flops > PEAK_FP32


def test_room_is_a_normal_error_of_the_logarithm() -> None:
    room = outcome(RAN)[0].room()
    low, high = room.free_ends
    has = float(np.asarray(room.memory_bytes))
    needed = has - float(room.free_bytes)
    assert has - needed * np.exp(NORMAL_90 * room.spread) == pytest.approx(float(low))
    assert low < room.free_bytes < high


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
