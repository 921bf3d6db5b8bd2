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

from dataclasses import replace

from dse.catalog.rows_of_work import (
    ATTENTION,
    CAUSAL_ATTENTION,
    CONVOLUTION,
    PRODUCT,
    Builder,
    Network,
)
from dse.catalog.shapes import Block, Latent, Transformer


def _bias(weights: str) -> str:
    """The name of the bias beside weights of that name."""
    return f"{weights.removesuffix('.w')}.b"


def _eager_norm(block: Block) -> int:
    """Elements that an unfused normalisation moves for each of its own."""
    return 46 if block.rotary and not block.norm_bias else 11


def norm(out: Builder, block: Block, name: str, tokens: float) -> None:
    """A normalisation of the block: LayerNorm with a bias, else RMSNorm."""
    out.kept_bytes += 2 * tokens * block.hidden
    last_norm(out, block, name, tokens)


def last_norm(out: Builder, block: Block, name: str, tokens: float) -> None:
    """A normalisation beside the blocks."""
    out.weights(name, block.hidden)
    if block.bias or block.norm_bias:
        out.weights(_bias(name), block.hidden)
    moved = tokens * block.hidden
    out.move(name, 5 * moved, _eager_norm(block) * moved, 4)


def linear(out: Builder, block: Block, name: str, tokens: float, n: float, k: float) -> None:
    """A linear layer, with a bias where the network has them."""
    out.product(name, tokens, n, k, _bias(name) if block.bias else "")


def projection(out: Builder, block: Block, name: str, tokens: float, n: float) -> None:
    """To queries, keys or values."""
    bias = _bias(name) if block.bias or block.query_bias else ""
    out.product(name, tokens, n, block.hidden, bias)


def residual(out: Builder, block: Block, layer: str, tokens: float) -> None:
    """The addition to what a part of the block was given."""
    moved = tokens * block.hidden
    out.move(layer, 4 * moved, (11 if block.dropout else 6) * moved, 5)


def attention(
    out: Builder,
    block: Block,
    part: str,
    tokens: float,
    keys: float,
    kind: str,
    joined: bool = False,
) -> None:
    """Projections, attention of ``tokens`` to ``keys``, output; joined: one product for all.

    The keys and values are made of ``keys`` positions, the encoder's where it is across.
    """
    first = f"{part}.qkv.w" if joined else f"{part}.q.w"
    if joined:
        projection(out, block, first, tokens, block.inner + 2 * block.kv)
    elif block.latent:
        compressed(out, block, block.latent, part, tokens, keys)
    else:
        projection(out, block, first, tokens, block.inner)
        projection(out, block, f"{part}.k.w", keys, block.kv)
        projection(out, block, f"{part}.v.w", keys, block.kv)
    if block.head_norms:
        for side, positions, width in (("q", tokens, block.inner), ("k", keys, block.kv)):
            head_norm(out, block, f"{part}.{side}_norm.w", positions, width, block.head_size)
    if block.sinks:
        out.weights(f"{part}.sinks", block.heads)
    seen, size = block.seen(keys), (block.head_size + block.value / block.heads) / 2
    out.row(first, kind, m=tokens, n=seen, k=size, groups=block.heads)
    turned = tokens * (block.inner + block.kv)
    out.move(first, 0, 8 * turned, 8)
    if block.rotary:
        out.move(first, 4 * turned, 20 * turned, 14)
    bias = _bias(f"{part}.o.w") if block.bias or block.output_bias else ""
    out.product(f"{part}.o.w", tokens, block.hidden, block.value, bias)
    residual(out, block, f"{part}.o.w", tokens)
    out.kept_bytes += tokens * (3 * block.hidden + 2 * block.inner + 2 * block.value)
    values = block.value if block.latent else block.kv
    out.kept_bytes += keys * (2 * block.kv + 2 * values)
    out.score_bytes += 5 * block.heads * tokens * seen


