"""Rows of work of networks in closed form: what one sample makes an accelerator do.

A network is a list of layers, named as in the layer tables of the catalogue, and the rows of work
that belong to them: matrix products, convolutions, recurrences, attention, and the element-wise and
normalising work between them, which is bound by memory. Of a step with B samples::

    FLOPs of the forward pass = B sum of 2 m n k groups steps       products and the like
                              + B sum of 4 m n k groups             attention, masked pairs counted
    elements moved, both passes = B sum of fused_elems ... eager_elems

Elements moved are counted operation by operation: a tensor read or written is one element each.
``eager`` is a kernel for each operation, as frameworks run them without a compiler; ``fused`` is
what is left where neighbours share a kernel. Both passes of one token (h: width of hidden states
and of queries, f: of the feed-forward part, kv: of the keys):

=====================  ============  ==========================================================
work                   fused         eager
=====================  ============  ==========================================================
normalisation          5 h           11 h; 46 h where written out in fp32 operations
residual addition      4 h           6 h; 11 h with dropout, its mask among them
GELU or ReLU           5 f           9 f
gated activation       8 f           13 f
rotary positions       4 (h + kv)    20 (h + kv)
heads transposed       0             8 (h + kv)
gradient of a bias     0             1 for each of its elements
=====================  ============  ==========================================================

What attention moves where the scores are stored follows from its row and has no row of its own. The
counts are our own, made by going through the operations of each block.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from types import MappingProxyType

PRODUCT, CONVOLUTION, RECURRENCE = "product", "convolution", "recurrence"
ATTENTION, CAUSAL_ATTENTION, ELEMENT_WISE = "attention", "causal-attention", "element-wise"
PRODUCTS = (PRODUCT, CONVOLUTION, RECURRENCE)
ATTENTIONS = (ATTENTION, CAUSAL_ATTENTION)
SIZES = ("m", "n", "k", "groups", "steps")  # of a product, none of them 0
# Which numbers a row of each kind has; the others do not apply.
NUMBERS = MappingProxyType(
    {
        PRODUCT: SIZES,
        CONVOLUTION: (*SIZES, "input_elems"),
        RECURRENCE: SIZES,
        ATTENTION: ("m", "n", "k", "groups"),
        CAUSAL_ATTENTION: ("m", "n", "k", "groups"),
        ELEMENT_WISE: ("fused_elems", "eager_elems", "kernels"),
    }
)
_FLOPS = MappingProxyType(  # of one multiplication in the product of all a row's sizes
    {PRODUCT: 2, CONVOLUTION: 2, RECURRENCE: 2, ATTENTION: 4, CAUSAL_ATTENTION: 4, ELEMENT_WISE: 0}
)
# Kinds of networks whose rows of work are alike.
FAMILIES = (
    "encoder",
    "decoder",
    "encoder-decoder",
    "convolutional",
    "recurrent",
    "recommender",
    "other",
)


@dataclass(frozen=True)
class WorkRow:
    """Work of one sample; None where a number does not apply to the kind (:data:`NUMBERS`).

    layer: the layer whose gradient waits for it. Products are ``(m, k) x (k, n)``: m positions of
    the sample, n outputs, k inputs; groups: independent ones in one kernel. A convolution is the
    product of m pixels, n channels of a group and k weights of a channel, and reads input_elems. A
    recurrence runs one after another, steps times. Attention has m queries, n keys, head size k
    and ``groups`` heads. fused_elems, eager_elems: elements read and written in both passes.
    kernels: launches in both passes where each operation is one, whatever the batch.
    """

    layer: str
    kind: str
    m: float | None = None
    n: float | None = None
    k: float | None = None
    groups: float | None = None
    steps: float | None = None
    input_elems: float | None = None
    fused_elems: float | None = None
    eager_elems: float | None = None
    kernels: float | None = None

    @property
    def forward_flops(self) -> float:
        """FLOPs of the forward pass per sample; 0 of element-wise work, as in layer tables."""
        total = float(_FLOPS[self.kind])
        for size in (self.m, self.n, self.k, self.groups, self.steps):
            total *= 1.0 if size is None else size
        return total


# Layers whose product are the logits of a vocabulary.
_HEADS = ("head.tied", "lm_head.w", "classifier.w")


def logits(rows: Iterable[WorkRow]) -> float:
    """Elements of a sample's logits; 0 where there is no vocabulary."""
    return sum(
        (row.m or 0.0) * (row.n or 0.0)
        for row in rows
        if row.kind == PRODUCT and row.layer in _HEADS
    )


