"""Transformers in closed form: their layers and rows of work, for one sample.

:mod:`~dse.catalog.rows_of_work` tells what the rows mean.
"""

from __future__ import annotations

from dataclasses import dataclass

from dse.catalog.rows_of_work import ATTENTION, CAUSAL_ATTENTION, Builder, Network


def _bias(weights: str) -> str:
    """The name of the bias beside weights of that name."""
    return f"{weights.removesuffix('.w')}.b"


@dataclass(frozen=True)
class _Block:
    """Sizes of a transformer's blocks, and what sets one kind apart from another.

    inner, kv: width of all queries and of all keys. norm_eager: elements an unfused normalisation
    moves for each of its own.
    """

    hidden: int
    heads: int
    inner: int
    kv: int
    ffn: int
    bias: bool = False
    dropout: bool = False
    rotary: bool = False
    norm_eager: int = 11

    @property
    def head_size(self) -> float:
        return self.inner / self.heads

    def norm(self, out: Builder, name: str, tokens: float) -> None:
        """A normalisation: LayerNorm with a bias, else RMSNorm."""
        out.weights(name, self.hidden)
        if self.bias:
            out.weights(_bias(name), self.hidden)
        moved = tokens * self.hidden
        out.move(name, 5 * moved, self.norm_eager * moved, 4)

    def linear(self, out: Builder, name: str, tokens: float, n: float, k: float) -> None:
        """A linear layer, with a bias where the network has them."""
        out.product(name, tokens, n, k, _bias(name) if self.bias else "")

    def residual(self, out: Builder, layer: str, tokens: float) -> None:
        """The addition to what a part of the block was given."""
        moved = tokens * self.hidden
        out.move(layer, 4 * moved, (11 if self.dropout else 6) * moved, 5)

    def attention(
        self, out: Builder, part: str, tokens: float, keys: float, kind: str, joined: bool = False
    ) -> None:
        """Projections, attention of ``tokens`` to ``keys``, output; joined: one product for all.

        The keys and values are made of ``keys`` positions, the encoder's where it is across.
        """
        first = f"{part}.qkv.w" if joined else f"{part}.q.w"
        if joined:
            self.linear(out, first, tokens, self.inner + 2 * self.kv, self.hidden)
        else:
            self.linear(out, first, tokens, self.inner, self.hidden)
            self.linear(out, f"{part}.k.w", keys, self.kv, self.hidden)
            self.linear(out, f"{part}.v.w", keys, self.kv, self.hidden)
        out.row(first, kind, m=tokens, n=keys, k=self.head_size, groups=self.heads)
        turned = tokens * (self.inner + self.kv)
        out.move(first, 0, 8 * turned, 8)
        if self.rotary:
            out.move(first, 4 * turned, 20 * turned, 14)
        self.linear(out, f"{part}.o.w", tokens, self.hidden, self.inner)
        self.residual(out, f"{part}.o.w", tokens)

    def feed_forward(self, out: Builder, up: str, down: str, tokens: float) -> None:
        """Two linear layers and the activation between them."""
        self.linear(out, up, tokens, self.ffn, self.hidden)
        out.move(up, 5 * self.ffn * tokens, 9 * self.ffn * tokens, 3)
        self.linear(out, down, tokens, self.hidden, self.ffn)
        self.residual(out, down, tokens)

    def gated(self, out: Builder, part: str, tokens: float) -> None:
        """SwiGLU: two linear layers side by side, their product, and one back."""
        for side in ("gate", "up"):
            self.linear(out, f"{part}.{side}.w", tokens, self.ffn, self.hidden)
        out.move(f"{part}.gate.w", 8 * self.ffn * tokens, 13 * self.ffn * tokens, 4)
        self.linear(out, f"{part}.down.w", tokens, self.hidden, self.ffn)
        self.residual(out, f"{part}.down.w", tokens)


def encoder(
    hidden: int,
    layers: int,
    heads: int,
    ffn: int,
    vocabulary: int,
    tokens: int,
    predicted: int | None = None,
) -> Network:
    """BERT (Devlin et al., arXiv 1810.04805) on sequences of ``tokens``.

    predicted: words of a sequence that are predicted, through the heads of pre-training; None: a
    head that marks the answer to a question. FLOPs of a block: ``2 s (4 h^2 + 2 h f) + 4 s^2 h``.
    """
    out = Builder()
    block = _Block(hidden, heads, hidden, hidden, ffn, bias=True, dropout=True)
    words = out.weights("embed.word", vocabulary * hidden)
    out.weights("embed.pos", 512 * hidden)
    out.weights("embed.type", 2 * hidden)
    out.weights("embed.ln.w", hidden)
    out.weights("embed.ln.b", hidden)
    out.move(words, 12 * hidden * tokens, 24 * hidden * tokens, 20)
    for number in range(layers):
        part = f"layer{number}"
        block.attention(out, f"{part}.attn", tokens, tokens, ATTENTION)
        block.norm(out, f"{part}.attn.ln.w", tokens)
        block.feed_forward(out, f"{part}.ffn1.w", f"{part}.ffn2.w", tokens)
        block.norm(out, f"{part}.ffn.ln.w", tokens)
    if predicted is None:
        block.linear(out, "qa.w", tokens, 2, hidden)
        return out.network("encoder")
    block.linear(out, "pooler.w", 1, hidden, hidden)
    block.linear(out, "mlm.dense.w", predicted, hidden, hidden)
    out.move("mlm.dense.w", 5 * hidden * predicted, 9 * hidden * predicted, 3)
    block.norm(out, "mlm.ln.w", predicted)
    out.tied(predicted, vocabulary, hidden)
    out.weights("mlm.bias", vocabulary)
    block.linear(out, "nsp.w", 1, 2, hidden)
    return out.network("encoder")