def head_norm(
    out: Builder, block: Block, name: str, tokens: float, width: int, weights: int
) -> None:
    """A normalisation inside of attention, of ``width`` elements of a token."""
    moved = tokens * width
    out.move(out.weights(name, weights), 5 * moved, _eager_norm(block) * moved, 4)


def compressed(
    out: Builder, block: Block, latent: Latent, part: str, tokens: float, keys: float
) -> None:
    """Queries, keys and values through narrow layers (:class:`.shapes.Latent`)."""
    width = block.hidden
    if latent.query_rank:
        width = latent.query_rank
        out.product(f"{part}.q_down.w", tokens, width, block.hidden)
        head_norm(out, block, f"{part}.q_down.norm.w", tokens, width, width)
    out.product(f"{part}.q.w", tokens, block.inner, width)
    out.product(f"{part}.kv_down.w", keys, latent.kv_rank + latent.rotary, block.hidden)
    head_norm(out, block, f"{part}.kv_down.norm.w", keys, latent.kv_rank, latent.kv_rank)
    up = block.heads * (latent.plain + latent.value)
    out.product(f"{part}.kv.w", keys, up, latent.kv_rank)
    out.kept_bytes += 2 * tokens * latent.query_rank + 2 * keys * latent.kv_rank


def feed_forward(
    out: Builder, block: Block, part: str, tokens: float, up: str = "ffn1.w", down: str = "ffn2.w"
) -> None:
    """Two linear layers and the activation between them."""
    up, down = f"{part}.{up}", f"{part}.{down}"
    linear(out, block, up, tokens, block.ffn, block.hidden)
    out.move(up, 5 * block.ffn * tokens, 9 * block.ffn * tokens, 3)
    linear(out, block, down, tokens, block.hidden, block.ffn)
    residual(out, block, down, tokens)
    out.kept_bytes += tokens * (3 * block.hidden + 4 * block.ffn)


def attention_then_norm(
    out: Builder, block: Block, part: str, tokens: float, keys: float, kind: str
) -> None:
    """Attention whose output is normalised, as in networks before GPT-2."""
    attention(out, block, part, tokens, keys, kind)
    norm(out, block, f"{part}.ln.w", tokens)


def feed_forward_then_norm(out: Builder, block: Block, part: str, tokens: float) -> None:
    """A feed-forward part whose output is normalised, likewise."""
    feed_forward(out, block, part, tokens)
    norm(out, block, f"{part}.ffn.ln.w", tokens)


def gated_products(out: Builder, block: Block, part: str, tokens: float, width: int) -> None:
    """SwiGLU: two linear layers side by side, their product, and one back."""
    for side in ("gate", "up"):
        linear(out, block, f"{part}.{side}.w", tokens, width, block.hidden)
    out.move(f"{part}.gate.w", 8 * width * tokens, 13 * width * tokens, 4)
    linear(out, block, f"{part}.down.w", tokens, block.hidden, width)
    out.kept_bytes += tokens * 6 * width


def gated_feed_forward(out: Builder, block: Block, part: str, tokens: float) -> None:
    """A feed-forward part with a gate."""
    gated_products(out, block, part, tokens, block.ffn)
    residual(out, block, f"{part}.down.w", tokens)
    out.kept_bytes += tokens * 3 * block.hidden