@dataclass(frozen=True)
class Layer:
    """A row of a layer table; None marks what is not known.

    kind: as in the catalogue's tables. groups, input_elems: of convolutions, where they do not
    follow from the rows around it (:func:`convolutional`).
    """

    name: str
    kind: str
    params: float
    forward_flops: float = 0.0
    output_elems: float | None = None
    input_elems: float | None = None
    groups: int = 1


@dataclass(frozen=True)
class Network:
    """Layers in forward order, and the rows of work that belong to them.

    kept_bytes, score_bytes: what the backward pass needs of a sample in 16-bit storage, the scores
    of attention apart; 0 where nobody counted.
    """

    family: str
    layers: tuple[Layer, ...]
    rows: tuple[WorkRow, ...]
    kept_bytes: float = 0.0
    score_bytes: float = 0.0

    @property
    def params(self) -> float:
        """Trainable parameters."""
        return sum(layer.params for layer in self.layers)

    @property
    def forward_flops(self) -> float:
        """FLOPs of the forward pass per sample."""
        return sum(row.forward_flops for row in self.rows)


class Builder:
    """Layers and rows of a network while it is put together."""

    def __init__(self) -> None:
        self.layers: list[Layer] = []
        self.rows: list[WorkRow] = []
        self.kept_bytes = self.score_bytes = 0.0

    def weights(self, name: str, params: float, kind: str = "tensor") -> str:
        """A layer; returns its name."""
        self.layers.append(Layer(name, kind, params))
        return name

    def product(self, name: str, m: float, n: float, k: float, bias: str = "") -> None:
        """A linear layer of m positions, and its bias as a layer of its own if that has a name."""
        self.row(self.weights(name, n * k), PRODUCT, m=m, n=n, k=k)
        if bias:
            self.move(self.weights(bias, n), 0, m * n, 1)

    def row(self, layer: str, kind: str, **sizes: float) -> None:
        """A row of work; what is not told of its groups and steps is 1."""
        told = {key: sizes.get(key, 1.0) for key in NUMBERS[kind]}
        self.rows.append(WorkRow(layer, kind, **told))

    def move(self, layer: str, fused: float, eager: float, kernels: float) -> None:
        """A row of element-wise work."""
        self.row(layer, ELEMENT_WISE, fused_elems=fused, eager_elems=eager, kernels=kernels)

    def loss(self, layer: str, tokens: float, vocabulary: float) -> None:
        """From logits to the loss and back: cast, log-softmax, gradient, cast; 5 to 15 elements."""
        logits = tokens * vocabulary
        self.move(layer, 5 * logits, 15 * logits, 8)

    def tied(self, tokens: float, vocabulary: float, hidden: float) -> None:
        """The output projection whose weights are the embedding's, and the loss."""
        head = self.weights("head.tied", 0, "tied")
        self.row(head, PRODUCT, m=tokens, n=vocabulary, k=hidden)
        self.loss(head, tokens, vocabulary)

    def head(self, tokens: float, vocabulary: float, hidden: float, tied: bool) -> None:
        """The output projection to a vocabulary, with weights of its own unless tied; the loss."""
        if tied:
            self.tied(tokens, vocabulary, hidden)
            return
        self.product("lm_head.w", tokens, vocabulary, hidden)
        self.loss("lm_head.w", tokens, vocabulary)

    def network(self, family: str) -> Network:
        """All of it, the layers with the FLOPs of their rows."""
        flops = dict.fromkeys((layer.name for layer in self.layers), 0.0)
        for row in self.rows:
            flops[row.layer] += row.forward_flops
        layers = (replace(layer, forward_flops=flops[layer.name]) for layer in self.layers)
        return Network(family, tuple(layers), tuple(self.rows), self.kept_bytes, self.score_bytes)


