"""dse.model.memory: what a step needs of an accelerator's memory, term by term."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.model.memory import Kept, needed_bytes
from dse.model.precision import PRECISIONS, trained_in
from dse.model.stack import Footprint

PARAMS = 7e6
FP32, FP16 = PRECISIONS["fp32"], PRECISIONS["fp16"]
TAKES = Footprint(
    bucket_copy=1.0, communication_bytes=4e8, context_bytes=1e9, reserved=0.05, slack=0.03
)


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
    assert float(kept.sample_bytes(FP16, False, fused=False)) == pytest.approx(whole)
    without = 34 * blocks * tokens * hidden
    assert float(kept.sample_bytes(FP16, False, fused=True)) == pytest.approx(without)


def test_masks_take_a_byte_in_any_format_unless_written_out() -> None:
    kept = Kept(elems=10, masks=3, written_out=5, scores=7, logits=2)
    assert float(kept.sample_bytes(FP32, False, fused=False)) == 40 + 3 + 7 * 9 + 2 * 16
    assert float(kept.sample_bytes(FP16, False, fused=False)) == 20 + 3 + 7 * 5 + 2 * 14
    assert float(kept.sample_bytes(FP32, True, fused=False)) == 60 + 12 + 7 * 12 + 2 * 16
    fused = kept.sample_bytes(FP16, False, fused=np.array([True, False]))
    assert fused.tolist() == [51, 86]


def test_needed_is_state_and_activations_and_what_software_takes() -> None:
    bare = needed_bytes(PARAMS, 6e6, 10, FP32, 8.0, Footprint())
    assert float(bare) == PARAMS * (4 + 4 + 8) + 6e7
    mixed = needed_bytes(PARAMS, 6e6, 10, FP16, 8.0, Footprint())
    assert float(mixed) == PARAMS * (2 + 4 + 4 + 8) + 6e7
    half = needed_bytes(PARAMS, 6e6, 10, trained_in("fp16", "fp16"), 8.0, Footprint())
    assert float(mixed - half) == 2 * PARAMS
    alone = needed_bytes(PARAMS, 6e6, 10, FP32, 8.0, TAKES, gpus=1, memory_bytes=16e9)
    assert float(alone) == pytest.approx(1.03 * float(bare) + 1e9)
    several = needed_bytes(PARAMS, 6e6, 10, FP32, 8.0, TAKES, gpus=8, memory_bytes=16e9)
    assert float(several - alone) == pytest.approx(1.03 * 4 * PARAMS + 4e8)


def test_a_framework_sets_a_share_of_a_large_memory_aside() -> None:
    small, large = needed_bytes(
        PARAMS, 6e6, 10, FP32, 8.0, TAKES, memory_bytes=np.array([10e9, 80e9])
    )
    assert large - small == pytest.approx(0.05 * 80e9 - 1e9)


def test_unknown_activations_leave_memory_unknown() -> None:
    kept = Kept(float("nan"), logits=4.0)
    assert not kept.known
    assert np.isnan(kept.sample_bytes(FP32, False, fused=False))
