"""Memory by stage, against figure 1 of Korthikanti et al. and what users found."""

from __future__ import annotations

import numpy as np
import pytest

from dse.model.parallel.layouts import FULL, HSDP, NONE, SELECTIVE, Layouts
from dse.model.parallel.memory import (
    PARTS,
    Kept,
    States,
    bytes_by_stage,
    heaviest_bytes,
    kept_bytes,
)
from tests.model.parallel import shapes
from tests.model.parallel.shapes import layout

PAPER = Kept()


def parts(model: shapes.Transformer, at: Layouts, stage: int = 0) -> dict[str, float]:
    every = bytes_by_stage(model, at, "even", PAPER, States())
    return {name: float(values[stage, 0]) for name, values in every.items()}


@pytest.mark.parametrize(
    ("model", "pipeline", "virtual", "micro_batch", "none", "selective"),
    [
        (shapes.gpt(6144, 48, 64), 1, 1, 4, 63.619, 10.268),
        (shapes.gpt(12_288, 96, 96), 8, 3, 1, 71.773, 13.262),
    ],
)
def test_activations_of_figure_1(
    model: shapes.Transformer,
    pipeline: int,
    virtual: int,
    micro_batch: int,
    none: float,
    selective: float,
) -> None:
    """GB of the first stage, as the authors computed them (arXiv 2205.05198)."""
    for recompute, split, published in ((NONE, False, none), (SELECTIVE, True, selective)):
        at = layout(
            tensor=8, pipeline=pipeline, virtual=virtual, micro_batch=micro_batch, passes=64,
            sequence=2048, sequence_parallel=split, recompute=recompute, schedule="interleaved",
        )  # fmt: skip
        assert parts(model, at)["activations_bytes"] / 1e9 == pytest.approx(published, rel=1e-3)


def test_states_by_recipe() -> None:
    """Bytes a parameter: the distributed optimizer shards neither weights nor gradients."""
    model, d = shapes.LLAMA_8B, 8
    keys = ("weights_bytes", "gradients_bytes", "master_bytes", "optimizer_bytes")
    for zero, each in ((0, 18), (1, 6 + 12 / d), (2, 2 + 16 / d), (3, 18 / d)):
        found = parts(model, layout(data=d, zero=zero))
        assert sum(found[key] for key in keys) == pytest.approx(each * model.params, rel=1e-6)
    assert parts(model, layout(data=d, zero=3))["working_bytes"] > 0  # two units gathered


def test_stages_of_a_decoder_keep_what_the_encoder_made() -> None:
    """All stages have the parameters, and three copies of the table in place of one; a decoder's
    layer keeps less, of fewer tokens."""
    model, at = shapes.T5_LARGE, layout(pipeline=4, sequence=512, passes=4)
    found = [parts(model, at, stage) for stage in range(4)]
    whole = sum(each["weights_bytes"] for each in found) / States().weights
    assert whole == pytest.approx(model.params + 2 * 32_128 * 1024, rel=1e-6)
    (encoder, _), (decoder, _) = model.runs
    none = np.zeros(1)
    read, written = (float(kept_bytes(b, at.cut, PAPER, none)[0]) for b in (encoder, decoder))
    assert found[1]["activations_bytes"] == pytest.approx(3 * 12 * read)
    made = 2 * 512 * 1024
    assert found[2]["activations_bytes"] == pytest.approx(2 * (12 * written + made))
    # Of 114 tokens, but for keys and values across, and their scores.
    token = 15 * 1024 + 2 * (2 * 1024 + 2 * 1024) + 2 * 2 * 1024 + 4 * 4096
    scores = 5 * 16 * (114 + 512)
    assert written == pytest.approx(114 * (token + scores) + 2 * 2 * 1024 * 512)
    logits = 8 * 114 * 32_128
    assert found[3]["logits_bytes"] == pytest.approx(logits)


def test_context_shards_the_optimizer_too() -> None:
    a, b = (parts(shapes.LLAMA_8B, layout(data=n, context=c, zero=1)) for n, c in ((8, 1), (2, 4)))
    assert a["optimizer_bytes"] == b["optimizer_bytes"]
    assert a["activations_bytes"] == pytest.approx(4 * b["activations_bytes"])