# ---------------------------------------------------------------- recurrent networks


def _recurrent(out: Builder, name: str, hidden: int, inputs: int, steps: int, gates: int) -> None:
    """An LSTM (4 gates) or a GRU (3): one product of all inputs, the recurrence step by step.

    name: of its tensors, with a place for which. Elements of the gates in both passes, per step:
    ``h (4 g + 8)`` fused, ``h (6 g + 12)`` eager.
    """
    wide = gates * hidden
    out.product(name.format("wih"), steps, wide, inputs)
    own = out.weights(name.format("whh"), wide * hidden)
    out.row(own, RECURRENCE, m=1, n=wide, k=hidden, steps=steps)
    each = steps * hidden
    out.move(own, each * (4 * gates + 8), each * (6 * gates + 12), 2 * steps)
    out.weights(name.format("bih"), wide)
    out.weights(name.format("bhh"), wide)


def gnmt(hidden: int = 1024, vocabulary: int = 32320, tokens: int = 30) -> Network:
    """GNMT (Wu et al., arXiv 1609.08144) with 4 + 4 layers of LSTM, ``tokens`` in and out.

    The first layer reads both ways. Layers of the decoder read the context of the attention beside
    their input; its scores are additive: ``v tanh(W_q q + W_k k)`` for every pair of tokens.
    """
    out = Builder()
    out.weights("embed.shared", vocabulary * hidden)

    def layer(name: str, inputs: int, dropout: bool = True) -> None:
        _recurrent(out, name, hidden, inputs, tokens, 4)
        if dropout:
            moved = tokens * hidden
            out.move(name.format("wih"), 5 * moved, 8 * moved, 5)

    layer("enc0.{}f", hidden)
    layer("enc0.{}b", hidden, dropout=False)
    layer("enc1.{}", 2 * hidden)
    layer("enc2.{}", hidden)
    layer("enc3.{}", hidden)
    layer("dec0.{}", hidden)
    for name in ("attn.q", "attn.k"):
        out.product(name, tokens, hidden, hidden)
    scores = out.weights("attn.v", hidden)
    out.move(scores, 6 * tokens * tokens * hidden, 12 * tokens * tokens * hidden, 10)
    out.weights("attn.b", hidden)
    for number in (1, 2, 3):
        layer(f"dec{number}.{{}}", 2 * hidden)
    out.product("classifier.w", tokens, vocabulary, hidden, "classifier.b")
    out.loss("classifier.w", tokens, vocabulary)
    return out.network("recurrent")


def deepspeech(hidden: int, layers: int, frames: int = 400, inputs: int = 1312) -> Network:
    """Deep Speech 2 (Amodei et al., arXiv 1512.02595): 2 convolutions, GRUs that read both ways.

    frames: after the convolutions, half of the spectrogram's, of 161 frequencies. Both convolutions
    have 32 channels, of 81 and then 41 frequencies; ``inputs`` is what the first GRU reads. 29
    letters.
    """
    out = Builder()
    channels = 32
    before = 161 * 2 * frames
    for number, (high, k) in enumerate(((81, 11 * 41), (41, channels * 11 * 21)), 1):
        pixels = high * frames
        name = f"conv{number}"
        layer = out.weights(f"{name}.w", channels * k)
        out.row(layer, CONVOLUTION, m=pixels, n=channels, k=k, input_elems=before)
        out.weights(f"{name}.b", channels)
        before = channels * pixels
        norm = out.weights(f"{name}.bn.w", channels)
        out.move(norm, 16 * before, 26 * before, 6)
        out.weights(f"{name}.bn.b", channels)
    for number in range(layers):
        if number:
            norm = out.weights(f"bn{number}.w", hidden)
            out.move(norm, 8 * hidden * frames, 13 * hidden * frames, 6)
            out.weights(f"bn{number}.b", hidden)
        for way in "fb":
            wide = hidden if number else inputs
            _recurrent(out, f"gru{number}.{way}.{{}}", hidden, wide, frames, 3)
    out.product("fc.w", frames, 29, hidden)
    out.loss("fc.w", frames, 29)
    return out.network("recurrent")


