"""Workloads of config.json: published sizes, the catalogue's numbers, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.catalog import Workload, named_workload, workload, workload_of_config
from dse.catalog.model_config import MODEL_TYPES
from dse.errors import StudyError


def sizes(name: str, **more: Any) -> dict[str, Any]:
    """Those of a network of the catalogue, and what else its makers' file has."""
    return {**(workload(name).sizes or {}), **more}


GPT2 = {
    "model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024,
    "vocab_size": 50257, "n_inner": None, "layer_norm_epsilon": 1e-05,
}  # fmt: skip
BERT = {
    "model_type": "bert", "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16,
    "intermediate_size": 4096, "vocab_size": 30522, "max_position_embeddings": 512,
    "type_vocab_size": 2,
}  # fmt: skip
LLAMA = {
    "model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
    "intermediate_size": 11008, "vocab_size": 32000, "max_position_embeddings": 4096,
}  # fmt: skip
MISTRAL = {
    **LLAMA, "model_type": "mistral", "intermediate_size": 14336, "num_key_value_heads": 8,
    "max_position_embeddings": 32768,
}  # fmt: skip
MIXTRAL = sizes("mixtral-8x7b", max_position_embeddings=32768)
QWEN2 = sizes("qwen2.5-0.5b", max_position_embeddings=32768)
QWEN3 = sizes("qwen3-0.6b", max_position_embeddings=40960)
QWEN3_EXPERTS = sizes("qwen3-30b-a3b", mlp_only_layers=[], decoder_sparse_step=1)
PHI = sizes("phi-4", sliding_window=None)
NEMOTRON = sizes("nemotron4-340b", hidden_act="relu2")
DEEPSEEK = sizes("deepseek-v3", moe_layer_freq=1, num_nextn_predict_layers=1)
DEEPSEEK_LITE = sizes("deepseek-v2-lite", q_lora_rank=None, num_nextn_predict_layers=None)
T5 = sizes("t5-base", n_positions=512)
GEMMA = {
    "model_type": "gemma", "hidden_size": 3072, "num_hidden_layers": 28, "num_attention_heads": 16,
    "head_dim": 256, "num_key_value_heads": 16, "intermediate_size": 24576, "vocab_size": 256000,
    "max_position_embeddings": 8192,
}  # fmt: skip
GEMMA2 = {**GEMMA, "model_type": "gemma2", "sliding_window": 1024}
GEMMA3 = {
    "model_type": "gemma3",
    "text_config": {
        "model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240,
        "num_hidden_layers": 34, "sliding_window": 1024,
    },
    "vision_config": {"model_type": "siglip_vision_model", "hidden_size": 1152},
}  # fmt: skip
GPT_OSS = {
    "model_type": "gpt_oss", "hidden_size": 2880, "num_hidden_layers": 24,
    "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64,
    "intermediate_size": 2880, "vocab_size": 201088, "max_position_embeddings": 131072,
    "num_local_experts": 32, "experts_per_token": 4, "attention_bias": True,
    "sliding_window": 128, "layer_types": ["sliding_attention", "full_attention"] * 12,
}  # fmt: skip
ROBERTA = {
    **BERT, "model_type": "roberta", "hidden_size": 768, "num_hidden_layers": 12,
    "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 50265,
    "max_position_embeddings": 514, "type_vocab_size": 1,
}  # fmt: skip
T5_1_1 = {**T5, "d_ff": 2048, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}
VIT = {
    "model_type": "vit", "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
    "intermediate_size": 3072, "image_size": 224, "patch_size": 16,
}  # fmt: skip


def of(tmp_path: Path, config: Any, sequence: int | None = None) -> Workload:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config, indent=2), encoding="utf-8")
    return workload_of_config(path, sequence)


@pytest.mark.parametrize(
    ("config", "params"),
    [
        (GPT2, 124_439_808),
        # BERT large is 335,141,888 without the heads of its pre-training.
        (BERT, 335_141_888 + 1024 * 1024 + 3 * 1024 + 30522 + 2 * 1024 + 2),
        (ROBERTA, 124_697_433),
        (LLAMA, 6_738_415_616),
        (MISTRAL, 7_241_732_096),
        (MIXTRAL, 46_702_792_704),
        (QWEN2, 494_032_768),
        (QWEN3, 596_049_920),
        (QWEN3_EXPERTS, 30_532_122_624),
        (GEMMA, 8_537_680_896),
        (PHI, 14_659_507_200),
        (DEEPSEEK, 671_026_404_352),
        (DEEPSEEK_LITE, 15_706_484_224),
        (GPT_OSS, 20_914_757_184),
        (T5, 222_903_552),
        (T5_1_1, 247_577_856),
        (VIT, 86_567_656),
    ],
    ids=lambda value: value["model_type"] if isinstance(value, dict) else "",
)
def test_parameters_are_those_published(
    tmp_path: Path, config: dict[str, Any], params: int
) -> None:
    found = of(tmp_path, config)
    assert found.params == params == found.layer_params.sum()
    assert found.forward_flops == pytest.approx(found.layer_forward_flops.sum())
    assert found.gradient_tensors == (found.layer_params > 0).sum()


