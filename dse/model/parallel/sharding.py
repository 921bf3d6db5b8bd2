"""What a rank computes of a layer: its products, its attention and what it moves, by degree.

A product says by its sizes how it is cut: its columns or its rows by the tensor degree, its heads,
its tokens by context, its groups by expert; what no degree cuts every rank repeats. Of a layer and
micro-batch of b sequences of s tokens a rank has ``T = b s / c`` tokens::

    q, k, v            (T, h) x (h, (q + 2 kv) / t)      output  (T, q / t) x (q / t, h)
    up, gate           (T, h) x (h, g f / t)             down    (T, f / t) x (f / t, h)
    latent down        (T, h) x (h, r)   not cut         latent up  columns by t
    router             (T / t, h) x (h, E)  with sequence parallelism
    experts            E / e groups of (T k e_t e / (t E), h) x (h, g f_e / e_t), and back

Backward a product has ``(M, N) x (N, K)`` for its input and ``(K, M) x (M, N)`` for its weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from dse.model.arrays import Array, ArrayLike, Mask
from dse.model.compute import (
    BACKWARD_FLOPS,
    BACKWARD_FUSED_ATTENTION,
    FORWARD_SHARE,
    FP8_CAST_BYTES,
    SCORE_ELEMS,
    Device,
)
from dse.model.parallel.shape import Block
from dse.model.precision import PRECISIONS, Precision
from dse.model.products import product_s

# Elements moved by both passes, fused and eager, of each of so many elements:
NORM, RMS_NORM = (5.0, 11.0), (5.0, 46.0)
RESIDUAL, RESIDUAL_DROPOUT = (4.0, 6.0), (4.0, 11.0)
GELU, GATED = (5.0, 9.0), (8.0, 13.0)
ROTARY, TURNED = (4.0, 20.0), (0.0, 8.0)
ROUTED = (6.0, 6.0)  # a token to an expert and back
EXPERT_PROBABILITIES = (10.0, 20.0)
SCATTERED = 0.5  # of the memory's bandwidth, where tokens are permuted
# Of the rows of a group at which products for its weights take twice what the law says, those at
# which others do: forward, for inputs, for weights (SimuMax's operators of B200 and A100).
GROUPED = (1 / 3, 1 / 2, 1.0)
BATCHED = 1 / 0.7  # of the two products of attention that is no kernel, on the law
# Tiles of 128 queries for each unit at which an attention kernel reaches half of its rate, forward
# and backward: between A100 (1.7, 0.7) and B200 (3.7, 0.9), SimuMax's operators. The catalogue's
# rates are of so many tiles: 64 heads of 4,096 tokens.
QUERIES, HALF_FILLED, USUAL_TILES = 128, (2.5, 0.8), 14.0
WIDE_HEAD, WIDE_RATES = 128.0, (0.93, 0.79)  # of the rate, where a head is wider (ibid.)
WIDE = PRECISIONS["bf16"]  # of products that stay in 16 bits


@dataclass(frozen=True)
class Cut:
    """How layers are cut, and what a micro-batch brings; arrays (points,).

    tensor, context, expert, expert_tensor: degrees. sequence_parallel: what is not split by tensor
    is split by tokens. micro_batch: sequences of a micro-batch; sequence: tokens of one.
    imbalance: tokens of the busiest expert's rank, of the mean. capacity: tokens that an expert
    computes, of the mean, empty places among them; 0 where it takes all that come.
    """

    tensor: Array
    context: Array
    expert: Array
    expert_tensor: Array
    sequence_parallel: Mask
    micro_batch: Array
    sequence: Array
    imbalance: ArrayLike = 1.0
    capacity: ArrayLike = 0.0

    @property
    def tokens(self) -> Array:
        """``T = b s / c``."""
        return self.micro_batch * self.sequence / self.context

    @property
    def own_tokens(self) -> Array:
        """Of a rank between tensor-parallel parts: ``T / t`` with sequence parallelism."""
        return self.tokens / np.where(self.sequence_parallel, self.tensor, 1.0)

    def of(self, block: Block) -> Cut:
        """For a block whose sequences have a length of their own."""
        return self if block.share == 1 else replace(self, sequence=self.sequence * block.share)

    def routed(self, block: Block) -> Array:
        """Copies of tokens in a rank's experts, the busiest's: ``T k e_t / t`` times the imbalance,
        or times the capacity factor."""
        spread = self.tokens * block.chosen * self.expert_tensor / self.tensor
        uneven = np.where(self.expert > 1, np.asarray(self.imbalance), 1.0)
        return spread * np.where(np.asarray(self.capacity) > 0, self.capacity, uneven)


@dataclass(frozen=True)
class Product:
    """``groups`` products ``(m, k) x (k, n)`` of a rank; arrays that broadcast to (points,).

    grouped: in one kernel of experts. wide: in 16 bits, whatever the format of others.
    """

    m: Array
    n: Array
    k: Array
    groups: ArrayLike = 1.0
    grouped: bool = False
    wide: bool = False


def products(block: Block, cut: Cut) -> Iterator[Product]:
    """The products of a layer's forward pass."""
    t, tokens, h = cut.tensor, cut.tokens, np.asarray(float(block.hidden))
    copied = np.maximum(1.0, t / block.kv_heads)  # keys and values, where heads are too few
    latent = block.latent
    if latent is None:
        yield Product(tokens, (block.query + 2 * block.kv * copied) / t, h)
        for length in block.lengths[1:]:  # of the encoder's tokens
            yield Product(tokens, block.query / t, h)
            yield Product(tokens * length, 2 * block.kv * copied / t, h)
    else:
        key = block.heads * (latent.plain + latent.rotary)
        down = (latent.query_rank or 0) + latent.kv_rank + latent.rotary
        yield Product(tokens, np.asarray(float(down)), h)
        rank = np.asarray(float(latent.query_rank or block.hidden))
        yield Product(tokens, key / t, rank)
        up = block.heads * (latent.plain + latent.value)
        yield Product(tokens, up / t, np.asarray(float(latent.kv_rank)))
    for _ in range(block.attentions):
        yield Product(tokens, h, block.value / t)
    wide = block.ffn + block.shared_ffn
    if wide:
        yield Product(tokens, block.halves * wide / t, h)
        yield Product(tokens, h, wide / t)
    if block.experts:
        yield Product(cut.own_tokens, np.asarray(float(block.experts)), h, wide=True)
        local = block.experts / cut.expert
        each, width = cut.routed(block) / local, block.expert_ffn / cut.expert_tensor
        yield Product(each, block.halves * width, h, local, grouped=True)
        yield Product(each, h, width, local, grouped=True)


