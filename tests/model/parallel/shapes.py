"""Transformers and layouts for the tests of this folder."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dse.model.parallel.layouts import Layouts
from dse.model.parallel.mesh import Mesh
from dse.model.parallel.shape import Block, Latent, Transformer


def gpt(hidden: int, layers: int, heads: int, vocabulary: int = 51_200) -> Transformer:
    """GPT-3's kind, with biases and tied weights."""
    block = Block(
        hidden, heads, hidden // heads, heads, 4 * hidden, gated=False, bias=True, rotary=False,
        dropout=True,
    )  # fmt: skip
    return Transformer(f"gpt-{hidden}", ((block, layers),), vocabulary, True, 2048)


def llama(
    hidden: int, layers: int, heads: int, kv_heads: int, ffn: int, vocabulary: int = 128_256
) -> Transformer:
    """Llama's kind."""
    block = Block(hidden, heads, 128, kv_heads, ffn)
    return Transformer(f"llama-{hidden}", ((block, layers),), vocabulary)


LLAMA_8B = llama(4096, 32, 32, 8, 14_336)
LLAMA_70B = llama(8192, 80, 64, 8, 28_672)
LLAMA_405B = llama(16_384, 126, 128, 8, 53_248)
MIXTRAL = Transformer(
    "mixtral-8x7b",
    ((Block(4096, 32, 128, 8, 0, experts=8, chosen=2, expert_ffn=14_336), 32),),
    32_000,
)
QWEN_235B = Transformer(
    "qwen3-235b-a22b",
    ((Block(4096, 64, 128, 4, 0, experts=128, chosen=8, expert_ffn=1536), 94),),
    151_936,
)
ENCODER = Block(1024, 16, 64, 16, 4096, gated=False, causal=False, rotary=False)
T5_LARGE = Transformer(
    "t5-large",
    ((ENCODER, 24), (replace(ENCODER, causal=True, cross=True, share=114 / 512), 24)),
    32_128,
    True,
)
LATENT = Latent(query_rank=1536, kv_rank=512, plain=128, rotary=64, value=128)
DEEPSEEK_V3 = Transformer(
    "deepseek-v3",
    (
        (Block(7168, 128, 192, 128, 18_432, latent=LATENT), 3),
        (Block(7168, 128, 192, 128, 0, experts=256, chosen=8, expert_ffn=2048, shared_ffn=2048,
               latent=LATENT), 58),
    ),
    129_280,
)  # fmt: skip


def layout(
    tensor: float = 1,
    context: float = 1,
    pipeline: float = 1,
    data: float = 1,
    *,
    expert: float = 1,
    node: float = 8,
    micro_batch: float = 1,
    passes: float = 8,
    sequence: float = 4096,
    sequence_parallel: bool = True,
    zero: int = 0,
    recompute: int = 0,
    virtual: float = 1,
    schedule: str = "1f1b",
) -> Layouts:
    """A single layout."""
    one = np.ones(1)
    mesh = Mesh(
        tensor * one, context * one, pipeline * one, data * one, expert * one, one, node * one
    )
    return Layouts(
        mesh, micro_batch * one, passes * one, sequence * one, np.array([sequence_parallel]),
        zero * one, recompute * one, virtual * one, schedule, imbalance=1.0,
    )  # fmt: skip