# ---------------------------------------------------------------- recommenders


def dlrm(tables: int = 26, width: int = 128) -> Network:
    """DLRM (Naumov et al., arXiv 1906.00091) as MLPerf ran it, without its embedding tables.

    The interaction is a product of the ``tables + 1`` vectors with themselves; of an embedding row
    8 to 14 elements move (gather, gradient, update). A dense layer of n outputs moves 5 n to 8 n.
    """
    out = Builder()
    vectors = tables + 1
    bottom, top = (13, 512, 256, width), (0, 1024, 1024, 512, 256, 1)
    pairs = vectors * (vectors - 1) // 2 + width
    for part, sizes in (("bot", bottom), ("top", (pairs, *top[1:]))):
        for number, (k, n) in enumerate(pairwise(sizes)):
            layer = f"{part}{number}.w"
            out.row(out.weights(layer, n * k), PRODUCT, m=1, n=n, k=k)
            out.move(layer, 5 * n, 8 * n, 4)
            out.weights(f"{part}{number}.b", n)
    joint = "top0.w"
    out.row(joint, PRODUCT, m=vectors, n=vectors, k=width)
    out.move(joint, 6 * vectors * width, 10 * vectors * width, 10)
    out.move(joint, 8 * tables * width, 14 * tables * width, 20)
    return out.network("recommender")


# ---------------------------------------------------------------- convolutional networks

_BLOCK = re.compile(r"(\w+\.\d+)\.([a-z]\w*)\.?")  # of layers in blocks of several branches
_CELL = re.compile(r"(cell_\w+\.comb_iter_\d)_")  # of layers whose outputs are added in pairs
# Branch -> the branches it reads, the largest part first; others read what their block is given,
# and a block's output is what no branch of it reads. Of residual blocks (a, b, c, the shortcut d,
# squeeze-and-excitation, the addition r) and of Inception's (b3a and b3b part after b31, da and db
# after d1, bp follows a pool).
_READS = MappingProxyType(
    {
        "b": ("a",),
        "c": ("b",),
        "se": ("c",),
        "r": ("c", "d", "se"),
        "b3a": ("b31",),
        "b3b": ("b31",),
        "da": ("d1",),
        "db": ("d1",),
        "bp": ("pl",),
    }
)
# Elements moved in both passes for each one written, for each one read, fused and eager; kernels.
_POOL = ((1, 2), (1, 2), 2)
_MOVED = MappingProxyType(
    {
        "batchnorm": ((8, 8), (0, 0), 3),
        "relu": ((3, 5), (0, 0), 2),
        "relu of a batchnorm": ((0, 5), (0, 0), 2),
        "addition": ((2, 6), (0, 0), 2),
        "squeeze-excitation": ((7, 9), (0, 0), 12),  # channels' means, and each times a number
        **dict.fromkeys(("maxpool", "avgpool", "adaptiveavgpool", "zeropad", "dropout"), _POOL),
    }
)
_DEPTHWISE = (9, 25, 49)  # weights of a channel that reads one channel


