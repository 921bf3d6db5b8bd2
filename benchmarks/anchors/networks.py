"""Networks of published rows as workloads: the catalogue's, and others in closed form.

Two sizes or sequence lengths of one network are two workloads of the same ``network``.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from benchmarks.networks import convolutional
from benchmarks.networks import transformer as closed_forms
from dse import catalog
from dse.catalog import Workload, transformers
from dse.catalog.rows_of_work import Network

# hidden size, layers, heads
MPT = {
    "125m": (768, 12, 12),
    "350m": (1024, 24, 16),
    "760m": (1536, 24, 12),
    "1b": (2048, 24, 16),
    "3b": (2560, 32, 20),
    "7b": (4096, 32, 32),
    "13b": (5120, 40, 40),
    "30b": (7168, 48, 56),
}
MPT_VOCABULARY = 50368
# Arguments of :func:`llama` of workloads in the catalogue.
CATALOGUED = {
    (4096, 32, 32, 32, 11008, 32000, 4096): "llama2-7b",
    (5120, 40, 40, 40, 13824, 32000, 4096): "llama2-13b",
    (4096, 32, 32, 8, 14336, 128256, 8192): "llama3-8b",
}


def _workload(name: str, network: str, found: Network) -> Workload:
    layers = found.layers
    outputs = [np.nan if layer.output_elems is None else layer.output_elems for layer in layers]
    return Workload(
        name=name,
        title=name,
        params=found.params,
        forward_flops=found.forward_flops,
        activation_bytes=None,
        activation_bytes_without_scores=None,
        input_bytes=None,
        gradient_tensors=None,
        layer_names=tuple(layer.name for layer in layers),
        layer_kinds=tuple(layer.kind for layer in layers),
        layer_params=np.array([layer.params for layer in layers], np.float64),
        layer_forward_flops=np.array([layer.forward_flops for layer in layers], np.float64),
        layer_output_elems=np.array(outputs, np.float64),
        layer_saved_elems=np.full(len(layers), np.nan),
        method="closed form",
        facts=(),
        work=found.rows,
        family=found.family,
        network=network,
    )


def known(name: str) -> Workload:
    """A workload of the catalogue."""
    return catalog.workload(name)


@cache
def bert_squad(size: str) -> Workload:
    """BERT "base" or "large" that learns to answer questions, on sequences of 384."""
    shape = {"base": (768, 12, 12, 3072), "large": (1024, 24, 16, 4096)}[size]
    found = transformers.encoder(*shape, 30522, 384)
    return _workload(f"bert-{size}-squad-s384", f"bert-{size}", found)


@cache
def mpt(size: str, tokens: int) -> Workload:
    """MPT of llm-foundry; size: a key of :data:`MPT`."""
    found = closed_forms.gpt(*MPT[size], MPT_VOCABULARY, tokens, bias=False)
    return _workload(f"mpt-{size}-s{tokens}", "mpt", found)


@cache
def gpt(hidden: int, layers: int, heads: int, vocabulary: int, tokens: int) -> Workload:
    """A GPT of any size."""
    name = f"gpt-{hidden}-{layers}-{heads}-{vocabulary}-s{tokens}"
    return _workload(name, "gpt", closed_forms.gpt(hidden, layers, heads, vocabulary, tokens))


@cache
def llama(
    hidden: int, layers: int, heads: int, kv_heads: int, ffn: int, vocabulary: int, tokens: int
) -> Workload:
    """A Llama of any size, the catalogue's where it has that one."""
    shape = (hidden, layers, heads, kv_heads, ffn, vocabulary, tokens)
    if shape in CATALOGUED:
        return known(CATALOGUED[shape])
    name = f"llama-{hidden}-{layers}-{kv_heads}-{ffn}-{vocabulary}-s{tokens}"
    return _workload(name, "llama", closed_forms.llama(*shape))


@cache
def bart_large() -> Workload:
    """BART large on 128 + 128 tokens."""
    found = closed_forms.transformer(1024, 12, 16, 4096, 50265, 128, 128, positions=1026)
    return _workload("bart-large-s128", "bart-large", found)


@cache
def resnext101(squeeze: bool) -> Workload:
    """ResNeXt-101 32x4d, with or without squeeze-and-excitation."""
    name = "se-resnext101" if squeeze else "resnext101"
    found = convolutional.resnet((3, 4, 23, 3), groups=32, base=128, squeeze=squeeze)
    return _workload(name, name, found)


@cache
def ssd300() -> Workload:
    """SSD at 300 x 300 on ResNet-50."""
    return _workload("ssd300", "ssd300", convolutional.ssd300())
