"""The Transformer of translation, BART, GPT and Llama in closed form; for one sample."""

from __future__ import annotations

from dse.catalog.rows_of_work import ATTENTION, CAUSAL_ATTENTION, Builder, Network
from dse.catalog.shapes import Block, Transformer
from dse.catalog.transformers import (
    attention_then_norm,
    decoder,
    feed_forward_then_norm,
    look_up,
)


def transformer(
    hidden: int,
    layers: int,
    heads: int,
    ffn: int,
    vocabulary: int,
    source: int,
    target: int,
    positions: int = 0,
) -> Network:
    """The Transformer (Vaswani et al., arXiv 1706.03762), and BART with learned ``positions``.

    layers: of the encoder, and as many of the decoder. source, target: tokens on either side. The
    keys of attention across are the encoder's, made anew in every layer.
    """
    out = Builder()
    block = Block(hidden, heads, hidden // heads, heads, ffn, bias=True, dropout=True)
    look_up(out, "embed.shared", vocabulary, hidden, source, target)
    if positions:
        out.weights("enc.pos", positions * hidden)
    for number in range(layers):
        part = f"enc{number}"
        attention_then_norm(out, block, f"{part}.self", source, source, ATTENTION)
        feed_forward_then_norm(out, block, part, source)
    if positions:
        out.weights("dec.pos", positions * hidden)
    for number in range(layers):
        part = f"dec{number}"
        attention_then_norm(out, block, f"{part}.self", target, target, CAUSAL_ATTENTION)
        attention_then_norm(out, block, f"{part}.cross", target, source, ATTENTION)
        feed_forward_then_norm(out, block, part, target)
    out.head(target, vocabulary, hidden, tied=True)
    return out.network("encoder-decoder")


def gpt(
    hidden: int, layers: int, heads: int, vocabulary: int, tokens: int, bias: bool = True
) -> Network:
    """GPT with learned positions for ``tokens``, and MPT, which has no biases."""
    block = Block(hidden, heads, hidden // heads, heads, 4 * hidden, bias=bias)
    return decoder(Transformer(((block, layers),), vocabulary, True, tokens), tokens)


def llama(
    hidden: int, layers: int, heads: int, kv_heads: int, ffn: int, vocabulary: int, tokens: int
) -> Network:
    """Llama, with ``kv_heads`` heads of keys and values."""
    block = Block(hidden, heads, hidden // heads, kv_heads, ffn, gated=True, rotary=True)
    return decoder(Transformer(((block, layers),), vocabulary), tokens)
