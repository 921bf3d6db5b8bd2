"""Memory of a rank by stage: a table of parts, a row each, and their bytes.

What a rank holds is of three kinds: states of its parameters, what its micro-batches in flight keep
for their backward pass, and what is there for one of them at a time. The heaviest stage counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dse.model.arrays import Array
from dse.model.parallel.layouts import FULL, SELECTIVE, Layouts
from dse.model.parallel.mesh import Mesh
from dse.model.parallel.schedules import SCHEDULES, Stages, in_order, of_kinds
from dse.model.parallel.shape import Block, Transformer
from dse.model.parallel.sharding import Cut
from dse.model.precision import HALF

GATHERED = 2.5  # sequences whole at a time, where tensor ranks split them between products


@dataclass(frozen=True)
class Kept:
    """Bytes that a layer keeps of a token for the backward pass, for each element of a width.

    hidden: of what tensor ranks split only by tokens, between the parts. projected: of queries,
    keys and values. output: of what attention returns. ffn: of the feed-forward part. score: of a
    pair of tokens and head, where attention is no kernel. routed: of a copy's hidden width in an
    expert. logit: of a logit, with the loss. Korthikanti et al., arXiv 2205.05198, equation 2, is
    ``10 h + 2 (q + 2 kv) + 2 q + 4 f + 5 a s``. All of 16 bits; word: bytes of an activation.
    """

    hidden: float = 10.0
    projected: float = 2.0
    output: float = 2.0
    ffn: float = 4.0
    score: float = 5.0
    routed: float = 4.0
    logit: float = 8.0
    word: float = HALF


@dataclass(frozen=True)
class States:
    """Bytes of a parameter: weights, gradients, fp32 master copy, moments of the optimizer.

    trained: share of the parameters that have all but weights; where it is not all, they are beside
    those.
    """

    weights: float = 2.0
    gradients: float = 4.0
    master: float = 4.0
    moments: float = 8.0
    trained: float = 1.0


PARTS = ("weights_bytes", "gradients_bytes", "master_bytes", "optimizer_bytes", "activations_bytes",
         "logits_bytes", "working_bytes")  # fmt: skip


def block_params(block: Block, mesh: Mesh) -> tuple[Array, Array]:
    """Parameters of a layer on a rank: of all but experts, and of experts."""
    copied = 2 * block.hidden * block.kv * (np.maximum(1.0, mesh.tensor / block.kv_heads) - 1)
    split = block.attention_params + block.dense_params
    repeated = block.hidden * block.experts + block.down_params  # by every tensor rank
    dense = (split - repeated + copied + block.split_bias_params) / mesh.tensor
    dense = dense + repeated + block.whole_params
    experts = block.experts * block.expert_params / (mesh.expert * mesh.expert_tensor)
    return dense, experts


class StageParams(NamedTuple):
    """Parameters of a rank of each kind of stage, (kinds, points): of all but experts, of experts,
    of its largest unit (a layer, an embedding, a head), which fully sharded training gathers one by
    one."""

    dense: Array
    experts: Array
    unit: Array


def stage_params(model: Transformer, found: Stages, mesh: Mesh) -> StageParams:
    """Parameters of a rank of stages.

    A tied head that stands on another stage than the embedding has a copy of its weights.
    """
    words = model.vocabulary * model.hidden
    table = found.embedding * (words / mesh.tensor + (model.embedding_params - words))
    shared = found.embedding * float(model.tied)
    norm = model.head_params - (0 if model.tied else words)
    head = found.head * ((1 - shared) * words / mesh.tensor + norm)
    dense, experts, unit = table + head, np.zeros_like(head), np.maximum(table, head)
    for (block, _), count in zip(model.runs, found.layers, strict=True):
        own, routed = block_params(block, mesh)
        dense, experts = dense + count * own, experts + count * routed
        unit = np.maximum(unit, (count > 0) * (own + routed))
    return StageParams(dense, experts, unit)


def kept_bytes(block: Block, cut: Cut, kept: Kept, recompute: Array) -> Array:
    """Bytes that one layer keeps of a micro-batch.

    Selective recomputation leaves the scores out, full recomputation all but a layer's input.
    """
    cut, t = cut.of(block), cut.tensor
    wide = kept.ffn * (block.ffn + block.shared_ffn)
    latent = block.latent
    if latent is None:
        keys = 2 * block.kv * np.maximum(1.0, t / block.kv_heads)
        widths = block.query * block.attentions + keys * sum(block.lengths)
    else:
        heads = block.heads * (2 * (latent.plain + latent.rotary) + latent.value)
        widths = np.asarray(float(latent.query_rank + latent.kv_rank + heads))
    projected = kept.projected * widths
    split = cut.tokens / t * (projected + kept.output * block.value * block.attentions + wide)
    whole = cut.own_tokens * kept.hidden * block.hidden * (block.attentions + 1) / 2
    routed = cut.routed(block) * (
        kept.routed * block.hidden + kept.ffn * block.expert_ffn / cut.expert_tensor
    )
    scores = kept.score * sum(block.lengths) * block.heads / t * cut.tokens * cut.sequence
    scores = np.where(recompute == SELECTIVE, 0.0, scores)
    inputs = kept.word * block.hidden * cut.own_tokens
    every = (whole + split + routed * bool(block.experts) + scores) * (kept.word / HALF)
    return np.where(recompute == FULL, inputs, every)


def stage_bytes(
    model: Transformer, found: Stages, at: Layouts, kept: Kept, states: States
) -> Mapping[str, Array]:
    """Bytes of each of :data:`PARTS` on a rank of each kind of stage, (kinds, points).

    zero: 1 shards master and moments over the data group, 2 the gradients too, 3 the weights too.
    Of what is sharded, two units at a time are whole (ZeRO, SC 2020; FSDP, arXiv 2304.11277).
    """
    mesh, cut = at.mesh, at.cut
    params = stage_params(model, found, mesh)
    shares = (at.shards, at.expert_shards)

    def sharded(each: float, least: int) -> Array:
        parts = zip((params.dense, params.experts), shares, strict=True)
        return np.asarray(sum(
            each * own / np.where(at.zero >= least, share, 1.0) for own, share in parts
        ))  # fmt: skip

    whole = (at.zero >= 3) * states.weights + (at.zero >= 2) * states.gradients * states.trained
    gathered = np.where(at.shards > 1, 2 * params.unit * whole, 0.0)
    flight = SCHEDULES[at.schedule].kept(at.line, found.first)
    layers = working = np.zeros_like(params.dense)
    none = np.zeros(())
    for (block, _), count in zip(model.runs, found.layers, strict=True):
        layers = layers + count * kept_bytes(block, cut, kept, at.recompute)
        if block.cross:  # what the encoder made
            layers = layers + (count > 0) * kept.word * model.hidden * cut.own_tokens
        again = np.where(at.recompute == FULL, kept_bytes(block, cut, kept, none), 0.0)
        working = np.maximum(working, (count > 0) * again)
    parted = at.sequence_parallel & (mesh.tensor > 1)
    working = working + np.where(parted, GATHERED * kept.word * model.hidden * cut.tokens, 0.0)
    logits = kept.logit * cut.tokens * model.written * model.vocabulary / mesh.tensor * found.head
    return {
        "weights_bytes": sharded(states.weights * (1 + states.trained % 1), 3),
        "gradients_bytes": sharded(states.gradients * states.trained, 2),
        "master_bytes": sharded(states.master * states.trained, 1),
        "optimizer_bytes": sharded(states.moments * states.trained, 1),
        "activations_bytes": np.asarray(layers * flight),
        "logits_bytes": np.asarray(logits),
        "working_bytes": np.asarray(working + gathered),
    }


def bytes_by_stage(
    model: Transformer, at: Layouts, rule: str, kept: Kept, states: States
) -> Mapping[str, Array]:
    """Bytes of each of :data:`PARTS` on a rank of each stage in order, (p, points), of layouts of
    one number of stages and of virtual stages."""
    (kinds,), _ = at.staged(model, rule)
    # Each by itself: those alike keep activations of fewer micro-batches, the later they are.
    each = in_order(kinds)
    which = np.zeros(np.shape(at.mesh.gpus), dtype=np.int64)
    return stage_bytes(model, of_kinds([each], which), at, kept, states)


def heaviest_bytes(model: Transformer, at: Layouts, rule: str, kept: Kept, states: States) -> Array:
    """Bytes of each of :data:`PARTS` on a rank of the heaviest stage, (parts, points)."""
    _, found = at.staged(model, rule)
    parts = stage_bytes(model, found, at, kept, states)
    every = np.stack(np.broadcast_arrays(*parts.values()))
    heaviest = every.sum(axis=0).argmax(axis=0)
    return np.asarray(np.take_along_axis(every, heaviest[None, None], 1)[:, 0])
