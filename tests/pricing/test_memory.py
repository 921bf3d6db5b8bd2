"""What fits into the memory of an accelerator, beside what was run and what ran out of memory."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.accuracy.memory import INCONSISTENT, OUT, RAN, Run, runs
from dse import catalog
from dse.model.kept import Kept
from dse.model.normal import NORMAL_90
from dse.model.precision import PRECISIONS
from dse.pricing import devices
from dse.pricing.network import model_layers

PEAK_FP32 = 15.7e12  # FLOP/s of V100
# samples/s of one V100 in fp32, as the table of BioBERT has them
RATES = {("bert-large-s128", 32): 744.48 / 8, ("bert-large-s128", 128): 2165.04 / 16,
         ("bert-large-s512", 8): 160.38 / 8, ("bert-large-s512", 16): 416.92 / 16}  # fmt: skip


def outcome(*kinds: str) -> list[Run]:
    return [run for run in runs() if run.outcome in kinds]


@pytest.mark.parametrize("gpus", [1, 8, 256])
@pytest.mark.parametrize("run", outcome(RAN), ids=str)
def test_what_ran_is_not_refused(run: Run, gpus: int) -> None:
    assert not run.room(gpus).too_little


def test_what_ran_out_of_memory_is_refused_or_told_that_it_may() -> None:
    """Of eight, four are refused; of the others all but one are held to fit rather not."""
    rooms = [run.room() for run in outcome(OUT)]
    risks = np.array([float(room.out_of_memory) for room in rooms])
    assert len(rooms) == 8
    assert sum(bool(room.too_little) for room in rooms) == 4
    assert np.sum(risks > 0.5) == 7


@pytest.mark.parametrize("run", outcome(INCONSISTENT), ids=str)
def test_what_is_refused_though_published_states_more_than_the_peak(run: Run) -> None:
    assert run.room().too_little
    flops = 3 * catalog.workload(run.workload).forward_flops
    assert RATES[run.workload, int(run.batch)] * flops > PEAK_FP32


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
