"""Workloads of the ``config.json`` that describes a transformer on Hugging Face.

Every number follows in closed form (:mod:`dse.catalog.transformers`) from the sizes in the file and
from how long a sample is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.catalog import transformers
from dse.catalog.facts import Fact
from dse.catalog.rows_of_work import Network
from dse.catalog.workloads import Workload, read_workload, workload
from dse.errors import StudyError
from dse.spelling import meant
from dse.text_source import is_path

if TYPE_CHECKING:  # reading YAML takes a while to import
    from dse.yaml_source import Source

MOST_TOKENS = 10**7  # of a sample
USUAL_TOKENS = 4096  # of a sample, where a model can read as many
TOKEN_BYTES = 8  # of a token's number
_WIDEST = 10**7  # of any size of a network
_DEEPEST = 1000  # layers
_TARGET = 114 / 512  # tokens to write for each one read: what T5's pre-training replaces
_PREDICTED = 0.15  # of the tokens, in the pre-training of BERT and RoBERTa


@dataclass(frozen=True)
class _Described:
    """A network, and what else its configuration tells of a sample."""

    network: Network
    title: str
    alike: str
    tokens: int | None = None
    input_bytes: float = 0.0
    pictures: bool = False
    note: str = ""


class _Config:
    """The sizes in a file, under their own names or older ones."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.data: dict[str, Any] = source.data
        self.kind = str(self.data.get("model_type"))

    def wrong(self, problem: str, remedy: str, key: str | None = None) -> StudyError:
        """The error to raise, about a key or the whole file."""
        return self.source.error(() if key is None else (key,), problem, remedy)

    def whole(self, *keys: str, high: int = _WIDEST, default: int | None = None) -> int:
        """The whole number of at least 1 under the first of the keys that is there.

        default: where none is there, or it is null.
        """
        key = next((key for key in keys if self.data.get(key) is not None), None)
        if key is None:
            if default is not None:
                return default
            problem = f"{keys[0]} is missing, which a model_type of {self.kind} has"
            raise self.wrong(problem, f'add "{keys[0]}": a whole number, or check the file')
        value = self.data[key]
        if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
            raise self.wrong(f"{key} is not a whole number", f"write 1 to {high}", key)
        if not 1 <= value <= high:
            raise self.wrong(f"{key} is {value:.15g}", f"write a whole number, 1 to {high}", key)
        return int(value)

    def flag(self, key: str, default: bool) -> bool:
        """The value of a key that is true or false."""
        value = self.data.get(key, default)
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

    def layers(self, key: str = "num_hidden_layers", default: int | None = None) -> int:
        """How many blocks follow one another."""
        return self.whole(key, high=_DEEPEST, default=default)

    def refuse(self, *keys: str) -> None:
        """Raise where one of the keys asks for what the closed forms do not have."""
        for key in keys:
            if self.data.get(key):
                raise self.wrong(
                    f"{key}: such models are not known here", "use dse.workload_from on it", key
                )


def named_workload(given: str) -> Workload:
    """The workload of that name, or in a file where a path is given.

    A file that ends in .json is the config.json of a transformer. Raises
    :class:`~dse.catalog.store.UnknownName`, or :class:`~dse.errors.StudyError`.
    """
    if given.endswith(".json"):
        return workload_of_config(Path(given))
    return read_workload(Path(given)) if is_path(given) else workload(given)


def workload_of_config(
    path: Path, sequence: int | None = None, name: str | None = None
) -> Workload:
    """The workload that a config.json describes, for samples of ``sequence`` tokens.

    sequence: 4096 where it is not given, or the most that the model reads if that is less. name: by
    which reports call it. Raises :class:`~dse.errors.StudyError` where the file is not of a kind
    that is known (:data:`MODEL_TYPES`), or a number in it is missing or wrong.
    """
    from dse.yaml_source import read_yaml

    source = read_yaml(path, numbers_as_keys=True)
    known = ", ".join(MODEL_TYPES)
    if not isinstance(source.data, dict) or "model_type" not in source.data:
        problem = "names no model_type"
        if not isinstance(source.data, dict):
            problem = "is not the configuration of a model"
        remedy = f"give the config.json of a Hugging Face model: {known}"
        raise source.error((), problem, remedy)
    config = _Config(source)
    if config.kind not in MODEL_TYPES:
        remedy = meant(config.kind, MODEL_TYPES, f"known are {known}; for others use "
                       "dse.workload_from, or describe it in the study")  # fmt: skip
        raise config.wrong(f"model_type '{config.kind}' is not known", remedy, "model_type")
    return _workload(MODEL_TYPES[config.kind](config, sequence), config, name)


