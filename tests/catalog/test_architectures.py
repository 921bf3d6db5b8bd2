"""Which half of a network a configuration is of, and which head: its ``architectures``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dse.catalog import Workload, named_workload, workload_of_config
from dse.catalog.workload_text import workload_text
from dse.errors import StudyError

T5_SMALL = {
    "model_type": "t5", "d_model": 512, "d_kv": 64, "d_ff": 2048, "num_layers": 6, "num_heads": 8,
    "vocab_size": 32128, "n_positions": 512,
}  # fmt: skip
UMT5_SMALL = {
    **T5_SMALL, "model_type": "umt5", "d_ff": 1024, "num_layers": 8, "num_heads": 6,
    "vocab_size": 256384, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False,
}  # fmt: skip
BERT_BASE = {
    "model_type": "bert", "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
    "intermediate_size": 3072, "vocab_size": 30522, "max_position_embeddings": 512,
    "type_vocab_size": 2,
}  # fmt: skip
ROBERTA_BASE = {
    **BERT_BASE, "model_type": "roberta", "vocab_size": 50265, "max_position_embeddings": 514,
    "type_vocab_size": 1,
}  # fmt: skip
DISTILBERT = {
    "model_type": "distilbert", "dim": 768, "n_layers": 6, "n_heads": 12, "hidden_dim": 3072,
    "vocab_size": 30522, "max_position_embeddings": 512,
}  # fmt: skip


def of(folder: Path, config: dict[str, Any], *architectures: str, **more: Any) -> Workload:
    path = folder / "config.json"
    path.write_text(json.dumps({**config, "architectures": [*architectures], **more}, indent=1))
    return workload_of_config(path, 512)


@pytest.mark.parametrize(
    ("config", "architecture", "params"),
    [
        (T5_SMALL, "T5ForConditionalGeneration", 60_506_624),
        (T5_SMALL, "T5EncoderModel", 35_330_816),
        (BERT_BASE, "BertForPreTraining", 110_106_428),
        (BERT_BASE, "BertModel", 109_482_240),
        (BERT_BASE, "BertForSequenceClassification", 109_483_778),
        (BERT_BASE, "BertForTokenClassification", 108_893_186),
        (BERT_BASE, "BertForQuestionAnswering", 108_893_186),
        (ROBERTA_BASE, "RobertaForSequenceClassification", 124_647_170),
        (ROBERTA_BASE, "RobertaModel", 124_645_632),
        (DISTILBERT, "DistilBertForMaskedLM", 66_985_530),
        (DISTILBERT, "DistilBertForSequenceClassification", 66_955_010),
        (DISTILBERT, "DistilBertForTokenClassification", 66_364_418),
        (DISTILBERT, "DistilBertModel", 66_362_880),
    ],
)
def test_parameters_are_those_that_the_library_counts(
    tmp_path: Path, config: dict[str, Any], architecture: str, params: int
) -> None:
    assert of(tmp_path, config, architecture).params == params


def test_every_layer_of_umt5_has_distances_of_its_own(tmp_path: Path) -> None:
    mt5 = of(tmp_path, {**UMT5_SMALL, "model_type": "mt5"}, "MT5EncoderModel")
    umt5 = of(tmp_path, UMT5_SMALL, "UMT5EncoderModel")
    assert umt5.params - mt5.params == 7 * 32 * 6
    whole = of(tmp_path, UMT5_SMALL, "UMT5ForConditionalGeneration")
    assert sum("relbias" in name for name in whole.layer_names) == 16


def test_an_encoder_alone_writes_nothing(tmp_path: Path) -> None:
    both = of(tmp_path, T5_SMALL)
    encoder = of(tmp_path, T5_SMALL, "T5EncoderModel")
    assert not [name for name in encoder.layer_names if name.startswith("dec")]
    assert encoder.tokens_per_sample == 512
    assert encoder.input_bytes == 8 * 512
    assert encoder.family == "encoder"
    assert both.forward_flops > 1.3 * encoder.forward_flops
    assert both.input_bytes is not None
    assert both.input_bytes > encoder.input_bytes


def test_the_head_of_a_classifier_costs_nothing(tmp_path: Path) -> None:
    body = of(tmp_path, BERT_BASE, "BertModel")
    trained = of(tmp_path, BERT_BASE, "BertForPreTraining")
    for architecture in ("BertForSequenceClassification", "BertForTokenClassification"):
        found = of(tmp_path, BERT_BASE, architecture)
        assert found.forward_flops == pytest.approx(body.forward_flops, rel=1e-4)
        assert trained.forward_flops > 1.03 * found.forward_flops
    ten = of(tmp_path, BERT_BASE, "BertForSequenceClassification",
             id2label={str(at): f"class {at}" for at in range(10)})  # fmt: skip
    assert ten.params == 109_482_240 + 10 * 769


def test_a_file_without_architectures_is_read_as_before(tmp_path: Path) -> None:
    for named in ({}, {"architectures": None}, {"architectures": []}):
        path = tmp_path / "config.json"
        path.write_text(json.dumps({**BERT_BASE, **named}))
        assert workload_of_config(path, 512).params == 110_106_428


@pytest.mark.parametrize("architecture", ["T5EncoderModel", "T5ForConditionalGeneration"])
def test_what_is_written_out_is_read_back(tmp_path: Path, architecture: str) -> None:
    found = of(tmp_path, T5_SMALL, architecture)
    path = tmp_path / "mine.yaml"
    path.write_text(workload_text(found))
    again = named_workload(str(path))
    assert (again.params, again.forward_flops) == (found.params, found.forward_flops)
    assert again.layer_names == found.layer_names


@pytest.mark.parametrize(
    ("config", "architecture"),
    [
        (BERT_BASE, "BertForMultipleChoice"),
        (BERT_BASE, "BertLMHeadModel"),
        (T5_SMALL, "T5ForSequenceClassification"),
        ({**BERT_BASE, "model_type": "llama"}, "LlamaForSequenceClassification"),
    ],
)
def test_what_is_not_counted_is_one_line(
    tmp_path: Path, config: dict[str, Any], architecture: str
) -> None:
    with pytest.raises(StudyError) as found:
        of(tmp_path, config, architecture)
    said = str(found.value)
    assert f"architectures: '{architecture}' is not counted" in said
    assert "dse.workload_from" in said
    assert "\n" not in said
