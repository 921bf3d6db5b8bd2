"""What the abstract of Awan et al. (CCGRID 2019) states, and which parameters were set by it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from benchmarks.papers import tf_aggregation as paper
from benchmarks.papers.tf_machines import EDR_CLUSTER, on, samples_per_s
from dse import catalog
from dse.model.approach import allreduce_s


@pytest.fixture(scope="module")
def facts() -> list[dict[str, Any]]:
    return paper.rows()


def test_every_fact_agrees_and_says_its_role(facts: list[dict[str, Any]]) -> None:
    assert all(fact["ok"] for fact in facts), [fact["fact"] for fact in facts if not fact["ok"]]
    assert [fact["role"] for fact in facts].count(paper.FITTED) == 2
    assert [fact["role"] for fact in facts].count(paper.CHECK) == len(facts) - 2
    for fact in facts:
        assert set(fact) >= {"paper", "fact", "published", "computed", "low", "high", "role", "ok"}


def test_the_catalogue_holds_what_the_fit_gives() -> None:
    streams = catalog.approach("grpc").streams
    assert streams == pytest.approx(paper.fitted_streams(), rel=0.01)
    share = catalog.approach("horovod-nccl").link_efficiency
    assert share == pytest.approx(paper.fitted_nccl_efficiency(), rel=0.01)


def test_a_fitted_parameter_moves_its_fact() -> None:
    grpc = catalog.approach("grpc")
    ratios = [
        paper.horovod_over_grpc("resnet50", replace(grpc, streams=count)) for count in (5.0, 50.0)
    ]
    assert ratios[0] > 1.8 > ratios[1]


def test_the_gain_over_nccl_falls_with_the_message() -> None:
    gain = paper.over_nccl(2.0 ** np.arange(2, 29))
    assert np.all(np.diff(gain) <= 1e-9)
    assert gain[-1] > 1


def test_pointer_cache_and_sums_on_the_accelerator_each_gain() -> None:
    best = catalog.approach("horovod-mpi-opt")
    plain = catalog.approach("horovod-mpi")
    asked = replace(best, query_s=plain.query_s)
    on_host = replace(best, sum_s_per_byte=plain.sum_s_per_byte, sum_start_s=plain.sum_start_s)
    small, large = np.array([64.0]), np.array([2.0**28])

    def seconds(facts: catalog.Approach, size: np.ndarray) -> float:  # type: ignore[type-arg]
        return float(allreduce_s(on(EDR_CLUSTER, facts), 16, 1, size)[0])

    messages = 4  # recursive doubling of 16 ranks
    saved = messages * best.queries * (plain.query_s - best.query_s)
    assert seconds(asked, small) - seconds(best, small) == pytest.approx(saved)
    assert seconds(asked, large) / seconds(best, large) < 1.001  # queries no longer count
    assert seconds(on_host, large) / seconds(best, large) > 1.5


def test_a_ring_for_every_tensor_loses_where_tensors_are_many_and_small() -> None:
    gpus, batch = np.array([64.0]), np.array([64.0])
    rates = {
        (name, workload): samples_per_s(EDR_CLUSTER, catalog.approach(name), workload, gpus, batch)[
            0
        ]
        for name in ("baidu-mpi", "horovod-mpi-opt")
        for workload in ("resnet50", "nasnet-large")
    }
    for workload in ("resnet50", "nasnet-large"):
        assert rates["horovod-mpi-opt", workload] > rates["baidu-mpi", workload]