def moved(block: Block, cut: Cut, eager: float) -> tuple[Array, Array]:
    """(elements in order, elements in no order) that both passes of a layer move.

    Norms and residuals are whole on every tensor rank but for sequence parallelism. eager: share of
    the way from fused to separate kernels.
    """

    def of(pair: tuple[float, float]) -> float:
        return pair[0] + eager * (pair[1] - pair[0])

    t, tokens = cut.tensor, cut.tokens
    norm = of(NORM if block.bias else RMS_NORM)
    residual = of(RESIDUAL_DROPOUT if block.dropout else RESIDUAL)
    whole = (block.attentions + 1) * (norm + residual) * block.hidden * cut.own_tokens
    turned = of(TURNED) + (of(ROTARY) if block.rotary else 0.0)
    activation = of(GATED if block.gated else GELU)
    wide = block.ffn + block.shared_ffn
    of_token = turned * block.attentions * (block.query + block.kv) + activation * wide
    split = np.asarray(of_token * tokens / t)
    routed = cut.routed(block)
    split = split + activation * block.expert_ffn / cut.expert_tensor * routed
    split = split + of(EXPERT_PROBABILITIES) * block.experts * cut.own_tokens
    return whole + split, of(ROUTED) * block.hidden * routed


class Passes(NamedTuple):
    """Seconds of one layer and micro-batch on a rank; arrays (points,).

    forward_s; inputs_s, weights_s: of both gradients, which some schedules part. core_s: of the
    attention in the forward pass, which selective recomputation redoes where it is no kernel.
    """

    forward_s: Array
    inputs_s: Array
    weights_s: Array
    core_s: Array

    @property
    def total_s(self) -> Array:
        """Both passes."""
        return self.forward_s + self.inputs_s + self.weights_s


