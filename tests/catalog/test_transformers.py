"""Transformers whose files hold sizes alone: counts of parameters, structure, windows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dse.catalog import names, workload, workload_of_config
from dse.catalog.rows_of_work import CAUSAL_ATTENTION
from dse.catalog.shapes import Transformer
from dse.errors import DseError
from dse.pricing.shapes import transformer

# Billions, total and active, as published, and where. "cards": model cards; "files": sums over the
# published files of weights, which are exact.
PUBLISHED = {
    "llama3.1-8b": (8.03, 8.03, "files"),
    "llama3.1-70b": (70.6, 70.6, "cards"),
    "llama3.1-405b": (405.85, 405.85, "files"),
    "llama3.2-1b": (1.236, 1.236, "files"),
    "llama3.2-3b": (3.213, 3.213, "files"),
    "llama3.3-70b": (70.6, 70.6, "cards"),
    "qwen2.5-0.5b": (0.494, 0.494, "files"),
    "qwen2.5-1.5b": (1.54, 1.54, "cards"),
    "qwen2.5-3b": (3.09, 3.09, "cards"),
    "qwen2.5-7b": (7.61, 7.61, "cards"),
    "qwen2.5-14b": (14.77, 14.77, "files"),
    "qwen2.5-32b": (32.76, 32.76, "files"),
    "qwen2.5-72b": (72.7, 72.7, "cards"),
    "qwen3-0.6b": (0.6, 0.6, "cards"),
    "qwen3-1.7b": (1.7, 1.7, "cards"),
    "qwen3-4b": (4.0, 4.0, "cards"),
    "qwen3-8b": (8.2, 8.2, "cards"),
    "qwen3-14b": (14.8, 14.8, "cards"),
    "qwen3-32b": (32.8, 32.8, "cards"),
    "qwen3-30b-a3b": (30.5, 3.3, "cards"),
    "qwen3-235b-a22b": (235, 22, "cards"),
    "mixtral-8x7b": (46.7, 12.9, "Mistral AI, December 2023"),
    "mixtral-8x22b": (141, 39, "Mistral AI, April 2024"),
    "deepseek-v2": (236, 21, "arXiv 2405.04434"),
    "deepseek-v2-lite": (15.7, 2.4, "arXiv 2405.04434"),
    "deepseek-v3": (671, 37, "arXiv 2412.19437"),
    "gpt-oss-20b": (20.91, 3.61, "arXiv 2508.10925, table 1"),
    "gpt-oss-120b": (116.83, 5.13, "arXiv 2508.10925, table 1"),
    "gemma2-2b": (0.590 + 2.0245, 0.590 + 2.0245, "arXiv 2408.00118, table 2"),
    "gemma2-9b": (0.918 + 8.324, 0.918 + 8.324, "arXiv 2408.00118, table 2"),
    "gemma2-27b": (1.180 + 26.047, 1.180 + 26.047, "arXiv 2408.00118, table 2"),
    "gemma3-1b": (0.302 + 0.698, 0.302 + 0.698, "arXiv 2503.19786, table 1"),
    "gemma3-4b": (0.675 + 3.209, 0.675 + 3.209, "arXiv 2503.19786, table 1"),
    "gemma3-12b": (1.012 + 10.759, 1.012 + 10.759, "arXiv 2503.19786, table 1"),
    "gemma3-27b": (1.416 + 25.600, 1.416 + 25.600, "arXiv 2503.19786, table 1"),
    "t5-base": (0.222903552, 0.222903552, "files"),
    "t5-large": (0.737668096, 0.737668096, "files"),
    "t5-3b": (2.851598336, 2.851598336, "files"),
    "t5-11b": (11.307321344, 11.307321344, "files"),
    "phi-4": (14.7, 14.7, "cards"),
    "nemotron4-340b": (9.4 + 331.6, 9.4 + 331.6, "arXiv 2406.11704, table 1"),
    "vit-l-16": (0.304326632, 0.304326632, "torchvision"),
    "vit-h-14": (0.6320458, 0.6320458, "torchvision"),
}
# Counts that say little more than a digit, and that of OpenAI and DeepSeek leave out the embedding.
DIGITS = {"qwen3-0.6b": 0.05, "qwen3-1.7b": 0.05, "qwen3-4b": 0.05}
ACTIVE_DIGITS = {
    "qwen3-30b-a3b": 0.1, "qwen3-235b-a22b": 0.5, "mixtral-8x22b": 0.5, "deepseek-v2": 0.5,
    "deepseek-v2-lite": 0.1, "deepseek-v3": 0.5,
}  # fmt: skip
WITHOUT_EMBEDDING = (
    "gpt-oss-20b",
    "gpt-oss-120b",
    "deepseek-v2",
    "deepseek-v2-lite",
    "deepseek-v3",
)
SHAPED = [name for name in names("workloads") if workload(name).shape is not None]


def shape_of(name: str) -> Transformer:
    shape = workload(name).shape
    assert shape is not None
    return shape


ALONE = sorted({name for name in names("workloads") for fact in workload(name).facts
                if fact.name == "sizes"})  # fmt: skip


def test_every_one_is_compared() -> None:
    assert set(ALONE) <= set(PUBLISHED)


@pytest.mark.parametrize("name", PUBLISHED)
def test_parameters_are_those_published(name: str) -> None:
    total, active, _ = PUBLISHED[name]
    found = workload(name)
    assert found.params / 1e9 == pytest.approx(total, rel=5e-3, abs=DIGITS.get(name, 0))
    model = transformer(found)
    counted = model.active_params
    if name in WITHOUT_EMBEDDING:
        counted -= model.vocabulary * model.hidden
    digit = ACTIVE_DIGITS.get(name, DIGITS.get(name, 0))
    assert counted / 1e9 == pytest.approx(active, rel=5e-3, abs=digit)


@pytest.mark.parametrize("name", ALONE)
def test_the_same_sizes_as_config_json_are_the_same_network(name: str, tmp_path: Path) -> None:
    known = workload(name)
    path = tmp_path / "config.json"
    path.write_text(json.dumps(known.sizes), encoding="utf-8")
    tokens = known.tokens_per_sample
    found = workload_of_config(path, None if tokens is None else int(tokens), name)
    for key in ("params", "forward_flops", "activation_bytes", "work", "family", "network",
                "tokens_per_sample", "shape", "sizes"):  # fmt: skip
        assert getattr(found, key) == getattr(known, key), key


@pytest.mark.parametrize("name", SHAPED)
def test_blocks_account_for_the_parameters(name: str) -> None:
    """All but patches of pictures and heads of pre-training."""
    found = workload(name)
    model = transformer(found)
    assert model.name == name
    assert model.params == found.params
    assert 0 <= model.other_params <= 0.016 * found.params
    if found.family == "decoder":
        assert model.other_params <= model.hidden


@pytest.mark.parametrize("name", ["t5-base", "t5-11b"])
def test_rows_of_work_and_structure_count_the_same_flops(name: str) -> None:
    """But for what a mask leaves out of a decoder's own attention."""
    found, model = workload(name), transformer(workload(name))
    (_, count), (block, _) = model.runs
    masked = 2 * 114**2 * block.query * count
    assert model.forward_flops(512) * 512 + masked == pytest.approx(found.forward_flops, rel=1e-9)