@pytest.mark.parametrize(
    ("config", "sequence", "name"),
    [
        (GPT2, None, "gpt2-124m"),
        (BERT, None, "bert-large-s512"),
        (BERT, 128, "bert-large-s128"),
        (VIT, None, "vit-base-16"),
    ],
)
def test_it_is_the_workload_of_the_catalogue(
    tmp_path: Path, config: dict[str, Any], sequence: int | None, name: str
) -> None:
    found, known = of(tmp_path, config, sequence), workload(name)
    for key in ("params", "forward_flops", "activation_bytes", "activation_bytes_without_scores",
                "input_bytes", "gradient_tensors", "layer_names", "layer_kinds", "work", "family",
                "network", "tokens_per_sample", "decoded"):  # fmt: skip
        assert getattr(found, key) == getattr(known, key), key
    np.testing.assert_array_equal(found.layer_params, known.layer_params)


def test_llama_keeps_nearly_what_the_catalogue_says(tmp_path: Path) -> None:
    """The catalogue takes a feed-forward part of 4 h; Llama's is gated and as large."""
    found, known = of(tmp_path, LLAMA), workload("llama2-7b")
    assert found.work == known.work
    assert found.activation_bytes == pytest.approx(known.activation_bytes, rel=1e-3)
    assert found.activation_bytes_without_scores == pytest.approx(
        known.activation_bytes_without_scores, rel=0.01
    )


def test_flops_of_experts_are_those_of_the_chosen(tmp_path: Path) -> None:
    s, h, f, kv = 4096, 4096, 14336, 1024
    block = 2 * s * (2 * h * h + 2 * h * kv + 2 * 3 * h * f + 8 * h) + 4 * s * s * h
    assert of(tmp_path, MIXTRAL).forward_flops == 32 * block + 2 * s * h * 32000


def test_flops_of_a_picture(tmp_path: Path) -> None:
    """17.58 billion multiply-adds are published of ViT-B/16."""
    assert of(tmp_path, VIT).forward_flops / 2 == pytest.approx(17.58e9, rel=2e-3)


def test_a_sample_is_as_long_as_asked_or_usual(tmp_path: Path) -> None:
    assert of(tmp_path, MISTRAL).tokens_per_sample == 4096
    assert of(tmp_path, GPT2).tokens_per_sample == 1024
    short, long = of(tmp_path, LLAMA, 1), of(tmp_path, LLAMA, 8192)
    assert short.tokens_per_sample == 1
    assert 8192 * short.forward_flops < long.forward_flops
    assert long.title == "Llama of 6.74 billion parameters, 8192 tokens"


@pytest.mark.parametrize(
    ("config", "windows"),
    [
        (MISTRAL, [0]),
        ({**MISTRAL, "sliding_window": 2048}, [2048]),
        ({**QWEN2, "sliding_window": 2048}, [0]),
        ({**QWEN2, "sliding_window": 2048, "use_sliding_window": True, "max_window_layers": 20},
         [2048, 0]),
        (GEMMA2, [1024, 0]),
        (GEMMA3, [1024, 0]),
        (GPT_OSS, [128, 0]),
        (PHI, [0]),
    ],
)  # fmt: skip
def test_layers_have_the_windows_of_the_file(
    tmp_path: Path, config: dict[str, Any], windows: list[int]
) -> None:
    found = of(tmp_path, config)
    assert found.shape is not None
    assert [block.window for block, _ in found.shape.runs] == windows
    assert ("window" in found.method) is (windows != [0])


def test_a_nested_text_config_is_the_text_part(tmp_path: Path) -> None:
    found = of(tmp_path, GEMMA3)
    assert found.params == workload("gemma3-4b").params
    assert "of the text part alone" in found.method
    outer = {"model_type": "mistral3", "text_config": MISTRAL, "vision_config": {}}
    assert of(tmp_path, outer).params == of(tmp_path, MISTRAL).params


def test_heads_and_experts_of_other_widths(tmp_path: Path) -> None:
    tied = of(tmp_path, {**QWEN3, "tie_word_embeddings": False})
    assert tied.params - of(tmp_path, QWEN3).params == 151936 * 1024
    one = of(tmp_path, {**MIXTRAL, "num_local_experts": 1, "num_experts_per_tok": 1})
    assert one.params == of(tmp_path, MISTRAL).params + 32 * 4096  # its router


