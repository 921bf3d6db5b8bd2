"""Transformers in closed form: their layers and rows of work, for one sample.

:mod:`~dse.catalog.rows_of_work` tells what the rows mean. What a block keeps of a token for the
backward pass, in 16-bit storage with a byte for each element of a dropout mask (Korthikanti et al.,
arXiv 2205.05198, section 4.1, for any widths; h: hidden, q and kv: of queries and of keys, f: of
the feed-forward part, a: heads, s: tokens)::

    attention      2 h + 4 q + 4 kv + h, and 5 a s of scores
    feed-forward   2 h + 4 f + h, gated 2 h + 6 f + h, 4 f or 6 f for each expert that has the token
    two norms      4 h

With q = kv = h and f = 4 h this is the paper's ``34 h + 5 a s``. Embeddings and heads keep little
and are not counted.
"""

from __future__ import annotations

from dataclasses import dataclass

from dse.catalog.rows_of_work import (
    ATTENTION,
    CAUSAL_ATTENTION,
    CONVOLUTION,
    PRODUCT,
    Builder,
    Network,
)


def _bias(weights: str) -> str:
    """The name of the bias beside weights of that name."""
    return f"{weights.removesuffix('.w')}.b"


@dataclass(frozen=True)
class Block:
    """Sizes of a transformer's blocks, and what sets one kind apart from another.

    inner, kv: width of all queries and of all keys. norm_eager: elements an unfused normalisation
    moves for each of its own. query_bias: of the projections to queries, keys and values, where
    others have none. head_norms: queries and keys are normalised, head by head.
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
    query_bias: bool = False
    head_norms: bool = False

    @property
    def head_size(self) -> float:
        return self.inner / self.heads

    def norm(self, out: Builder, name: str, tokens: float) -> None:
        """A normalisation of the block: LayerNorm with a bias, else RMSNorm."""
        out.kept_bytes += 2 * tokens * self.hidden
        self.last_norm(out, name, tokens)

    def last_norm(self, out: Builder, name: str, tokens: float) -> None:
        """A normalisation beside the blocks."""
        out.weights(name, self.hidden)
        if self.bias:
            out.weights(_bias(name), self.hidden)
        moved = tokens * self.hidden
        out.move(name, 5 * moved, self.norm_eager * moved, 4)

    def linear(self, out: Builder, name: str, tokens: float, n: float, k: float) -> None:
        """A linear layer, with a bias where the network has them."""
        out.product(name, tokens, n, k, _bias(name) if self.bias else "")

    def projection(self, out: Builder, name: str, tokens: float, n: float) -> None:
        """To queries, keys or values."""
        bias = _bias(name) if self.bias or self.query_bias else ""
        out.product(name, tokens, n, self.hidden, bias)

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
            self.projection(out, first, tokens, self.inner + 2 * self.kv)
        else:
            self.projection(out, first, tokens, self.inner)
            self.projection(out, f"{part}.k.w", keys, self.kv)
            self.projection(out, f"{part}.v.w", keys, self.kv)
        if self.head_norms:
            for side, positions, width in (("q", tokens, self.inner), ("k", keys, self.kv)):
                moved = positions * width
                norm = out.weights(f"{part}.{side}_norm.w", self.head_size)
                out.move(norm, 5 * moved, self.norm_eager * moved, 4)
        out.row(first, kind, m=tokens, n=keys, k=self.head_size, groups=self.heads)
        turned = tokens * (self.inner + self.kv)
        out.move(first, 0, 8 * turned, 8)
        if self.rotary:
            out.move(first, 4 * turned, 20 * turned, 14)
        self.linear(out, f"{part}.o.w", tokens, self.hidden, self.inner)
        self.residual(out, f"{part}.o.w", tokens)
        out.kept_bytes += tokens * (3 * self.hidden + 4 * self.inner) + 4 * keys * self.kv
        out.score_bytes += 5 * self.heads * tokens * keys

    def feed_forward(
        self, out: Builder, part: str, tokens: float, up: str = "ffn1.w", down: str = "ffn2.w"
    ) -> None:
        """Two linear layers and the activation between them."""
        up, down = f"{part}.{up}", f"{part}.{down}"
        self.linear(out, up, tokens, self.ffn, self.hidden)
        out.move(up, 5 * self.ffn * tokens, 9 * self.ffn * tokens, 3)
        self.linear(out, down, tokens, self.hidden, self.ffn)
        self.residual(out, down, tokens)
        out.kept_bytes += tokens * (3 * self.hidden + 4 * self.ffn)

    def attention_then_norm(
        self, out: Builder, part: str, tokens: float, keys: float, kind: str
    ) -> None:
        """Attention whose output is normalised, as in networks before GPT-2."""
        self.attention(out, part, tokens, keys, kind)
        self.norm(out, f"{part}.ln.w", tokens)

    def feed_forward_then_norm(self, out: Builder, part: str, tokens: float) -> None:
        """A feed-forward part whose output is normalised, likewise."""
        self.feed_forward(out, part, tokens)
        self.norm(out, f"{part}.ffn.ln.w", tokens)

    def gated(self, out: Builder, part: str, tokens: float) -> None:
        """SwiGLU: two linear layers side by side, their product, and one back."""
        for side in ("gate", "up"):
            self.linear(out, f"{part}.{side}.w", tokens, self.ffn, self.hidden)
        out.move(f"{part}.gate.w", 8 * self.ffn * tokens, 13 * self.ffn * tokens, 4)
        self.linear(out, f"{part}.down.w", tokens, self.hidden, self.ffn)
        self.residual(out, f"{part}.down.w", tokens)
        out.kept_bytes += tokens * (3 * self.hidden + 6 * self.ffn)

    def experts(self, out: Builder, part: str, tokens: float, experts: int, chosen: int) -> None:
        """Gated feed-forward parts, of which a router sends each token to ``chosen``.

        Tokens are taken to be spread evenly. A token moves to its experts and back, ``6 h`` for
        each; probabilities of the router move 20 elements an expert.
        """
        routed = tokens * chosen
        router = f"{part}.router.w"
        out.product(router, tokens, experts, self.hidden)
        out.move(router, 10 * tokens * experts, 20 * tokens * experts, 12)
        out.move(router, 6 * routed * self.hidden, 6 * routed * self.hidden, 4)
        shapes = {
            "gate": (self.ffn, self.hidden), "up": (self.ffn, self.hidden),
            "down": (self.hidden, self.ffn),
        }  # fmt: skip
        for side, (n, k) in shapes.items():
            layer = out.weights(f"{part}.experts.{side}.w", experts * n * k)
            out.row(layer, PRODUCT, m=routed / experts, n=n, k=k, groups=experts)
            if side == "gate":
                out.move(layer, 8 * self.ffn * routed, 13 * self.ffn * routed, 4 * experts)
        self.residual(out, f"{part}.experts.down.w", tokens)
        out.kept_bytes += tokens * (3 * self.hidden + 6 * self.ffn * chosen)


def look_up(out: Builder, name: str, vocabulary: int, hidden: int, *texts: int) -> None:
    """A table of words, of which the rows of texts of so many tokens are read, and written back."""
    moved = hidden * sum(texts)
    table = out.weights(name, vocabulary * hidden)
    out.move(table, 6 * moved, 12 * moved, 8 * len(texts))


def encoder(
    hidden: int,
    layers: int,
    heads: int,
    ffn: int,
    vocabulary: int,
    tokens: int,
    predicted: int | None = None,
    positions: int = 512,
    types: int = 2,
    sentences: bool = True,
) -> Network:
    """BERT (Devlin et al., arXiv 1810.04805) on sequences of ``tokens``.

    predicted: words of a sequence that are predicted, through the heads of pre-training; None: a
    head that marks the answer to a question. positions, types: rows of these embedding tables.
    sentences: whether pre-training asks which sentence is next, as RoBERTa's does not. FLOPs of a
    block: ``2 s (4 h^2 + 2 h f) + 4 s^2 h``.
    """
    out = Builder()
    block = Block(hidden, heads, hidden, hidden, ffn, bias=True, dropout=True)
    words = out.weights("embed.word", vocabulary * hidden)
    out.weights("embed.pos", positions * hidden)
    out.weights("embed.type", types * hidden)
    out.weights("embed.ln.w", hidden)
    out.weights("embed.ln.b", hidden)
    out.move(words, 12 * hidden * tokens, 24 * hidden * tokens, 20)
    for number in range(layers):
        part = f"layer{number}"
        block.attention_then_norm(out, f"{part}.attn", tokens, tokens, ATTENTION)
        block.feed_forward_then_norm(out, part, tokens)
    if predicted is None:
        block.linear(out, "qa.w", tokens, 2, hidden)
        return out.network("encoder")
    if sentences:
        block.linear(out, "pooler.w", 1, hidden, hidden)
    block.linear(out, "mlm.dense.w", predicted, hidden, hidden)
    out.move("mlm.dense.w", 5 * hidden * predicted, 9 * hidden * predicted, 3)
    block.last_norm(out, "mlm.ln.w", predicted)
    out.tied(predicted, vocabulary, hidden)
    out.weights("mlm.bias", vocabulary)
    if sentences:
        block.linear(out, "nsp.w", 1, 2, hidden)
    return out.network("encoder")


def gpt(
    hidden: int,
    layers: int,
    heads: int,
    vocabulary: int,
    tokens: int,
    bias: bool = True,
    ffn: int | None = None,
    positions: int | None = None,
    tied: bool = True,
) -> Network:
    """GPT-2 and GPT-3 (Brown et al., arXiv 2005.14165), and MPT, which has no biases.

    Causal, with learned ``positions``, as many as ``tokens`` where none are given. ffn: 4 h where
    it is not given. tied: whether the output projection has the embedding's weights. FLOPs of a
    block: ``2 s (4 h^2 + 2 h f) + 4 s^2 h``.
    """
    out = Builder()
    block = Block(hidden, heads, hidden, hidden, ffn or 4 * hidden, bias=bias)
    look_up(out, "embed.word", vocabulary, hidden, tokens)
    out.weights("embed.pos", (positions or tokens) * hidden)
    for number in range(layers):
        part = f"layer{number}"
        block.norm(out, f"{part}.ln1.w", tokens)
        block.attention(out, f"{part}.attn", tokens, tokens, CAUSAL_ATTENTION, joined=True)
        block.norm(out, f"{part}.ln2.w", tokens)
        block.feed_forward(out, part, tokens)
    block.last_norm(out, "lnf.w", tokens)
    out.head(tokens, vocabulary, hidden, tied)
    return out.network("decoder")


def llama(
    hidden: int,
    layers: int,
    heads: int,
    kv_heads: int,
    ffn: int,
    vocabulary: int,
    tokens: int,
    head_size: int | None = None,
    tied: bool = False,
    query_bias: bool = False,
    head_norms: bool = False,
    experts: int = 0,
    chosen: int = 0,
) -> Network:
    """Llama (Touvron et al., arXiv 2302.13971): causal, rotary positions, RMSNorm, SwiGLU.

    Mistral and Qwen are such networks, and Mixtral (Jiang et al., arXiv 2401.04088), whose
    feed-forward parts are ``experts``, ``chosen`` of them for each token. kv_heads: heads of keys
    and values. head_size: h / heads where it is not given. tied: whether the output projection has
    the embedding's weights. query_bias: of the projections to queries, keys and values, as Qwen 2
    has them. head_norms: of queries and keys, as Qwen 3 has them. FLOPs of a block: ``2 s (2 h q +
    2 h kv + 3 h f) + 4 s^2 q``, with as many f as experts are chosen.
    """
    out = Builder()
    size = head_size or hidden // heads
    block = Block(
        hidden,
        heads,
        heads * size,
        kv_heads * size,
        ffn,
        rotary=True,
        norm_eager=46,
        query_bias=query_bias,
        head_norms=head_norms,
    )
    look_up(out, "embed.word", vocabulary, hidden, tokens)
    for number in range(layers):
        part = f"layer{number}"
        block.norm(out, f"{part}.ln1.w", tokens)
        block.attention(out, part, tokens, tokens, CAUSAL_ATTENTION)
        block.norm(out, f"{part}.ln2.w", tokens)
        if experts:
            block.experts(out, part, tokens, experts, chosen)
        else:
            block.gated(out, part, tokens)
    block.last_norm(out, "norm.w", tokens)
    out.head(tokens, vocabulary, hidden, tied)
    return out.network("decoder")


def t5(
    hidden: int,
    layers: int,
    heads: int,
    head_size: int,
    ffn: int,
    source: int,
    target: int,
    vocabulary: int = 32128,
    decoder_layers: int | None = None,
    gated: bool = False,
    tied: bool = True,
    distances: int = 32,
) -> Network:
    """T5 (Raffel et al., arXiv 1910.10683): no biases, relative positions in ``distances`` classes.

    source, target: tokens on either side. The keys of attention across are the encoder's, made anew
    in every layer. Heads may be wider together than the hidden size. Version 1.1 has gated
    feed-forward parts and an output projection of its own. decoder_layers: as many as the encoder
    has where they are not given.
    """
    out = Builder()
    inner = heads * head_size
    block = Block(hidden, heads, inner, inner, ffn, dropout=True)
    look_up(out, "embed.shared", vocabulary, hidden, source, target)
    for side, tokens, kind in (("enc", source, ATTENTION), ("dec", target, CAUSAL_ATTENTION)):
        for number in range(layers if side == "enc" else decoder_layers or layers):
            part = f"{side}{number}"
            block.attention(out, f"{part}.self", tokens, tokens, kind)
            block.norm(out, f"{part}.self.ln", tokens)
            if number == 0:
                out.weights(f"{side}.relbias", distances * heads)
            if side == "dec":
                block.attention(out, f"{part}.cross", tokens, source, ATTENTION)
                block.norm(out, f"{part}.cross.ln", tokens)
            if gated:
                block.gated(out, f"{part}.ffn", tokens)
            else:
                block.feed_forward(out, part, tokens, "wi", "wo")
            block.norm(out, f"{part}.ffn.ln", tokens)
        block.last_norm(out, f"{side}.final_ln", tokens)
    out.head(target, vocabulary, hidden, tied)
    return out.network("encoder-decoder")


def vit(
    hidden: int,
    layers: int,
    heads: int,
    ffn: int,
    image: int,
    patch: int,
    channels: int = 3,
    classes: int = 1000,
) -> Network:
    """ViT (Dosovitskiy et al., arXiv 2010.11929): an encoder of patches, and a token for the class.

    image, patch: sides in pixels. The patches are a convolution that strides by its own width.
    """
    out = Builder()
    block = Block(hidden, heads, hidden, hidden, ffn, bias=True)
    patches = (image // patch) ** 2
    tokens = patches + 1
    pixels = channels * patch**2
    layer = out.weights("embed.patch.w", hidden * pixels)
    read = channels * image**2
    out.row(layer, CONVOLUTION, m=patches, n=hidden, k=pixels, input_elems=read)
    out.weights("embed.patch.b", hidden)
    out.weights("embed.class", hidden)
    out.weights("embed.pos", tokens * hidden)
    out.move(layer, 6 * hidden * tokens, 12 * hidden * tokens, 8)
    for number in range(layers):
        part = f"layer{number}"
        block.norm(out, f"{part}.ln1.w", tokens)
        block.attention(out, f"{part}.attn", tokens, tokens, ATTENTION)
        block.norm(out, f"{part}.ln2.w", tokens)
        block.feed_forward(out, part, tokens)
    block.last_norm(out, "ln.w", tokens)
    block.linear(out, "classifier.w", 1, classes, hidden)
    out.loss("classifier.w", 1, classes)
    return out.network("encoder")
