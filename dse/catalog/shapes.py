"""Structure of transformers: sizes of their blocks, in runs of blocks alike."""

from __future__ import annotations

from dataclasses import dataclass


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
    """One kind of layer, in sizes.

    head_size: of a query and of a key. kv_heads: of keys and values. ffn: width of the dense
    feed-forward part, 0 where there are experts instead. gated: SwiGLU and its like, three products
    for two. experts, chosen: how many there are, and how many a token goes to. expert_ffn: width of
    one. shared_ffn: of what every token passes beside them. causal: a token sees only earlier ones.
    bias: of linear layers. norm_bias: of norms, which are LayerNorms then, else RMSNorms. rotary:
    positions turn queries and keys. window: tokens that attention sees, 0 for all. norms: in a
    block, 4 where outputs have theirs as well as inputs. query_bias: of the projections to queries,
    keys and values, where others have none; output_bias: of that back. head_norms: queries and keys
    are normalised, head by head. sinks: each head has a score that no token has. expert_bias: of
    the router and of experts. cross: attention across to what an encoder made follows its own.
    share: length of its sequences, of a sample's.
    """

    hidden: int
    heads: int
    head_size: int
    kv_heads: int
    ffn: int
    gated: bool = False
    experts: int = 0
    chosen: int = 0
    expert_ffn: int = 0
    shared_ffn: int = 0
    causal: bool = True
    bias: bool = False
    norm_bias: bool = False
    dropout: bool = False
    rotary: bool = False
    latent: Latent | None = None
    window: int = 0
    norms: int = 2
    query_bias: bool = False
    output_bias: bool = False
    head_norms: bool = False
    sinks: bool = False
    expert_bias: bool = False
    cross: bool = False
    share: float = 1.0

    @property
    def inner(self) -> int:
        """Width of all queries."""
        return self.heads * self.head_size

    @property
    def kv(self) -> int:
        """Width of all keys."""
        return self.kv_heads * self.head_size

    @property
    def value(self) -> int:
        """Width of what attention returns."""
        return self.heads * (self.latent.value if self.latent else self.head_size)

    @property
    def other_params(self) -> int:
        """Parameters beside those of products, two norms and the biases that ``bias`` adds."""
        found = (self.norms - 2) * self.hidden
        if self.norm_bias and not self.bias:
            found += self.norms * self.hidden
        if self.query_bias and not self.bias:
            found += self.inner + 2 * self.kv
        if self.latent:
            found += self.latent.query_rank + self.latent.kv_rank
        return found + (
            self.output_bias * self.hidden
            + self.head_norms * 2 * self.head_size
            + self.sinks * self.heads
            + self.expert_bias * self.experts
        )

    def seen(self, tokens: float) -> float:
        """Keys of a query in the row of its attention, the half that ``causal`` masks included.

        A query sees ``w (1 - w / 2 s)`` keys on average through a window of w tokens, and s / 2
        where there is none.
        """
        if not 0 < self.window < tokens:  # none, or one that all of the sample is in
            return tokens
        return self.window * (2 - self.window / tokens)


@dataclass(frozen=True)
class Transformer:
    """Layers in order, with an embedding before and a head after them.

    runs: (block, how many follow one another); of kinds that alternate, all of one before all of
    the other. vocabulary: words, 0 without a head of words. tied: the head has the embedding's
    weights. positions: rows of a table of learned positions. Totals leave out layers of multi-token
    prediction (DeepSeek-V3, arXiv 2412.19437, section 2.2).
    """

    runs: tuple[tuple[Block, int], ...]
    vocabulary: int
    tied: bool = False
    positions: int = 0