@pytest.mark.parametrize(
    ("config", "sequence", "said"),
    [
        ([1], None, "config.json:1:1: is not the configuration of a model; give the config.json"),
        ({"model_type": "falcon"}, None, "2:17: model_type 'falcon' is not known; known are gpt2"),
        ({"model_type": "albert"}, None, "2:17: model_type 'albert' has layers that share their"),
        ({"model_type": "jamba"}, None, "2:17: model_type 'jamba' has state-space layers, which"),
        ({**LLAMA, "mamba_d_state": 16}, None, "model_type 'llama' has state-space layers"),
        ({**QWEN3_EXPERTS, "model_type": "qwen3_next"}, None, "has layers of linear attention"),
        (
            {**QWEN3, "layer_types": ["linear_attention", "full_attention"]},
            None,
            "model_type 'qwen3' has layers of linear attention",
        ),
        (
            {"model_type": "llava", "text_config": {"model_type": "opt"}},
            None,
            "4:19: model_type 'opt' is not known",
        ),
        ({"model_type": "llama"}, None, "hidden_size is missing"),
        ({**LLAMA, "hidden_size": "wide"}, None, "3:18: hidden_size is not a whole number"),
        ({**LLAMA, "hidden_size": 1e300}, None, "hidden_size is 1e+300; write a whole number"),
        ({**LLAMA, "num_attention_heads": 30}, None, "4096 cannot be shared by as many"),
        ({**MISTRAL, "num_key_value_heads": 5}, None, "32 heads cannot share as many"),
        ({**MIXTRAL, "num_experts_per_tok": 9}, None, "num_experts_per_tok is 9; write"),
        ({**LLAMA, "mlp_bias": True}, None, "mlp_bias: such models are not known"),
        ({**LLAMA, "num_experts": 8}, None, "num_experts: such models are not known"),
        ({**DEEPSEEK, "moe_layer_freq": 2}, None, "moe_layer_freq: such models are not known"),
        ({**DEEPSEEK, "kv_lora_rank": None}, None, "kv_lora_rank is missing"),
        ({**DEEPSEEK, "first_k_dense_replace": 99}, None, "first_k_dense_replace is 99; write"),
        ({**LLAMA, "tie_word_embeddings": "no"}, None, "tie_word_embeddings is not true or false"),
        ({**VIT, "patch_size": 500}, None, "patch_size is 500, larger than the picture"),
        (VIT, 8, "a sequence of 8 tokens, and ViT reads pictures"),
        (GPT2, 4096, "a sequence of 4096 tokens, and the model has 1024 positions"),
        ({**ROBERTA, "max_position_embeddings": 2}, None, "max_position_embeddings is 2; write"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_line(
    tmp_path: Path, config: Any, sequence: int | None, said: str
) -> None:
    with pytest.raises(StudyError) as found:
        of(tmp_path, config, sequence)
    assert said in str(found.value)
    assert "\n" not in str(found.value)
    assert "did you mean" not in str(found.value), "nobody types a model_type"


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"{}" * 1_000_000, b"[" * 10_000])
def test_what_is_no_json_is_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(content)
    with pytest.raises(StudyError) as found:
        named_workload(str(path))
    assert str(path) in str(found.value)
    assert "\n" not in str(found.value)


ODD = st.one_of(
    st.none(), st.booleans(), st.floats(), st.text(max_size=5), st.integers(-3, 10**12),
    st.lists(st.integers(), max_size=2), st.dictionaries(st.text(max_size=3), st.integers()),
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_whatever_a_size_is_there_is_a_workload_or_a_line(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    known = (GPT2, BERT, ROBERTA, LLAMA, MIXTRAL, QWEN3_EXPERTS, GEMMA, T5_1_1, VIT, GEMMA2,
             DEEPSEEK, DEEPSEEK_LITE, GPT_OSS)  # fmt: skip
    config = dict(data.draw(st.sampled_from(known)))
    key = data.draw(st.sampled_from(sorted(config)))
    config[key] = data.draw(ODD)
    try:
        found = of(tmp_path_factory.mktemp("odd"), config)
    except StudyError as error:
        said = str(error)
    else:
        said = ""
        assert 0 < found.params < float("inf")
        assert 0 < found.forward_flops < float("inf")
    assert "\n" not in said


def test_every_kind_of_model_is_tried_here() -> None:
    tried = (GPT2, BERT, ROBERTA, LLAMA, MISTRAL, MIXTRAL, QWEN2, QWEN3, QWEN3_EXPERTS, GEMMA,
             GEMMA2, GEMMA3["text_config"], PHI, NEMOTRON, DEEPSEEK, DEEPSEEK_LITE, GPT_OSS, T5,
             VIT)  # fmt: skip
    alike = {"xlm-roberta", "camembert", "mt5", "umt5", "distilbert"}  # or in test_architectures
    assert {str(one["model_type"]) for one in tried} | alike == set(MODEL_TYPES)
