"""dse.model.kept and memory: what a step needs of an accelerator's memory, part by part."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.model.arrays import ArrayLike
from dse.model.compute import Layers, roofline_device
from dse.model.kept import Kept
from dse.model.memory import PARTS, Ledger, ledger
from dse.model.precision import PRECISIONS, Precision, trained_in
from dse.model.stack import FUSED, Footprint

PARAMS = 7e6
FP32, FP16 = PRECISIONS["fp32"], PRECISIONS["fp16"]
TAKES = Footprint(
    bucket_copy=1.0, communication_bytes=4e8, context_bytes=1e9, reserved=0.05, slack=0.03
)
LAYERS = Layers(np.array([PARAMS]), np.zeros(1), np.zeros(1), Kept(1.5e6), 0.0)


def bytes_of(kept: Kept, precision: Precision, written_out: bool, fused: ArrayLike) -> ArrayLike:
    return sum(kept.sample_bytes(precision, written_out, fused).values())


def needed(
    precision: Precision, takes: Footprint, gpus: ArrayLike = 1, memory_bytes: ArrayLike = 16e9
) -> Ledger:
    device = replace(roofline_device(1e13, 8e11, 16e9, 1e10, 0.5, 0.8), memory_bytes=memory_bytes)
    return ledger(LAYERS, device, replace(FUSED, footprint=takes), 10, precision, 8.0, gpus)


@given(
    tokens=st.integers(1, 2048),
    hidden=st.integers(64, 4096),
    heads=st.integers(1, 64),
    blocks=st.integers(1, 96),
)
def test_a_transformer_keeps_what_korthikanti_et_al_count(
    tokens: int, hidden: int, heads: int, blocks: int
) -> None:
    kept = Kept.of_blocks(blocks * tokens * hidden, blocks * heads * tokens**2, logits=0)
    whole = blocks * tokens * hidden * (34 + 5 * heads * tokens / hidden)
    assert float(bytes_of(kept, FP16, False, fused=False)) == pytest.approx(whole)
    without = 34 * blocks * tokens * hidden
    assert float(bytes_of(kept, FP16, False, fused=True)) == pytest.approx(without)


def test_masks_take_a_byte_in_any_format_unless_written_out() -> None:
    kept = Kept(elems=10, masks=3, written_out=5, scores=7, logits=2)
    assert float(bytes_of(kept, FP32, False, fused=False)) == 40 + 3 + 7 * 9 + 2 * 16
    assert float(bytes_of(kept, FP16, False, fused=False)) == 20 + 3 + 7 * 5 + 2 * 14
    assert float(bytes_of(kept, FP32, True, fused=False)) == 60 + 12 + 7 * 12 + 2 * 16
    fused = bytes_of(kept, FP16, False, fused=np.array([True, False]))
    assert fused.tolist() == [51, 86]


def test_needed_is_state_and_activations_and_what_software_takes() -> None:
    bare = needed(FP32, Footprint()).total_bytes
    assert float(bare) == PARAMS * (4 + 4 + 8) + 6e7
    mixed = needed(FP16, Footprint()).total_bytes
    assert float(mixed) == PARAMS * (2 + 4 + 4 + 8) + 3e7
    half = needed(trained_in("fp16", "fp16"), Footprint()).total_bytes
    assert float(mixed - half) == 2 * PARAMS
    alone = needed(FP32, TAKES).total_bytes
    assert float(alone) == pytest.approx(1.03 * float(bare) + 1e9)
    several = needed(FP32, TAKES, gpus=8).total_bytes
    assert float(several - alone) == pytest.approx(1.03 * 4 * PARAMS + 4e8)


def test_parts_have_a_row_each_and_add_up() -> None:
    found = needed(FP16, TAKES, gpus=np.array([1, 8]))
    of_layouts = "working_bytes"  # alone
    assert list(found) == [part for part in PARTS if part != of_layouts]
    assert len(found) == len(PARTS) - 1
    np.testing.assert_allclose(sum(found.values()), found.total_bytes, rtol=1e-12)
    assert float(found["master_bytes"]) == 4 * PARAMS
    assert found["buckets_bytes"].tolist() == [0, 4 * PARAMS]
    graph = replace(TAKES, written_out=frozenset({LAYERS.family}))  # in 32 bits
    copies = [needed(fmt, graph, gpus=np.array([1, 8]))["buckets_bytes"] for fmt in (FP16, FP32)]
    assert np.array(copies).tolist() == [[0, 4 * PARAMS], [4 * PARAMS, 12 * PARAMS]]
    assert float(found["scores_bytes"]) == 0


def test_a_framework_sets_a_share_of_a_large_memory_aside() -> None:
    small, large = needed(FP32, TAKES, memory_bytes=np.array([10e9, 80e9])).total_bytes
    assert large - small == pytest.approx(0.05 * 80e9 - 1e9)


def test_unknown_activations_leave_memory_unknown() -> None:
    kept = Kept(float("nan"), logits=4.0)
    assert not kept.known
    assert np.isnan(bytes_of(kept, FP32, False, fused=False))
