"""dse.study.quantities: what every point has a number of."""

from __future__ import annotations

import pytest
import yaml

import dse
from dse.study.quantities import COSTS, QUANTITIES
from dse.units import DIMENSIONS


def test_the_costs_of_a_cluster_do_not_hang_on_a_run() -> None:
    """What a study may minimise without saying how long it trains, and pays for all the same."""
    assert {row.name for row in COSTS} == {"capital", "hourly", "tco", "power"}
    assert all(row.phrase is not None for row in COSTS)


@pytest.mark.parametrize("name", ["gpt2-124m", "llama3-8b", "bert-large-s512", "resnet50"])
def test_rates_in_tokens_and_flops_follow_from_samples(name: str) -> None:
    """Of whatever workload: 6 FLOPs a parameter and token, attention besides, over the peak."""
    study = dse.draft_study(name, on="h100", gpus="8")
    workload, found = study.problem.workload, study.price([{}])
    samples = found["throughput_samples_per_s"][0] / 8
    tflops = found["tflops_per_gpu"][0]
    assert found["mfu"][0] == pytest.approx(tflops / 989.4, rel=1e-3)
    if (tokens := workload.tokens_per_sample) is None:
        assert "tokens_per_s" not in found
        assert tflops == pytest.approx(samples * 3 * workload.forward_flops / 1e12)
        text = study.problem.study.source.text
        asked = {**yaml.safe_load(text), "constraints": ["tokens_per_s_per_gpu >= 5"]}
        with pytest.raises(dse.StudyError, match="tokens_per_s_per_gpu: samples of resnet50"):
            dse.load_study(asked)
        return
    assert found["tokens_per_s"][0] / 8 == pytest.approx(samples * tokens)
    assert found["tokens_per_s_per_gpu"][0] == pytest.approx(samples * tokens)
    assert 0.95 < tflops * 1e12 / (samples * tokens * 6 * workload.params) < 1.25


def test_every_row_has_a_dimension_and_a_column_of_its_own() -> None:
    assert all(row.dimension in DIMENSIONS for row in QUANTITIES.values())
    assert len({row.column for row in QUANTITIES.values()}) == len(QUANTITIES)