def gpt(
    hidden: int, layers: int, heads: int, vocabulary: int, tokens: int, bias: bool = True
) -> Network:
    """GPT-2 and GPT-3 (Brown et al., arXiv 2005.14165), and MPT, which has no biases.

    Causal, ``tokens`` learned positions, feed-forward of 4 h, embedding tied. FLOPs of a block:
    ``24 s h^2 + 4 s^2 h``.
    """
    out = Builder()
    block = _Block(hidden, heads, hidden, hidden, 4 * hidden, bias=bias)
    words = out.weights("embed.word", vocabulary * hidden)
    out.weights("embed.pos", tokens * hidden)
    out.move(words, 6 * hidden * tokens, 12 * hidden * tokens, 8)
    for number in range(layers):
        part = f"layer{number}"
        block.norm(out, f"{part}.ln1.w", tokens)
        block.attention(out, f"{part}.attn", tokens, tokens, CAUSAL_ATTENTION, joined=True)
        block.norm(out, f"{part}.ln2.w", tokens)
        block.feed_forward(out, f"{part}.ffn1.w", f"{part}.ffn2.w", tokens)
    block.norm(out, "lnf.w", tokens)
    out.tied(tokens, vocabulary, hidden)
    return out.network("decoder")


def llama(
    hidden: int, layers: int, heads: int, kv_heads: int, ffn: int, vocabulary: int, tokens: int
) -> Network:
    """Llama (Touvron et al., arXiv 2302.13971): causal, rotary positions, RMSNorm, SwiGLU.

    kv_heads: heads of keys and values. FLOPs of a block: ``2 s (2 h^2 + 2 h kv + 3 h f) + 4 s^2
    h``; the output projection has weights of its own.
    """
    out = Builder()
    kv = kv_heads * hidden // heads
    block = _Block(hidden, heads, hidden, kv, ffn, rotary=True, norm_eager=46)
    words = out.weights("embed.word", vocabulary * hidden)
    out.move(words, 6 * hidden * tokens, 12 * hidden * tokens, 8)
    for number in range(layers):
        part = f"layer{number}"
        block.norm(out, f"{part}.ln1.w", tokens)
        block.attention(out, part, tokens, tokens, CAUSAL_ATTENTION)
        block.norm(out, f"{part}.ln2.w", tokens)
        block.gated(out, part, tokens)
    block.norm(out, "norm.w", tokens)
    out.product("lm_head.w", tokens, vocabulary, hidden)
    out.loss("lm_head.w", tokens, vocabulary)
    return out.network("decoder")


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
    block = _Block(hidden, heads, hidden, hidden, ffn, bias=True, dropout=True)
    words = out.weights("embed.shared", vocabulary * hidden)
    both = hidden * (source + target)
    out.move(words, 6 * both, 12 * both, 16)
    if positions:
        out.weights("enc.pos", positions * hidden)
    for number in range(layers):
        part = f"enc{number}"
        block.attention(out, f"{part}.self", source, source, ATTENTION)
        block.norm(out, f"{part}.self.ln.w", source)
        block.feed_forward(out, f"{part}.ffn1.w", f"{part}.ffn2.w", source)
        block.norm(out, f"{part}.ffn.ln.w", source)
    if positions:
        out.weights("dec.pos", positions * hidden)
    for number in range(layers):
        part = f"dec{number}"
        block.attention(out, f"{part}.self", target, target, CAUSAL_ATTENTION)
        block.norm(out, f"{part}.self.ln.w", target)
        block.attention(out, f"{part}.cross", target, source, ATTENTION)
        block.norm(out, f"{part}.cross.ln.w", target)
        block.feed_forward(out, f"{part}.ffn1.w", f"{part}.ffn2.w", target)
        block.norm(out, f"{part}.ffn.ln.w", target)
    out.tied(target, vocabulary, hidden)
    return out.network("encoder-decoder")


def t5(
    hidden: int,
    layers: int,
    heads: int,
    head_size: int,
    ffn: int,
    source: int,
    target: int,
    vocabulary: int = 32128,
) -> Network:
    """T5 version 1.0 (Raffel et al., arXiv 1910.10683): no biases, relative positions.

    As :func:`transformer`, but the heads may be wider together than the hidden size.
    """
    out = Builder()
    inner = heads * head_size
    block = _Block(hidden, heads, inner, inner, ffn, dropout=True)
    words = out.weights("embed.shared", vocabulary * hidden)
    both = hidden * (source + target)
    out.move(words, 6 * both, 12 * both, 16)
    for side, tokens, kind in (("enc", source, ATTENTION), ("dec", target, CAUSAL_ATTENTION)):
        for number in range(layers):
            part = f"{side}{number}"
            block.attention(out, f"{part}.self", tokens, tokens, kind)
            block.norm(out, f"{part}.self.ln", tokens)
            if number == 0:
                out.weights(f"{side}.relbias", 32 * heads)
            if side == "dec":
                block.attention(out, f"{part}.cross", tokens, source, ATTENTION)
                block.norm(out, f"{part}.cross.ln", tokens)
            block.feed_forward(out, f"{part}.wi", f"{part}.wo", tokens)
            block.norm(out, f"{part}.ffn.ln", tokens)
        block.norm(out, f"{side}.final_ln", tokens)
    out.tied(target, vocabulary, hidden)
    return out.network("encoder-decoder")
