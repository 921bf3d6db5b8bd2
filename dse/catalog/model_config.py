"""Networks of the ``config.json`` that describes a transformer on Hugging Face.

Every number follows in closed form (:mod:`dse.catalog.transformers`) from the sizes in the file and
from how long a sample is. Files of the catalogue hold the same sizes under the same names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any

from dse.catalog import transformers
from dse.catalog.reader import File
from dse.catalog.rows_of_work import Network
from dse.catalog.shapes import Block, Latent, Transformer
from dse.errors import StudyError

MOST_TOKENS = 10**7  # of a sample
USUAL_TOKENS = 4096  # of a sample, where a model can read as many
TOKEN_BYTES = 8  # of a token's number
_WIDEST = 10**7  # of any size of a network
_DEEPEST = 1000  # layers
_TARGET = 114 / 512  # tokens to write for each one read: what T5's pre-training replaces
_PREDICTED = 0.15  # of the tokens, in the pre-training of BERT and RoBERTa


@dataclass(frozen=True)
class Described:
    """A network, and what else its configuration tells of a sample.

    title: with a place for the ``size``. alike: what sizes of it have in common. note: on how it is
    counted, to be put behind where the sizes are from. sizes: as the configuration has them.
    """

    network: Network
    title: str
    alike: str
    tokens: int | None = None
    input_bytes: float = 0.0
    pictures: bool = False
    note: str = ""
    kind: str = ""
    sizes: Mapping[str, Any] = field(default_factory=dict)


class _Config:
    """The sizes in a file, under their own names or older ones.

    at: the key that they stand under. defaults: of keys that the file leaves out. used: what has
    been read of them.
    """

    def __init__(self, source: File, data: Mapping[str, Any], at: tuple[str, ...]) -> None:
        self.source, self.data, self.at = source, data, at
        self.kind = str(data.get("model_type"))
        self.defaults: Mapping[str, int] = {}
        self.used: dict[str, Any] = {"model_type": self.kind}

    def wrong(self, problem: str, remedy: str, key: str | None = None) -> StudyError:
        """The error to raise, about a key or the whole file."""
        return self.source.error(self.at if key is None else (*self.at, key), problem, remedy)

    def get(self, key: str) -> Any:
        """The value of a key; None where it is not there."""
        if (value := self.data.get(key)) is not None:
            self.used[key] = value
        return value

    def whole(
        self, *keys: str, low: int = 1, high: int = _WIDEST, default: int | None = None
    ) -> int:
        """The whole number from ``low`` under the first of the keys that is there.

        default: where none is there, or it is null.
        """
        key = next((key for key in keys if self.get(key) is not None), None)
        default = self.defaults.get(keys[0], default)
        if key is None:
            if default is not None:
                return default
            problem = f"{keys[0]} is missing, which a model_type of {self.kind} has"
            raise self.wrong(problem, f'add "{keys[0]}": a whole number, or check the file')
        value = self.data[key]
        if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
            raise self.wrong(f"{key} is not a whole number", f"write {low} to {high}", key)
        if not low <= value <= high:
            remedy = f"write a whole number, {low} to {high}"
            raise self.wrong(f"{key} is {value:.15g}", remedy, key)
        return int(value)

    def flag(self, key: str, default: bool) -> bool:
        """The value of a key that is true or false."""
        value = default if self.get(key) is None else self.data[key]
        if not isinstance(value, bool):
            raise self.wrong(f"{key} is not true or false", "write true or false", key)
        return value

    def heads(self, hidden: int, key: str = "num_attention_heads") -> int:
        """How many heads share the hidden size."""
        heads = self.whole(key)
        if hidden % heads:
            problem = f"{key} is {heads}, and {hidden} cannot be shared by as many"
            raise self.wrong(problem, "write a divisor of the hidden size", key)
        return heads

    def layers(self, *keys: str, default: int | None = None) -> int:
        """How many blocks follow one another."""
        return self.whole(*(keys or ("num_hidden_layers",)), high=_DEEPEST, default=default)

    def head(self, *counted: str) -> str:
        """Which of the ``counted`` endings of a class's name the architecture has, the first where
        the file names none. Raise where it has another."""
        named = self.get("architectures")
        name = str(named[0]) if isinstance(named, list) and named else counted[0]
        found = next((ending for ending in counted if name.endswith(ending)), None)
        if found is None:
            problem = f"architectures: {name!r:.60} is not counted for a model_type of {self.kind}"
            remedy = f"leave it out to count ..{counted[0]}; or use dse.workload_from on it"
            raise self.wrong(problem, remedy, "architectures")
        return found

    def labels(self, default: int) -> int:
        """How many classes the file names."""
        named = self.get("id2label")
        return len(named) if isinstance(named, dict) and named else default

    def refuse(self, *keys: str) -> None:
        """Raise where one of the keys asks for what the closed forms do not have."""
        for key in keys:
            if self.data.get(key):
                raise self.wrong(
                    f"{key}: such models are not known here", "use dse.workload_from on it", key
                )


def described(source: File, at: tuple[str, ...] = (), sequence: int | None = None) -> Described:
    """The network of a configuration, for samples of ``sequence`` tokens.

    at: the key that it stands under in its file. sequence: 4096 where it is not given, or the most
    that the model reads if that is less. Raises :class:`~dse.errors.StudyError` where it is not of
    a kind that is known (:data:`MODEL_TYPES`), or a number in it is missing or wrong.
    """
    data = source.data
    for key in at:
        data = data[key]
    known = ", ".join(MODEL_TYPES)
    if not isinstance(data, dict) or "model_type" not in data:
        problem = "names no model_type"
        if not isinstance(data, dict):
            problem = "is not the configuration of a model"
        remedy = f"give the config.json of a Hugging Face model: {known}"
        raise source.error(at, problem, remedy)
    text = data.get("text_config")
    if isinstance(text, dict) and data["model_type"] not in MODEL_TYPES:
        found = described(source, (*at, "text_config"), sequence)
        return replace(found, note=f"{found.note}, of the text part alone")
    config = _Config(source, data, at)
    if (lacking := _lacking(config)) is not None:
        problem = f"model_type '{config.kind}' has {lacking}, which are not modelled"
        raise config.wrong(problem, _OTHER_WAYS, "model_type")
    if config.kind not in MODEL_TYPES:
        problem = f"model_type '{config.kind}' is not known"
        raise config.wrong(problem, f"known are {known}; {_OTHER_WAYS}", "model_type")
    return replace(MODEL_TYPES[config.kind](config, sequence), kind=config.kind, sizes=config.used)


def _lacking(config: _Config) -> str | None:
    """What a network has that no closed form counts, by its kind or by its sizes."""
    if config.kind in _LACKING:
        return _LACKING[config.kind]
    given = config.data.get("layer_types")
    layers = list(map(str, given)) if isinstance(given, list) else []
    words = [*config.data, *layers]
    for start, what in _SIGNS.items():
        if any(word.startswith(start) for word in words):
            return what
    unknown = any(layer not in (_LOCAL, "full_attention") for layer in layers)
    return "layers with another attention than full or sliding" if unknown else None


def _tokens(config: _Config, asked: int | None, most: int, *, learned: bool) -> int:
    """How long a sample is; of ``learned`` positions there are no more than the model has."""
    if asked is None:
        return min(most, USUAL_TOKENS)
    if learned and asked > most:
        problem = f"a sequence of {asked} tokens, and the model has {most} positions"
        raise config.wrong(problem, f"ask for at most {most}")
    return asked


def _gpt2(config: _Config, sequence: int | None) -> Described:
    config.head(*_CAUSAL)
    hidden = config.whole("n_embd", "hidden_size")
    positions = config.whole("n_positions", "n_ctx", "max_position_embeddings")
    tokens = _tokens(config, sequence, positions, learned=True)
    heads = config.heads(hidden, "n_head")
    ffn = config.whole("n_inner", default=4 * hidden)
    block = Block(hidden, heads, hidden // heads, heads, ffn, bias=True)
    shape = Transformer(
        ((block, config.layers("n_layer")),),
        config.whole("vocab_size"),
        config.flag("tie_word_embeddings", True),
        positions,
    )
    network = transformers.decoder(shape, tokens)
    return _of_text(network, "GPT-2", "gpt", tokens)


def _named_size(hidden: int, layers: int) -> str:
    """What BERT's authors and T5's call a network of these sizes."""
    return {(768, 12): "base", (1024, 24): "large"}.get((hidden, layers), "other")


def _bert(
    config: _Config,
    sequence: int | None,
    title: str = "BERT",
    reserved: int = 0,
    sentences: bool = True,
    types: int | None = None,
) -> Described:
    """reserved: positions that no token has, as RoBERTa counts them from 2. sentences: whether
    pre-training asks which sentence is next. types: where the file does not say how many."""
    pooled, labels = _HEADS[config.head(*_HEADS)]
    hidden = config.whole("hidden_size", "dim")
    layers = config.layers("num_hidden_layers", "n_layers")
    positions = config.whole("max_position_embeddings")
    if positions <= reserved:
        problem = f"max_position_embeddings is {positions}"
        raise config.wrong(problem, f"write at least {reserved + 1}", "max_position_embeddings")
    tokens = _tokens(config, sequence, positions - reserved, learned=True)
    network = transformers.encoder(
        hidden,
        layers,
        config.heads(hidden, "n_heads" if "n_heads" in config.data else "num_attention_heads"),
        config.whole("intermediate_size", "hidden_dim"),
        config.whole("vocab_size"),
        tokens,
        None if pooled is not None else max(1, int(_PREDICTED * tokens)),
        positions,
        config.whole("type_vocab_size", low=0, default=types),
        sentences=sentences,
        labels=config.labels(labels) if labels else 0,
        pooled=bool(pooled),
    )
    heads = "with the heads of its pre-training, which predict 15 % of the tokens"
    if pooled is not None:
        heads = f"as {config.data['architectures'][0]} is"
    # What published training says of BERT holds for RoBERTa, which does the same work.
    return _of_text(network, title, f"bert-{_named_size(hidden, layers)}", tokens, heads)


_CAUSAL = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration")
_ENCODER = "EncoderModel"
_OF_EXPERTS = ("n_shared_experts", "num_local_experts", "num_experts", "n_routed_experts")
# Of BERT and its descendants: whether a layer of the first token stands before the labels, and how
# many there usually are; None: the heads of pre-training.
_HEADS: Mapping[str, tuple[bool | None, int]] = {
    "ForPreTraining": (None, 0),
    "ForMaskedLM": (None, 0),
    "ForSequenceClassification": (True, 2),
    "ForTokenClassification": (False, 2),
    "ForQuestionAnswering": (False, 2),
    "DistilBertModel": (False, 0),
    **dict.fromkeys(("BertModel", "RobertaModel", "CamembertModel"), (True, 0)),
}
_PLAIN = Block(0, 0, 0, 0, 0, gated=True, rotary=True)  # Llama's


@dataclass(frozen=True)
class _Decoder:
    """What sets one of Llama's descendants apart from others.

    block: one with what its file does not say; its sizes are the file's. ffn: the key of the width
    of its feed-forward part, or of an expert. experts: whether it has several to choose from. tied:
    whether the output projection has the embedding's weights where the file does not say. windowed:
    likewise, whether it uses the window that it names. period: of so many layers one sees beyond
    the window, 0 for none. defaults: of keys left out.
    """

    title: str
    block: Block = _PLAIN
    ffn: str = "intermediate_size"
    experts: bool = False
    tied: bool = False
    windowed: bool = True
    period: int = 0
    defaults: Mapping[str, int] = field(default_factory=dict)


def _decoder(config: _Config, sequence: int | None, kind: _Decoder) -> Described:
    config.head(*_CAUSAL)
    config.refuse("mlp_bias", "mlp_only_layers", *(() if kind.experts else _OF_EXPERTS))
    for key in ("decoder_sparse_step", "moe_layer_freq"):
        if kind.experts and config.whole(key, default=1) != 1:
            config.refuse(key)
    config.defaults = kind.defaults
    block = _attention(config, kind.block)
    vocabulary, count = config.whole("vocab_size"), config.layers()
    dense, runs = count, list[tuple[Block, int]]()
    if kind.experts:
        dense = config.whole("first_k_dense_replace", low=0, high=count, default=0)
        runs = [(_experts(config, block, kind.ffn), count - dense)]
    if dense:
        runs.insert(0, (replace(block, ffn=config.whole("intermediate_size")), dense))
    # Of kinds of layers that alternate, the file's order is not kept.
    block, count = runs.pop()
    window, local = _window(config, kind, count)
    if window:
        runs.append((replace(block, window=window), local))
        count -= local
    runs.append((block, count))
    shape = Transformer(
        tuple((block, count) for block, count in runs if count),
        vocabulary,
        config.flag("tie_word_embeddings", kind.tied),
    )
    most = config.whole("max_position_embeddings", default=USUAL_TOKENS)
    tokens = _tokens(config, sequence, most, learned=False)
    network = transformers.decoder(shape, tokens)
    note = "attention counted over the full square of the sequence"
    if 0 < window < tokens:
        note += f", of its layers with a window of {window} tokens over what they see"
    alike = config.kind.replace("_", "-") if kind.experts else "llama"
    return _of_text(network, kind.title, alike, tokens, note)


def _attention(config: _Config, block: Block) -> Block:
    """The block with the sizes of its attention."""
    hidden = config.whole("hidden_size")
    given = config.get("head_dim") is not None or "head_dim" in config.defaults
    if block.latent:
        heads = config.whole("num_attention_heads")
        queries = config.whole("q_lora_rank", low=0, default=0)
        block = replace(block, latent=Latent(queries, *map(config.whole, _LATENT_SIZES)))
    elif given:
        heads, size = config.whole("num_attention_heads"), config.whole("head_dim")
    else:
        heads = config.heads(hidden)
        size = hidden // heads
    kv_heads = config.whole("num_key_value_heads", default=heads)
    if heads % kv_heads:
        problem = f"num_key_value_heads is {kv_heads}, and {heads} heads cannot share as many"
        remedy = "write a divisor of num_attention_heads"
        raise config.wrong(problem, remedy, "num_key_value_heads")
    if block.latent:
        kv_heads, size = heads, block.latent.plain + block.latent.rotary
    sizes = replace(block, hidden=hidden, heads=heads, head_size=size, kv_heads=kv_heads)
    biased = config.flag("attention_bias", block.output_bias)
    return replace(sizes, query_bias=block.query_bias or biased, output_bias=biased)


def _experts(config: _Config, block: Block, ffn: str) -> Block:
    """The block with experts in place of its feed-forward part."""
    count = config.whole(*_OF_EXPERTS[1:], high=10_000)
    chosen = config.whole("num_experts_per_tok", "experts_per_token", high=count)
    width = config.whole(ffn)
    shared = width * config.whole("n_shared_experts", low=0, high=1000, default=0)
    return replace(block, experts=count, chosen=chosen, expert_ffn=width, shared_ffn=shared)


def _window(config: _Config, kind: _Decoder, layers: int) -> tuple[int, int]:
    """Tokens that attention sees through a window, and how many of the layers have one."""
    used = config.flag("use_sliding_window", kind.windowed)
    window = config.whole("sliding_window", low=0, default=0) if used else 0
    given = config.get("layer_types")
    if isinstance(given, list) and given:
        return window, min(layers, given.count(_LOCAL))
    if config.get("use_sliding_window"):  # Qwen's: from a layer on
        return window, max(0, layers - config.whole("max_window_layers", low=0, default=0))
    every = config.whole("sliding_window_pattern", low=0, default=kind.period)
    return window, layers - layers // every if every else layers


def _t5(config: _Config, sequence: int | None) -> Described:
    tokens = sequence or config.whole("n_positions", default=512)
    alone = config.head("ForConditionalGeneration", "WithLMHeadModel", _ENCODER) == _ENCODER
    target = 0 if alone else max(1, round(_TARGET * tokens))
    hidden, layers = config.whole("d_model"), config.layers("num_layers")
    how = config.get("feed_forward_proj")
    network = transformers.t5(
        hidden,
        layers,
        config.whole("num_heads"),
        config.whole("d_kv"),
        config.whole("d_ff"),
        tokens,
        target,
        config.whole("vocab_size"),
        config.layers("num_decoder_layers", default=layers),
        gated=isinstance(how, str) and how.startswith("gated"),
        tied=config.flag("tie_word_embeddings", True),
        distances=config.whole("relative_attention_num_buckets", default=32),
        shared_distances=config.kind != "umt5",
    )
    if alone:
        alike = f"t5-encoder-{_named_size(hidden, layers)}"
        return _of_text(network, "Encoder of T5", alike, tokens)
    return Described(
        network,
        f"T5 of {{size}} parameters, {tokens} tokens in, {target} out",
        f"t5-{_named_size(hidden, layers)}",
        tokens=tokens,
        input_bytes=TOKEN_BYTES * (tokens + target),
        note=f", {tokens} tokens read and {target} written",
    )


def _vit(config: _Config, sequence: int | None) -> Described:
    if sequence is not None:
        problem = f"a sequence of {sequence} tokens, and ViT reads pictures"
        raise config.wrong(problem, "leave the sequence out; its length follows from image_size")
    hidden, image = config.whole("hidden_size"), config.whole("image_size", high=100_000)
    patch = config.whole("patch_size", high=100_000)
    if patch > image:
        problem = f"patch_size is {patch}, larger than the picture"
        raise config.wrong(problem, f"write at most {image}", "patch_size")
    config.head("ForImageClassification")
    classes = config.labels(1000)
    channels = config.whole("num_channels", default=3)
    network = transformers.vit(
        hidden,
        config.layers(),
        config.heads(hidden),
        config.whole("intermediate_size"),
        image,
        patch,
        channels,
        classes,
    )
    title = f"ViT of {{size}} parameters, pictures of {image} x {image}"
    note = f", with a head for {classes} classes"
    return Described(
        network, title, "vit", input_bytes=channels * image**2, pictures=True, note=note
    )


def _of_text(network: Network, title: str, alike: str, tokens: int, note: str = "") -> Described:
    return Described(
        network,
        f"{title} of {{size}} parameters, {tokens} tokens",
        alike,
        tokens,
        TOKEN_BYTES * tokens,
        note=f", {note}" if note else "",
    )


_distilled = partial(_bert, title="DistilBERT", sentences=False, types=0)
_roberta = partial(_bert, title="RoBERTa", reserved=2, sentences=False)
_HEAD_NORMS = replace(_PLAIN, head_norms=True)
_LATENT_SIZES = ("kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")
_LATENT = replace(_PLAIN, latent=Latent(0, 0, 0, 0, 0))
_EXPERT_WIDTH = "moe_intermediate_size"
_GEMMA3 = {
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 256,
    "vocab_size": 262208,
    "sliding_window": 4096,
}
_DECODERS = {
    "llama": _Decoder("Llama"),
    "mistral": _Decoder("Mistral"),
    "phi3": _Decoder("Phi-3 and 4"),
    "gemma": _Decoder("Gemma", tied=True),
    "gemma2": _Decoder(
        "Gemma 2", replace(_PLAIN, norms=4), tied=True, period=2, defaults={"sliding_window": 4096}
    ),
    "gemma3_text": _Decoder(
        "Gemma 3", replace(_HEAD_NORMS, norms=4), tied=True, period=6, defaults=_GEMMA3
    ),
    "qwen2": _Decoder("Qwen 2", replace(_PLAIN, query_bias=True), windowed=False),
    "qwen3": _Decoder("Qwen 3", _HEAD_NORMS, windowed=False),
    "nemotron": _Decoder("Nemotron", replace(_PLAIN, gated=False, norm_bias=True)),
    "mixtral": _Decoder("Mixtral", experts=True),
    "qwen3_moe": _Decoder("Qwen 3", _HEAD_NORMS, _EXPERT_WIDTH, experts=True, windowed=False),
    "deepseek_v2": _Decoder("DeepSeek-V2", _LATENT, _EXPERT_WIDTH, experts=True),
    "deepseek_v3": _Decoder("DeepSeek-V3", _LATENT, _EXPERT_WIDTH, experts=True),
    "gpt_oss": _Decoder(
        "GPT-OSS",
        replace(_PLAIN, output_bias=True, sinks=True, expert_bias=True),
        experts=True,
        period=2,
        defaults={"head_dim": 64, "sliding_window": 128},
    ),
}
_OTHER_WAYS = "use dse.workload_from on it, or describe it in the study by three numbers"
_LOCAL = "sliding_attention"
_STATES, _LINEAR = "state-space layers", "layers of linear attention"
# What kinds of models have that no closed form counts, and keys or words that tell it of others.
_LACKING = MappingProxyType(
    {
        **dict.fromkeys(
            ("mamba", "mamba2", "falcon_mamba", "jamba", "falcon_h1", "bamba"), _STATES
        ),
        **dict.fromkeys(("zamba", "zamba2", "nemotron_h", "granitemoehybrid"), _STATES),
        **dict.fromkeys(("qwen3_next", "kimi_linear", "minimax", "rwkv"), _LINEAR),
        "recurrent_gemma": "recurrent layers",
        "albert": "layers that share their weights",
    }
)
_SIGNS = MappingProxyType({"mamba": _STATES, "ssm_": _STATES, "linear_": _LINEAR})
# How the configuration of each kind of model is read.
MODEL_TYPES: MappingProxyType[str, Callable[[_Config, int | None], Described]] = MappingProxyType(
    {
        "gpt2": _gpt2,
        "bert": _bert,
        "distilbert": _distilled,
        "roberta": _roberta,
        "xlm-roberta": _roberta,
        "camembert": _roberta,
        **{name: partial(_decoder, kind=kind) for name, kind in _DECODERS.items()},
        "t5": _t5,
        "mt5": _t5,
        "umt5": _t5,
        "vit": _vit,
    }
)
