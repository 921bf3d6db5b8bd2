"""What fits into the memory of an accelerator, beside what was run and what ran out of memory."""

from __future__ import annotations

from dataclasses import replace

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
    assert (len(rooms), sum(bool(room.too_little) for room in rooms)) == (14, 10)
    assert np.all(risks > DOUBT)


def test_nothing_ran_with_more_than_what_failed() -> None:
    """BERT base read as BERT large would have."""
    failed = {replace(run, batch=0, outcome=""): run.batch for run in outcome(OUT)}
    most = [failed.get(replace(run, batch=0, outcome=""), np.inf) for run in outcome(RAN)]
    assert np.all(np.array([run.batch for run in outcome(RAN)]) < most)


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
