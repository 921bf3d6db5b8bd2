"""The Transformer of translation, and BART, in closed form; for one sample."""

from __future__ import annotations

from dse.catalog.rows_of_work import ATTENTION, CAUSAL_ATTENTION, Builder, Network
from dse.catalog.transformers import Block, look_up


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
    block = Block(hidden, heads, hidden, hidden, ffn, bias=True, dropout=True)
    look_up(out, "embed.shared", vocabulary, hidden, source, target)
    if positions:
        out.weights("enc.pos", positions * hidden)
    for number in range(layers):
        part = f"enc{number}"
        block.attention_then_norm(out, f"{part}.self", source, source, ATTENTION)
        block.feed_forward_then_norm(out, part, source)
    if positions:
        out.weights("dec.pos", positions * hidden)
    for number in range(layers):
        part = f"dec{number}"
        block.attention_then_norm(out, f"{part}.self", target, target, CAUSAL_ATTENTION)
        block.attention_then_norm(out, f"{part}.cross", target, source, ATTENTION)
        block.feed_forward_then_norm(out, part, target)
    out.tied(target, vocabulary, hidden)
    return out.network("encoder-decoder")