def test_what_is_no_transformer_has_no_shape() -> None:
    assert workload("resnet50").shape is None
    with pytest.raises(DseError, match="its blocks are not known"):
        transformer(workload("resnet50"))


def test_dense_layers_come_first() -> None:
    runs = shape_of("deepseek-v3").runs
    assert [(block.ffn, block.experts, count) for block, count in runs] == [
        (18432, 0, 3),
        (0, 256, 58),
    ]
    assert runs[0][0].latent == runs[1][0].latent


@pytest.mark.parametrize(
    ("name", "windows"),
    [
        ("gemma2-27b", [(4096, 23), (0, 23)]),
        ("gemma3-27b", [(1024, 52), (0, 10)]),
        ("gemma3-1b", [(512, 22), (0, 4)]),
        ("gpt-oss-120b", [(128, 18), (0, 18)]),
        ("mixtral-8x7b", [(0, 32)]),
    ],
)
def test_layers_with_a_window(name: str, windows: list[tuple[int, int]]) -> None:
    assert [(block.window, count) for block, count in shape_of(name).runs] == windows


def test_attention_counts_what_a_window_sees() -> None:
    """The slow way: token i sees min(i + 1/2, w) keys; rows count the masked half too."""
    block, _ = shape_of("gemma2-2b").runs[0]
    tokens = 8192
    seen = sum(min(at + 0.5, block.window) for at in range(tokens))
    assert tokens * block.seen(tokens) / 2 == pytest.approx(seen, rel=1e-6)
    model, _ = transformer(workload("gemma2-2b")).runs[0]
    assert tokens * model.seen(tokens) == pytest.approx(seen, rel=1e-6)
    assert block.seen(4096) == block.seen(4096.0) == 4096, "all of the sample is in it"
    work = workload("gemma2-2b").work
    assert work is not None
    assert {row.n for row in work if row.kind == CAUSAL_ATTENTION} == {block.seen(tokens), tokens}


def test_flops_of_a_token_of_deepseek() -> None:
    """DeepSeek-V3's products by hand: two for every active parameter but the embedding's and norms;
    attention with keys of 192 and values of 128, the full square."""
    found = workload("deepseek-v3")
    h, heads, s = 7168, 128, 4096
    attention = h * 1536 + 1536 * heads * 192 + h * 576 + 512 * heads * 256 + heads * 128 * h
    experts = 3 * h * 2048 * 9 + h * 256
    products = 61 * attention + 3 * 3 * h * 18432 + 58 * experts + 129280 * h
    assert found.forward_flops == s * (2 * products + 61 * 2 * s * heads * (192 + 128))