def test_copies_of_tokens_are_not_divided_by_experts() -> None:
    """A rank of balanced experts has as many copies, however many ranks share them."""
    few, many = (
        parts(shapes.MIXTRAL, layout(data=8, expert=e))["activations_bytes"] for e in (1, 8)
    )
    assert few == many
    one = parts(shapes.llama(4096, 32, 32, 8, 14_336), layout(data=8))["activations_bytes"]
    copied = 8 * 32 * 4096 * (2 * (4 * 4096 + 4 * 14_336) - 4 * 14_336) / 8
    assert few - one == pytest.approx(copied)


def test_the_heaviest_stage_counts() -> None:
    """Of 1F1B the first keeps most micro-batches; the last has the logits."""
    model, at = shapes.LLAMA_70B, layout(tensor=8, pipeline=8, passes=64, recompute=FULL)
    first, last = (parts(model, at, stage) for stage in (0, 7))
    assert first["activations_bytes"] == 8 * last["activations_bytes"]
    assert first["logits_bytes"] == 0 < last["logits_bytes"]
    heaviest = float(heaviest_bytes(model, at, "even", PAPER, States()).sum())
    assert heaviest == pytest.approx(max(sum(first.values()), sum(last.values())))


def test_states_of_experts_are_sharded_over_their_own_copies() -> None:
    """ZeRO-1: over ``t c n / (e e_t)``; HSDP: over those of a node."""
    keys = ("master_bytes", "optimizer_bytes")
    model = shapes.MIXTRAL
    routed = sum(block.experts * block.expert_params * count for block, count in model.runs)
    wide = parts(model, layout(tensor=8, data=8, zero=1))
    rest = 12 * (model.params - routed) / 64
    assert sum(wide[k] for k in keys) == pytest.approx(12 * routed / 64 + rest, rel=0.02)
    at = layout(data=64, expert=8, zero=HSDP)
    assert (at.shards[0], at.expert_shards[0]) == (8, 1)
    assert layout(data=12, zero=HSDP).shards[0] == 4  # that divides both twelve and eight


def test_what_no_tensor_rank_splits_is_whole() -> None:
    """Down-projections of latent attention, norms and positions."""
    one, eight = (parts(shapes.DEEPSEEK_V3, layout(tensor=t)) for t in (1, 8))
    block = shapes.DEEPSEEK_V3.runs[1][0]
    whole = 2 * 61 * (block.down_params + block.whole_params)
    assert one["weights_bytes"] - 8 * eight["weights_bytes"] < -7 * whole


def test_every_stage_and_part() -> None:
    model, at = shapes.LLAMA_70B, layout(tensor=8, pipeline=8, passes=64)
    every = bytes_by_stage(model, at, "even", PAPER, States())
    assert tuple(every) == PARTS
    whole = sum(every.values())
    assert whole.shape == (8, 1)
    assert whole.max() == heaviest_bytes(model, at, "even", PAPER, States()).sum()


def test_sequences_are_whole_at_times() -> None:
    """Tensor ranks that share a sequence gather it for their products."""
    whole, split = (
        parts(shapes.LLAMA_8B, layout(tensor=8, sequence_parallel=s))["working_bytes"]
        for s in (False, True)
    )
    assert split - whole == 2.5 * 2 * 4096 * 4096


def test_frozen_weights_have_neither_gradients_nor_moments() -> None:
    """Adapters of rank 16 beside every product of Llama 3 8B: 41.9 million parameters."""
    model = shapes.LLAMA_8B
    share = model.trained(16)
    assert share * model.params == pytest.approx(41_943_040)
    whole, few = (
        bytes_by_stage(model, layout(data=8), "even", PAPER, States(trained=trained))
        for trained in (1.0, share)
    )
    assert float(few["weights_bytes"][0, 0]) == pytest.approx(2 * (model.params + 41_943_040))
    for part in ("gradients_bytes", "master_bytes", "optimizer_bytes"):
        assert float(few[part][0, 0]) == pytest.approx(share * float(whole[part][0, 0]))
