"""Parameters of transformers, against what their makers say."""

from __future__ import annotations

import pytest

from dse.model.parallel.shape import Transformer
from tests.model.parallel import shapes


@pytest.mark.parametrize(
    ("model", "params", "active"),
    [
        (shapes.LLAMA_8B, 8.030e9, 8.030e9),
        (shapes.LLAMA_70B, 70.55e9, 70.55e9),
        (shapes.LLAMA_405B, 405.85e9, 405.85e9),
        (shapes.MIXTRAL, 46.70e9, 12.88e9),
        (shapes.QWEN_235B, 235.1e9, 22.2e9),
        (shapes.DEEPSEEK_V3, 671.0e9, 37.5e9),
        (shapes.gpt(12_288, 96, 96, 50_257), 175.0e9, 175.0e9),
    ],
)
def test_published_totals(model: Transformer, params: float, active: float) -> None:
    assert model.params == pytest.approx(params, rel=5e-3)
    assert model.active_params == pytest.approx(active, rel=5e-3)


def test_model_flops_of_a_token() -> None:
    """PaLM's ``2 N`` a token, and attention of half the square."""
    model = shapes.LLAMA_8B
    weights = model.params - model.embedding_params - 65 * model.hidden
    attention = 32 * 4 * 8192 * 4096 / 2
    assert model.forward_flops(8192) == pytest.approx(2 * weights + attention, rel=1e-9)


def test_encoder_and_decoder() -> None:
    """T5-large's kind: 0.74 billion parameters."""
    model = shapes.T5_LARGE
    (encoder, _), (decoder, _) = model.runs
    assert model.params == pytest.approx(737.7e6, rel=0.005)
    assert decoder.params - encoder.params == 4 * 1024**2 + 1024
    assert (model.joint, shapes.LLAMA_8B.joint) == (24, 0)


def test_a_decoder_writes_fewer_tokens_than_its_encoder_reads() -> None:
    """FLOPs of a sample, product by product: keys and values across are of all that is read."""
    h, f, s, d = 1024, 4096, 512, 114
    read = 2 * s * (4 * h * h + 2 * h * f) + 4 * s * s * h
    written = 2 * d * (6 * h * h + 2 * h * f) + 2 * s * 2 * h * h + 2 * d * d * h + 4 * d * s * h
    sample = 24 * (read + written) + 2 * d * 32_128 * h
    assert shapes.T5_LARGE.forward_flops(s) * s == pytest.approx(sample, rel=1e-12)