def products_s(
    rows: Iterator[Product], device: Device, precision: Precision, wide: Device
) -> tuple[Array, Array, Array]:
    """Seconds of products: forward, for their inputs, for their weights. wide: the device in 16
    bits."""
    total: list[ArrayLike] = [0.0, 0.0, 0.0]
    for row in rows:
        law = wide.law if row.wide else device.law
        size = (WIDE if row.wide else precision).operand_bytes
        m, n, k, groups = row.m, row.n, row.k, np.asarray(row.groups)
        bytes_moved = (m * k + k * n + m * n) * groups * size
        split = not row.grouped
        parts = (
            product_s(m, n, k, groups, bytes_moved, law, False),
            product_s(m, k, n, groups, bytes_moved, law, split),
            product_s(k, n, m, groups, bytes_moved, law, split),
        )
        for at, (part, share) in enumerate(zip(parts, GROUPED, strict=True)):
            slower = row.grouped * share * np.asarray(device.grouped_rows) / m
            total[at] = total[at] + part * (1 + slower)
        if size < precision.activation_bytes:
            casts = groups * m * (k + n) * FP8_CAST_BYTES / device.reached_bytes_per_s
            total[0], total[1] = total[0] + casts / 3, total[1] + casts * 2 / 3
    return np.asarray(total[0]), np.asarray(total[1]), np.asarray(total[2])


def attention_backward(fused: bool) -> float:
    """How many times as long as forward: one kernel computes the scores again."""
    return BACKWARD_FUSED_ATTENTION if fused else BACKWARD_FLOPS


def attention_s(
    block: Block, cut: Cut, device: Device, precision: Precision, eager: float, fused: bool
) -> tuple[Array, Array]:
    """Seconds of attention, forward and backward. device: in 16 bits.

    One kernel: ``2 b s^2 (q + v) / (t c)`` FLOPs, half where causal, fewer through a window,
    backward 2.5 times (Dao, arXiv 2307.08691). Else two batched products forward and four backward,
    and scores moved 7 to 19 times.
    """
    queries, keys = cut.sequence / cut.context, cut.sequence
    size, value = float(block.head_size), float(block.value / block.heads)
    heads = block.heads / cut.tensor * cut.micro_batch
    law = device.law
    if fused and np.all(np.isfinite(device.attention_flops)):
        flops = 2 * heads * queries * block.seen(keys) * (size + value)
        narrow = min(size, WIDE_HEAD)
        kernel = flops / (np.asarray(device.attention_flops) * 1.25 * narrow / (narrow + 32))
        tiles = heads * queries / QUERIES / law.units
        rates = WIDE_RATES if size > WIDE_HEAD else (1.0, 1.0)
        one, two = (
            law.start_s + kernel * (1 + half / tiles) / (1 + half / USUAL_TILES) / rate
            for half, rate in zip(HALF_FILLED, rates, strict=True)
        )
        return one, two * attention_backward(True)
    each = precision.activation_bytes
    both = between = np.zeros(())
    elems = SCORE_ELEMS[0] + eager * (SCORE_ELEMS[1] - SCORE_ELEMS[0])
    for length in block.lengths:
        seen = keys * length
        scores = heads * queries * seen
        bytes_moved = scores * each + heads * (queries + seen) * size * each
        one = product_s(queries, seen, np.asarray(size), heads, bytes_moved, law, False)
        two = product_s(queries, np.asarray(value), seen, heads, bytes_moved, law, False)
        both = both + BATCHED * (one + two)
        between = between + scores * elems * each / device.reached_bytes_per_s
    return (
        both + between * FORWARD_SHARE,
        BACKWARD_FLOPS * both + between * (1 - FORWARD_SHARE),
    )


def layer(
    block: Block,
    cut: Cut,
    device: Device,
    precision: Precision,
    wide: Device,
    eager: float,
    fused: bool,
) -> Passes:
    """Seconds of one layer, without what is sent. wide: the device in 16 bits. eager, fused: see
    :class:`~dse.model.stack.Stack` and :func:`attention_s`."""
    cut = cut.of(block)
    forward, inputs, weights = products_s(products(block, cut), device, precision, wide)
    core, core_back = attention_s(block, cut, wide, precision, eager, fused)
    in_order, scattered = moved(block, cut, eager)
    each = precision.activation_bytes / device.reached_bytes_per_s
    traffic = (in_order + scattered / SCATTERED) * each
    factor = np.asarray(device.factor)
    return Passes(
        factor * (forward + core + traffic * FORWARD_SHARE),
        factor * (inputs + core_back + traffic * (1 - FORWARD_SHARE)),
        factor * weights,
        factor * core,
    )
