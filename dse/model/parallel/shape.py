"""Shapes of transformers: what a layer is made of, apart from any layout."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dse.model.arrays import Array, ArrayLike


@dataclass(frozen=True)
class Latent:
    """Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434, section 2.1).

    query_rank, kv_rank: widths of the compressed queries (0: not compressed), keys and values.
    plain, rotary, value: sizes of a head's key without positions, with positions, and of its value.
    """

    query_rank: int
    kv_rank: int
    plain: int
    rotary: int
    value: int


@dataclass(frozen=True)
class Block:
    """One kind of layer.

    hidden: h. heads: a. head_size: of a query and of a key. kv_heads: of keys and values. ffn:
    width of the dense feed-forward part, 0 where it has experts instead. gated: SwiGLU, three
    products for two. experts, chosen: E, and how many of them a token goes to. expert_ffn: width of
    one of them. shared_ffn: of the part that every token goes through beside them. causal: whether
    a token sees only earlier ones. bias: of linear layers and of norms (LayerNorm), else RMSNorm.
    rotary: positions turn queries and keys. latent: where attention is compressed. window: tokens
    that attention sees, 0 for all. other_params: of further norms, biases and sinks, not split.
    cross: a second attention, to the sample's tokens as an encoder made them, all of which it sees.
    expert_bias: of the layers of experts. share: length of its sequences, of the sample's.
    """

    hidden: int
    heads: int
    head_size: int
    kv_heads: int
    ffn: int
    gated: bool = True
    experts: int = 0
    chosen: int = 0
    expert_ffn: int = 0
    shared_ffn: int = 0
    causal: bool = True
    bias: bool = False
    dropout: bool = False
    rotary: bool = True
    latent: Latent | None = None
    window: int = 0
    other_params: int = 0
    cross: bool = False
    expert_bias: bool = False
    share: float = 1.0

    @property
    def attentions(self) -> int:
        """One, and one more to an encoder."""
        return 2 if self.cross else 1

    @property
    def lengths(self) -> tuple[float, ...]:
        """Keys of each attention for one of its own tokens."""
        return (1.0, 1 / self.share)[: self.attentions]

    def tokens(self, sequence: int) -> int:
        """Of its own sequence where the sample's has so many."""
        return round(sequence * self.share)

    @property
    def query(self) -> int:
        """Width of all queries, q."""
        return self.heads * self.head_size

    @property
    def kv(self) -> int:
        """Width of all keys."""
        return self.kv_heads * self.head_size

    @property
    def value(self) -> int:
        """Width of what attention returns, before the output projection."""
        return self.heads * (self.latent.value if self.latent else self.head_size)

    @property
    def halves(self) -> int:
        """Products into the feed-forward part: two where it is gated."""
        return 2 if self.gated else 1

    @property
    def attention_params(self) -> int:
        """Of attention, norms and biases apart."""
        h = self.hidden
        if (latent := self.latent) is None:
            return self.attentions * (h * self.query + 2 * h * self.kv + self.query * h)
        key = latent.plain + latent.rotary
        queries = latent.query_rank * self.heads * key if latent.query_rank else 0
        first = h * (latent.query_rank or self.heads * key)
        down = h * (latent.kv_rank + latent.rotary)
        up = latent.kv_rank * self.heads * (latent.plain + latent.value)
        return first + queries + down + up + self.value * h

    @property
    def down_params(self) -> int:
        """Of latent attention, what compresses: no tensor rank splits it."""
        latent = self.latent
        if latent is None:
            return 0
        return self.hidden * (latent.query_rank + latent.kv_rank + latent.rotary)

    @property
    def expert_params(self) -> int:
        """Of one expert, with its biases."""
        biases = self.halves * self.expert_ffn + self.hidden if self.expert_bias else 0
        return (self.halves + 1) * self.hidden * self.expert_ffn + biases

    @property
    def dense_params(self) -> int:
        """Of what every token passes beside attention: the dense or shared part and the router."""
        wide = (self.halves + 1) * self.hidden * (self.ffn + self.shared_ffn)
        return wide + self.hidden * self.experts

    @property
    def whole_params(self) -> int:
        """Of what no tensor rank splits: norms, and biases of outputs."""
        norms = (self.attentions + 1) * self.hidden * (2 if self.bias else 1)
        biases = (self.attentions + 1) * self.hidden if self.bias else 0
        return norms + biases + self.other_params

    @property
    def split_bias_params(self) -> int:
        """Biases that are split with their columns."""
        wide = self.halves * (self.ffn + self.shared_ffn)
        return self.attentions * (self.query + 2 * self.kv) + wide if self.bias else 0

    def seen(self, sequence: ArrayLike) -> Array:
        """Keys that a query sees on average: s, half of it where causal, ``w - w^2 / 2 s`` through
        a window of w tokens; all of an encoder's more."""
        tokens = np.asarray(sequence, np.float64)
        wide = np.minimum(tokens, self.window or np.inf)
        own = wide - wide**2 / (2 * tokens) if self.causal else wide
        return own + tokens / self.share if self.cross else own

    def adapter_params(self, rank: int) -> int:
        """Of low-rank adapters beside every product: ``r (in + out)`` each (LoRA, arXiv
        2106.09685)."""
        h, wide = self.hidden, self.ffn + self.shared_ffn
        attention = (h + self.query) + 2 * (h + self.kv) + (self.value + h)
        feeds = (self.halves + 1) * (h + wide) * bool(wide)
        each = (self.halves + 1) * (h + self.expert_ffn) * self.experts
        return rank * (self.attentions * attention + feeds + each)

    @property
    def params(self) -> int:
        """All trainable parameters."""
        split = self.attention_params + self.dense_params + self.split_bias_params
        return split + self.whole_params + self.experts * self.expert_params

    @property
    def active_params(self) -> int:
        """Those that one token passes."""
        return self.params - (self.experts - self.chosen) * self.expert_params