def convolutional(layers: Iterable[Layer], image: float) -> Network:
    """A network of convolutions from its layer table; image: elements of a sample.

    Of a convolution follow k = FLOPs / (2 outputs), channels = params / k (k + 1 with a bias),
    pixels = outputs / channels; 3 x 3, 5 x 5 or 7 x 7 weights a channel are a depthwise one. What
    it reads follows from the names of branches (:data:`_READS`), elsewhere it is the output of the
    row before. What the other layers move is in :data:`_MOVED`.
    """
    out = Builder()
    table = list(layers)
    inputs = _inputs(table, image)
    pairs = {cell[1]: layer.name for layer in table if (cell := _CELL.match(layer.name))}
    added = set(pairs.values())
    before = ""
    for layer, read in zip(table, inputs, strict=True):
        out.layers.append(layer)
        kind = layer.kind
        if kind in _MOVED:
            follows = (before, kind) == ("batchnorm", "relu")
            _moved(out, layer, read, "relu of a batchnorm" if follows else kind)
        else:
            _product(out, layer, read)
        if layer.name.endswith(".r") or layer.name in added:
            _moved(out, layer, read, "addition")
        before = kind
    return out.network("convolutional")


def _inputs(table: list[Layer], image: float) -> list[float]:
    """Elements that every layer reads."""
    found: list[float] = []
    last = given = image
    block, ends = "", dict[str, float]()  # the block being read, the outputs of its branches so far
    for layer in table:
        inside = _BLOCK.match(layer.name)
        name, branch = (inside[1], inside[2]) if inside else ("", "")
        if name != block:
            last = given = _joined(ends) if block else last
            block, ends = name, {}
        if branch and branch not in ends:
            last = next((ends[part] for part in _READS.get(branch, ()) if part in ends), given)
        found.append(last if layer.input_elems is None else layer.input_elems)
        last = layer.output_elems or last
        if branch:
            ends[branch] = last
    return found


def _joined(ends: dict[str, float]) -> float:
    """Outputs of a block: of all branches that no other reads."""
    read = {part for branch in ends for part in _READS.get(branch, ())}
    return sum(elements for branch, elements in ends.items() if branch not in read)


def _moved(out: Builder, layer: Layer, read: float, kind: str) -> None:
    """The row of an element-wise layer."""
    (fused, eager), (fused_read, eager_read), kernels = _MOVED[kind]
    written = layer.output_elems or 0.0
    out.move(
        layer.name,
        fused * written + fused_read * read,
        eager * written + eager_read * read,
        kernels,
    )


def _product(out: Builder, layer: Layer, read: float) -> None:
    """The row of a convolution or of a linear layer, which is one of a single pixel."""
    written = layer.output_elems or 0.0
    k = layer.forward_flops / 2 / written
    kind, channels, groups = PRODUCT, written, 1.0
    if layer.kind == "conv":
        kind, channels = CONVOLUTION, round(layer.params / (k if layer.params % k == 0 else k + 1))
        groups = channels if k in _DEPTHWISE else layer.groups
    sizes = {"m": written / channels, "n": channels / groups, "k": k, "groups": groups}
    out.row(layer.name, kind, **sizes, input_elems=read)


class _Table:
    """A layer table of a convolutional network while it is put together."""

    def __init__(self) -> None:
        self.layers: list[Layer] = []

    def conv(
        self,
        name: str,
        side: int,
        n: int,
        k: int,
        groups: int = 1,
        input_elems: float | None = None,
    ) -> None:
        """A convolution of n channels, each of k weights, to side x side pixels."""
        written = side * side * n
        layer = Layer(name, "conv", n * k, 2 * written * k, written, input_elems, groups)
        self.layers.append(layer)

    def normed(
        self, name: str, side: int, n: int, k: int, groups: int = 1, relu: bool = True
    ) -> None:
        """A convolution with its normalisation, and its ReLU if it has one."""
        self.conv(f"{name}.0", side, n, k, groups)
        self.other(f"{name}.1", "batchnorm", side * side * n, 2 * n)
        if relu:
            self.other(f"{name}.2", "relu", side * side * n)

    def other(self, name: str, kind: str, written: float, params: float = 0) -> None:
        """A layer that is no product."""
        self.layers.append(Layer(name, kind, params, 0.0, written))

    def linear(self, name: str, n: int, k: int) -> None:
        """A linear layer with a bias."""
        self.layers.append(Layer(name, "linear", n * k + n, 2 * n * k, n))