def experts(out: Builder, block: Block, part: str, tokens: float) -> None:
    """Gated feed-forward parts, of which a router sends each token to those chosen.

    Tokens are taken to be spread evenly. A token moves to its experts and back, ``6 h`` for
    each; probabilities of the router move 20 elements an expert.
    """
    count, width = block.experts, block.expert_ffn
    routed = tokens * block.chosen
    router = f"{part}.router.w"
    out.product(router, tokens, count, block.hidden, _bias(router) if block.expert_bias else "")
    out.move(router, 10 * tokens * count, 20 * tokens * count, 12)
    out.move(router, 6 * routed * block.hidden, 6 * routed * block.hidden, 4)
    shapes = {
        "gate": (width, block.hidden), "up": (width, block.hidden), "down": (block.hidden, width),
    }  # fmt: skip
    for side, (n, k) in shapes.items():
        layer = out.weights(f"{part}.experts.{side}.w", count * n * k)
        out.row(layer, PRODUCT, m=routed / count, n=n, k=k, groups=count)
        if side == "gate":
            out.move(layer, 8 * width * routed, 13 * width * routed, 4 * count)
        if block.expert_bias:
            out.move(out.weights(_bias(layer), count * n), 0, routed * n, 1)
    if block.shared_ffn:
        gated_products(out, block, f"{part}.shared", tokens, block.shared_ffn)
    residual(out, block, f"{part}.experts.down.w", tokens)
    out.kept_bytes += tokens * (3 * block.hidden + 6 * width * block.chosen)


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
    labels: int = 2,
    pooled: bool = False,
) -> Network:
    """BERT (Devlin et al., arXiv 1810.04805) on sequences of ``tokens``.

    predicted: words of a sequence that are predicted, through the heads of pre-training; None: a
    head for so many ``labels`` of each token, which marks the answer to a question where there are
    two, or, ``pooled``, of the sequence, by a layer of the first token. positions,
    types: rows of these embedding tables. sentences: whether pre-training asks which sentence is
    next, as RoBERTa's does not. FLOPs of a block: ``2 s (4 h^2 + 2 h f) + 4 s^2 h``.
    """
    out = Builder()
    block = Block(hidden, heads, hidden // heads, heads, ffn, causal=False, bias=True, dropout=True)
    runs = ((block, layers),)
    shape = Transformer(runs, vocabulary, tied=True, positions=positions + types)
    words = out.weights("embed.word", vocabulary * hidden)
    out.weights("embed.pos", positions * hidden)
    if types:
        out.weights("embed.type", types * hidden)
    out.weights("embed.ln.w", hidden)
    out.weights("embed.ln.b", hidden)
    out.move(words, 12 * hidden * tokens, 24 * hidden * tokens, 20)
    for number in range(layers):
        part = f"layer{number}"
        attention_then_norm(out, block, f"{part}.attn", tokens, tokens, ATTENTION)
        feed_forward_then_norm(out, block, part, tokens)
    if predicted is None:
        if pooled:
            linear(out, block, "pooler.w", 1, hidden, hidden)
        if labels:
            name = "classifier.w" if pooled else "qa.w"
            linear(out, block, name, 1 if pooled else tokens, labels, hidden)
        return out.network("encoder", shape)
    if sentences:
        linear(out, block, "pooler.w", 1, hidden, hidden)
    linear(out, block, "mlm.dense.w", predicted, hidden, hidden)
    out.move("mlm.dense.w", 5 * hidden * predicted, 9 * hidden * predicted, 3)
    last_norm(out, block, "mlm.ln.w", predicted)
    out.head(predicted, vocabulary, hidden, tied=True)
    out.weights("mlm.bias", vocabulary)
    if sentences:
        linear(out, block, "nsp.w", 1, 2, hidden)
    return out.network("encoder", shape)


def decoder(shape: Transformer, tokens: int) -> Network:
    """A causal network of whatever blocks there are.

    GPT (Brown et al., arXiv 2005.14165) has learned positions; Llama (Touvron et al., arXiv
    2302.13971), Mistral, Qwen and Gemma have rotary ones; feed-forward parts of Mixtral (Jiang et
    al., arXiv 2401.04088) and DeepSeek (arXiv 2412.19437) are experts, some of them chosen for each
    token. FLOPs of a block: ``2 s (2 h q + 2 h kv + 2 h f) + 4 s^2 q``, 3 h f where it is gated;
    through a window attention counts what it sees (:meth:`.Block.seen`).
    """
    out = Builder()
    first, _ = shape.runs[0]
    learned = shape.positions > 0
    look_up(out, "embed.word", shape.vocabulary, first.hidden, tokens)
    if learned:
        out.weights("embed.pos", shape.positions * first.hidden)
    blocks = [block for block, count in shape.runs for _ in range(count)]
    for number, block in enumerate(blocks):
        part = f"layer{number}"
        norm(out, block, f"{part}.ln1.w", tokens)
        core = f"{part}.attn" if learned else part
        attention(out, block, core, tokens, tokens, CAUSAL_ATTENTION, joined=learned)
        if outputs := block.norms > 2:
            norm(out, block, f"{part}.ln1_out.w", tokens)
        norm(out, block, f"{part}.ln2.w", tokens)
        if block.experts:
            experts(out, block, part, tokens)
        elif block.gated:
            gated_feed_forward(out, block, part, tokens)
        else:
            feed_forward(out, block, part, tokens)
        if outputs:
            norm(out, block, f"{part}.ln2_out.w", tokens)
    last_norm(out, first, "lnf.w" if learned else "norm.w", tokens)
    out.head(tokens, shape.vocabulary, first.hidden, shape.tied)
    return out.network("decoder", shape)


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
    shared_distances: bool = True,
) -> Network:
    """T5 (Raffel et al., arXiv 1910.10683): no biases, relative positions in ``distances`` classes.

    source, target: tokens on either side. The keys of attention across are the encoder's, made anew
    in every layer. Heads may be wider together than the hidden size. Version 1.1 has gated
    feed-forward parts and an output projection of its own. decoder_layers: as many as the encoder
    has where they are not given; of a target of no tokens there is the encoder alone.
    shared_distances: whether all layers of a side have one table of them, as UMT5's do not.
    """
    out = Builder()
    decoder_layers = decoder_layers or layers
    block = Block(hidden, heads, head_size, heads, ffn, gated, causal=False, dropout=True)
    writing = replace(block, causal=True, cross=True, share=target / source)
    stacks = ((block, layers), (writing, decoder_layers)) if target else ((block, layers),)
    shape = Transformer(stacks, vocabulary, tied)
    texts = (source, target) if target else (source,)
    look_up(out, "embed.shared", vocabulary, hidden, *texts)
    sides = (("enc", source, ATTENTION), ("dec", target, CAUSAL_ATTENTION))
    for side, tokens, kind in sides[: len(texts)]:
        for number in range(layers if side == "enc" else decoder_layers):
            part = f"{side}{number}"
            attention(out, block, f"{part}.self", tokens, tokens, kind)
            norm(out, block, f"{part}.self.ln", tokens)
            if number == 0 or not shared_distances:
                out.weights(f"{part if number else side}.relbias", distances * heads)
            if side == "dec":
                attention(out, block, f"{part}.cross", tokens, source, ATTENTION)
                norm(out, block, f"{part}.cross.ln", tokens)
            if gated:
                gated_feed_forward(out, block, f"{part}.ffn", tokens)
            else:
                feed_forward(out, block, part, tokens, "wi", "wo")
            norm(out, block, f"{part}.ffn.ln", tokens)
        last_norm(out, block, f"{side}.final_ln", tokens)
    if not target:
        return out.network("encoder", shape)
    out.head(target, vocabulary, hidden, tied)
    return out.network("encoder-decoder", shape)


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
    block = Block(hidden, heads, hidden // heads, heads, ffn, causal=False, bias=True)
    patches = (image // patch) ** 2
    tokens = patches + 1
    shape = Transformer(((block, layers),), 0, positions=tokens)
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
        norm(out, block, f"{part}.ln1.w", tokens)
        attention(out, block, f"{part}.attn", tokens, tokens, ATTENTION)
        norm(out, block, f"{part}.ln2.w", tokens)
        feed_forward(out, block, part, tokens)
    last_norm(out, block, "ln.w", tokens)
    linear(out, block, "classifier.w", 1, classes, hidden)
    out.loss("classifier.w", 1, classes)
    return out.network("encoder", shape)