@dataclass(frozen=True)
class Transformer:
    """Layers in order, with an embedding before and a head after them.

    runs: (block, how many follow one another). vocabulary: V, 0 without a head of words. tied: the
    head has the embedding's weights. positions: rows of a table of learned positions.
    other_params: of what stands beside the tables, such as patches of pictures.
    """

    name: str
    runs: tuple[tuple[Block, int], ...]
    vocabulary: int
    tied: bool = False
    positions: int = 0
    other_params: int = 0

    @property
    def hidden(self) -> int:
        """h, of all layers alike."""
        return self.runs[0][0].hidden

    @property
    def layers(self) -> int:
        """L."""
        return sum(count for _, count in self.runs)

    @property
    def written(self) -> float:
        """Tokens that pass the head, of a sample's."""
        return self.runs[-1][0].share

    @property
    def joint(self) -> int:
        """The first layer of a decoder behind an encoder, from 0; 0 of other transformers."""
        return sum(count for block, count in self.runs if not block.cross) % self.layers

    @property
    def embedding_params(self) -> int:
        """Tables of words and positions, and what stands beside them."""
        return (self.vocabulary + self.positions) * self.hidden + self.other_params

    @property
    def head_params(self) -> int:
        """The last norm, and the head where it has weights of its own."""
        norm = self.hidden * (2 if self.runs[0][0].bias else 1)
        return norm + (0 if self.tied else self.vocabulary * self.hidden)

    @property
    def params(self) -> int:
        """All trainable parameters."""
        blocks = sum(block.params * count for block, count in self.runs)
        return blocks + self.embedding_params + self.head_params

    @property
    def active_params(self) -> int:
        """Those that one token passes, the embedding's table among them."""
        blocks = sum(block.active_params * count for block, count in self.runs)
        return blocks + self.embedding_params + self.head_params

    def trained(self, rank: int) -> float:
        """Share of all parameters that adapters of a rank have, the only ones that are trained; 1
        where there are none."""
        own = sum(block.adapter_params(rank) * count for block, count in self.runs)
        return own / self.params if rank else 1.0

    def forward_flops(self, sequence: float) -> float:
        """Model FLOPs of a token's forward pass: products, and attention of what it may see.

        ``2 P + 4 s q / 2`` a layer where it is causal (Shoeybi et al., arXiv 1909.08053, with the
        mask's half left out), and ``2 V h`` of the head. A decoder behind an encoder makes keys and
        values of all tokens, and all else of as many as it has.
        """
        total = 2.0 * self.vocabulary * self.hidden * self.written
        for block, count in self.runs:
            used = block.attention_params + block.dense_params + block.chosen * block.expert_params
            scores = 2 * float(block.seen(sequence * block.share)) * (block.query + block.value)
            keys = 4.0 * block.hidden * block.kv * (sum(block.lengths) - block.attentions)
            total += count * block.share * (2.0 * used + keys + scores)
        return total