def _workload(found: _Described, config: _Config, name: str | None) -> Workload:
    network, path = found.network, config.source.path
    layers = network.layers
    size = f"{network.params / 1e9:.3g}b" if network.params >= 1e9 else (
        f"{network.params / 1e6:.3g}m"
    )  # fmt: skip
    ending = "" if found.tokens is None else f"-s{found.tokens}"
    whole = network.kept_bytes + network.score_bytes
    numbers = {"params": network.params, "forward_flops": network.forward_flops}
    numbers |= {"activation_bytes": whole, "input_bytes": found.input_bytes}
    unknown = np.full(len(layers), np.nan)
    return Workload(
        name=name or f"{config.kind.replace('_', '-')}-{size}{ending}",
        title=found.title.format(size=f"{size[:-1]} {'billion' if size[-1] == 'b' else 'million'}"),
        params=network.params,
        forward_flops=network.forward_flops,
        activation_bytes=whole,
        activation_bytes_without_scores=network.kept_bytes,
        input_bytes=found.input_bytes,
        gradient_tensors=sum(layer.params > 0 for layer in layers),
        layer_names=tuple(layer.name for layer in layers),
        layer_kinds=tuple(layer.kind for layer in layers),
        layer_params=np.array([layer.params for layer in layers], np.float64),
        layer_forward_flops=np.array([layer.forward_flops for layer in layers], np.float64),
        layer_output_elems=unknown,
        layer_saved_elems=unknown,
        method=f"Closed form of the sizes in {Path(path).name}{found.note}",
        facts=tuple(
            Fact(key, value, "B" if key.endswith("bytes") else "", f"{value:.15g}", path, "",
                 "for one sample", status="derived")
            for key, value in numbers.items()
        ),
        work=network.rows,
        family=network.family,
        network=found.alike,
        decoded=found.pictures,
        tokens_per_sample=found.tokens,
    )  # fmt: skip


def _tokens(config: _Config, asked: int | None, most: int, *, learned: bool) -> int:
    """How long a sample is; of ``learned`` positions there are no more than the model has."""
    if asked is None:
        return min(most, USUAL_TOKENS)
    if learned and asked > most:
        problem = f"a sequence of {asked} tokens, and the model has {most} positions"
        raise config.wrong(problem, f"ask for at most {most}")
    return asked


def _gpt2(config: _Config, sequence: int | None) -> _Described:
    hidden = config.whole("n_embd", "hidden_size")
    positions = config.whole("n_positions", "n_ctx", "max_position_embeddings")
    tokens = _tokens(config, sequence, positions, learned=True)
    network = transformers.gpt(
        hidden,
        config.layers("n_layer"),
        config.heads(hidden, "n_head"),
        config.whole("vocab_size"),
        tokens,
        ffn=config.whole("n_inner", default=4 * hidden),
        positions=positions,
        tied=config.flag("tie_word_embeddings", True),
    )
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
) -> _Described:
    """reserved: positions that no token has, as RoBERTa counts them from 2. sentences: whether
    pre-training asks which sentence is next."""
    hidden, layers = config.whole("hidden_size"), config.layers()
    positions = config.whole("max_position_embeddings")
    if positions <= reserved:
        problem = f"max_position_embeddings is {positions}"
        raise config.wrong(problem, f"write at least {reserved + 1}", "max_position_embeddings")
    tokens = _tokens(config, sequence, positions - reserved, learned=True)
    network = transformers.encoder(
        hidden,
        layers,
        config.heads(hidden),
        config.whole("intermediate_size"),
        config.whole("vocab_size"),
        tokens,
        max(1, int(_PREDICTED * tokens)),
        positions,
        config.whole("type_vocab_size"),
        sentences=sentences,
    )
    heads = "with the heads of its pre-training, which predict 15 % of the tokens"
    # What published training says of BERT holds for RoBERTa, which does the same work.
    return _of_text(network, title, f"bert-{_named_size(hidden, layers)}", tokens, heads)


@dataclass(frozen=True)
class _LlamaKind:
    """What sets one of Llama's descendants apart from others.

    ffn: the key of the width of its feed-forward part. tied: whether the output projection has the
    embedding's weights where the file does not say. query_bias, head_norms: see
    :func:`.transformers.llama`. experts: whether it has several feed-forward parts to choose from.
    """

    title: str
    ffn: str = "intermediate_size"
    tied: bool = False
    query_bias: bool = False
    head_norms: bool = False
    experts: bool = False