def _residual(
    out: _Table,
    blocks: tuple[int, ...],
    size: int,
    strides: tuple[int, ...],
    groups: int,
    base: int,
    squeeze: bool,
) -> tuple[int, int]:
    """Stem and stages of a residual network; the side of its last pictures and their channels."""
    side = -(-size // 2)
    out.normed("stem", side, 64, 147)
    side = -(-side // 2)
    out.other("pool", "maxpool", 64 * side * side)
    width, number = 64, 0
    for stage, (count, stride) in enumerate(zip(blocks, strides, strict=True)):
        inner, outer = base * 2**stage, 256 * 2**stage
        for block in range(count):
            part, before = f"body.{number}", side
            side = -(-side // stride) if block == 0 else side
            out.normed(f"{part}.a", before, inner, width)
            out.normed(f"{part}.b", side, inner, 9 * inner // groups, groups)
            out.normed(f"{part}.c", side, outer, inner, relu=False)
            if squeeze:
                out.other(f"{part}.se.pool", "squeeze-excitation", outer * side * side)
                out.linear(f"{part}.se.0", outer // 16, outer)
                out.linear(f"{part}.se.1", outer, outer // 16)
            if block == 0:
                out.normed(f"{part}.d", side, outer, width, relu=False)
            out.other(f"{part}.r", "relu", outer * side * side)
            width, number = outer, number + 1
    return side, width


def resnet(
    blocks: tuple[int, ...], groups: int = 1, base: int = 64, squeeze: bool = False
) -> Network:
    """Residual networks with bottlenecks (He et al., arXiv 1512.03385), strided in the 3 x 3.

    blocks: of each stage. groups, base: of ResNeXt (Xie et al., arXiv 1611.05431), groups of the 3
    x 3 convolution and its channels in the first stage. squeeze: squeeze-and-excitation (Hu et al.,
    arXiv 1709.01507). Pictures of 224 x 224.
    """
    out = _Table()
    _, width = _residual(out, blocks, 224, (1, 2, 2, 2), groups, base, squeeze)
    out.other("gap", "adaptiveavgpool", width)
    out.linear("fc", 1000, width)
    return convolutional(out.layers, 3 * 224 * 224)


def ssd300() -> Network:
    """SSD (Liu et al., arXiv 1512.02325) at 300 x 300 on ResNet-50 without its last stage.

    Third stage unstrided, five further feature maps, 81 classes and 4 coordinates a box: as in
    NVIDIA's examples, whose throughput is published. Of its loss, which matches boxes, only the
    kernels count, some 60.
    """
    out = _Table()
    side, width = _residual(out, (3, 4, 6), 300, (1, 2, 1), 1, 64, False)
    maps = [(side, width, 4)]
    further = ((256, 512, 19, 6), (256, 512, 10, 6), (128, 256, 5, 6), (128, 256, 3, 4))
    for number, (middle, n, after, boxes) in enumerate((*further, (128, 256, 1, 4))):
        out.normed(f"extra.{number}.a", side, middle, width)
        out.normed(f"extra.{number}.b", after, n, 9 * middle)
        side, width = after, n
        maps.append((side, width, boxes))
    for number, (side, width, boxes) in enumerate(maps):
        out.conv(f"heads.{number}", side, boxes * 85, 9 * width, input_elems=side * side * width)
    found = convolutional(out.layers, 3 * 300 * 300)
    loss = WorkRow(
        found.layers[-1].name, ELEMENT_WISE, fused_elems=0.0, eager_elems=0.0, kernels=60.0
    )
    return replace(found, rows=(*found.rows, loss))
