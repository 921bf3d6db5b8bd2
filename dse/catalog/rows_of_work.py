"""Rows of work of networks: what one sample makes an accelerator do.

A network is a list of layers, named as in the layer tables of the catalogue, and the rows of work
that belong to them: matrix products, convolutions, recurrences, attention, and the element-wise and
normalising work between them, which is bound by memory. Transformers have a closed form in
:mod:`~dse.catalog.transformers`, others in benchmarks/networks. Of a step with B samples::

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

from collections.abc import Iterable
from dataclasses import dataclass, replace
from types import MappingProxyType

from dse.catalog.shapes import Transformer

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
    follow from the rows around it (:func:`.convolutional_networks.convolutional`).
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
    of attention apart; 0 where nobody counted. shape: of a transformer, as far as it is told.
    """

    family: str
    layers: tuple[Layer, ...]
    rows: tuple[WorkRow, ...]
    kept_bytes: float = 0.0
    score_bytes: float = 0.0
    shape: Transformer | None = None

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

    def head(self, tokens: float, vocabulary: float, hidden: float, tied: bool) -> None:
        """The output projection to a vocabulary, with weights of its own unless tied, when they are
        the embedding's; and the loss."""
        named = ("head.tied", 0, "tied") if tied else ("lm_head.w", vocabulary * hidden)
        name = self.weights(*named)
        self.row(name, PRODUCT, m=tokens, n=vocabulary, k=hidden)
        self.loss(name, tokens, vocabulary)

    def network(self, family: str, shape: Transformer | None = None) -> Network:
        """All of it, the layers with the FLOPs of their rows."""
        flops = dict.fromkeys((layer.name for layer in self.layers), 0.0)
        for row in self.rows:
            flops[row.layer] += row.forward_flops
        layers = (replace(layer, forward_flops=flops[layer.name]) for layer in self.layers)
        kept = self.kept_bytes, self.score_bytes
        return Network(family, tuple(layers), tuple(self.rows), *kept, shape)