def _llama(config: _Config, sequence: int | None, kind: _LlamaKind) -> _Described:
    config.refuse("attention_bias", "mlp_bias", "mlp_only_layers", "n_shared_experts")
    if kind.experts and config.whole("decoder_sparse_step", default=1) != 1:
        config.refuse("decoder_sparse_step")
    hidden, size = config.whole("hidden_size"), None
    if config.data.get("head_dim") is None:
        heads = config.heads(hidden)
    else:
        heads, size = config.whole("num_attention_heads"), config.whole("head_dim")
    kv_heads = config.whole("num_key_value_heads", default=heads)
    if heads % kv_heads:
        problem = f"num_key_value_heads is {kv_heads}, and {heads} heads cannot share as many"
        remedy = "write a divisor of num_attention_heads"
        raise config.wrong(problem, remedy, "num_key_value_heads")
    experts = chosen = 0
    if kind.experts:
        experts = config.whole("num_local_experts", "num_experts", high=10_000)
        chosen = config.whole("num_experts_per_tok", high=experts)
    most = config.whole("max_position_embeddings", default=USUAL_TOKENS)
    tokens = _tokens(config, sequence, most, learned=False)
    network = transformers.llama(
        hidden,
        config.layers(),
        heads,
        kv_heads,
        config.whole(kind.ffn),
        config.whole("vocab_size"),
        tokens,
        head_size=size,
        tied=config.flag("tie_word_embeddings", kind.tied),
        query_bias=kind.query_bias,
        head_norms=kind.head_norms,
        experts=experts,
        chosen=chosen,
    )
    window = config.data.get("sliding_window")
    note = "attention counted over the full square of the sequence"
    if isinstance(window, int) and not isinstance(window, bool) and 0 < window < tokens:
        note += f", also beyond the window of {window} tokens"
    alike = config.kind.replace("_", "-") if kind.experts else "llama"
    return _of_text(network, kind.title, alike, tokens, note)


def _t5(config: _Config, sequence: int | None) -> _Described:
    tokens = sequence or config.whole("n_positions", default=512)
    target = max(1, round(_TARGET * tokens))
    hidden, layers = config.whole("d_model"), config.layers("num_layers")
    how = config.data.get("feed_forward_proj", "relu")
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
    )
    return _Described(
        network,
        f"T5 of {{size}} parameters, {tokens} tokens in, {target} out",
        f"t5-{_named_size(hidden, layers)}",
        tokens=None,
        input_bytes=TOKEN_BYTES * (tokens + target),
        note=f", {tokens} tokens read and {target} written",
    )


def _vit(config: _Config, sequence: int | None) -> _Described:
    if sequence is not None:
        problem = f"a sequence of {sequence} tokens, and ViT reads pictures"
        raise config.wrong(problem, "leave the sequence out; its length follows from image_size")
    hidden, image = config.whole("hidden_size"), config.whole("image_size", high=100_000)
    patch = config.whole("patch_size", high=100_000)
    if patch > image:
        problem = f"patch_size is {patch}, larger than the picture"
        raise config.wrong(problem, f"write at most {image}", "patch_size")
    labels = config.data.get("id2label")
    classes = len(labels) if isinstance(labels, dict) and labels else 1000
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
    return _Described(
        network, title, "vit", input_bytes=channels * image**2, pictures=True, note=note
    )


def _of_text(network: Network, title: str, alike: str, tokens: int, note: str = "") -> _Described:
    return _Described(
        network,
        f"{title} of {{size}} parameters, {tokens} tokens",
        alike,
        tokens,
        TOKEN_BYTES * tokens,
        note=f", {note}" if note else "",
    )


_roberta = partial(_bert, title="RoBERTa", reserved=2, sentences=False)
_LLAMAS = {
    "llama": _LlamaKind("Llama"),
    "mistral": _LlamaKind("Mistral"),
    "gemma": _LlamaKind("Gemma", tied=True),
    "qwen2": _LlamaKind("Qwen 2", query_bias=True),
    "qwen3": _LlamaKind("Qwen 3", head_norms=True),
    "mixtral": _LlamaKind("Mixtral", experts=True),
    "qwen3_moe": _LlamaKind("Qwen 3", ffn="moe_intermediate_size", head_norms=True, experts=True),
}
# How the configuration of each kind of model is read.
MODEL_TYPES: MappingProxyType[str, Callable[[_Config, int | None], _Described]] = MappingProxyType(
    {
        "gpt2": _gpt2,
        "bert": _bert,
        "roberta": _roberta,
        "xlm-roberta": _roberta,
        "camembert": _roberta,
        **{name: partial(_llama, kind=kind) for name, kind in _LLAMAS.items()},
        "t5": _t5,
        "mt5": _t5,
        "vit": _vit,
    }
)
