"""What the abstract of Awan et al. (CCGRID 2019) states, and which parameters were set by it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse
from benchmarks.papers import tf_aggregation as paper
from benchmarks.papers import tf_assumed, tf_piz_daint, tf_table
from benchmarks.papers.fact import ASSUMED, CHECK, FITTED, ROLES
from benchmarks.papers.tf_machines import EDR_CLUSTER, on, samples_per_s
from dse import catalog
from dse.model.aggregation.tensorwise import allreduce_s
from dse.model.arrays import Array

DOCS = Path(__file__).parents[2] / "docs" / "tf-aggregation.md"


@pytest.fixture(scope="module")
def facts() -> list[dict[str, Any]]:
    return paper.rows()


def test_each_row_is_what_its_bounds_and_role_say(facts: list[dict[str, Any]]) -> None:
    for fact in facts:
        assert set(fact) >= {"paper", "fact", "published", "computed", "low", "high", "role", "ok"}
        assert fact["role"] in ROLES
        inside = np.all((fact["low"] <= np.array(fact["computed"]))
                        & (np.array(fact["computed"]) <= fact["high"]))  # fmt: skip
        assert fact["ok"] is (None if fact["role"] == ASSUMED else bool(inside))


def test_roles(facts: list[dict[str, Any]]) -> None:
    count = Counter(fact["role"] for fact in facts)
    assert count == {FITTED: 2, CHECK: 6, ASSUMED: 4}
    assert all(fact["ok"] for fact in facts if fact["role"] == FITTED)


def test_missed_checks_are_those_that_the_docs_list(facts: list[dict[str, Any]]) -> None:
    listed = DOCS.read_text(encoding="utf-8").partition("### Missed checks")[2].partition("###")[0]
    names = [line[2:] for line in listed.splitlines() if line.startswith("- ")]
    assert [fact["fact"] for fact in facts if fact["ok"] is False] == names


@pytest.mark.parametrize("table", [
    tf_table.efficiencies, tf_table.messages, tf_assumed.horovod, tf_assumed.tried, tf_assumed.grpc,
    tf_assumed.studied, tf_assumed.streams, tf_assumed.window,
])  # fmt: skip
def test_the_docs_have_the_tables_that_are_computed(table: Callable[[], str]) -> None:
    assert table() in DOCS.read_text(encoding="utf-8")


@pytest.mark.parametrize("system", [tf_piz_daint.HOROVOD, tf_piz_daint.GRPC])
def test_terms_of_scale_bring_the_largest_count_closer_and_intervals_hold_all(system: str) -> None:
    usual, ideal = (tf_piz_daint.studied(system, scale) for scale in ("fitted", "ideal"))
    assert 0 < usual.error[-1] < 0.7 * ideal.error[-1]
    assert usual.inside == usual.nodes.size


def test_what_is_assumed_is_told_with_its_range(facts: list[dict[str, Any]]) -> None:
    for fact in facts:
        assert (fact["moves"] is not None) == (fact["role"] == ASSUMED)
        if fact["moves"]:
            least, most = fact["moves"]
            assert least <= np.min(fact["computed"])
            assert np.max(fact["computed"]) <= most
    moves = {fact["fact"]: fact["moves"] for fact in facts}
    assert moves["No-gRPC faster than gRPC, share of configurations"][0] == pytest.approx(
        0.243, abs=0.005
    )
    best = "the best of No-gRPC faster than the best of gRPC, share of configurations"
    assert moves[best][0] == pytest.approx(0.464, abs=0.005)
    at_64 = "scaling efficiency, ResNet-50 on 64 GPUs, CUDA-aware MPI"
    assert moves[at_64] == pytest.approx([0.928, 0.994], abs=0.002)


def test_only_some_windows_are_within_5_to_17_and_none_of_ll_is() -> None:
    inside = {key for key, (least, most) in paper.windows().items() if least >= 5 and most <= 17}
    assert inside
    assert {protocol for protocol, _, _ in inside} == {"Simple"}
    assert len(inside) < len(paper.windows()) / 2


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


def test_only_messages_at_once_by_the_rate_of_a_copy_are_determined() -> None:
    grpc = catalog.approach("grpc")
    slower = replace(grpc, streams=2 * grpc.streams, copy_s_per_byte=2 * grpc.copy_s_per_byte)
    for workload in ("resnet50", "mobilenet-v1"):
        ratio = paper.horovod_over_grpc(workload, slower)
        assert ratio == pytest.approx(paper.horovod_over_grpc(workload), rel=0.01)


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

    def seconds(facts: catalog.Approach, size: Array) -> float:
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


@pytest.mark.slow
@pytest.mark.parametrize("network", ["", "-mobilenet", "-resnet101", "-nasnet"])
def test_what_the_page_says_of_the_fronts(network: str) -> None:
    front = dse.load_study(f"tf-aggregation{network}").search().front
    several = front["gpus"] > 1
    others = several & (front["aggregation"] != "horovod-mpi-opt")
    rare = others & (front["gpus"] >= 64) & (front["inter_node"] == "10gbe")
    assert set(front["gpus"][~several]) == {1}
    assert others.sum() == rare.sum() == 2 * (network == "-nasnet")
    assert "from 2 to 128 all points are Horovod over MPI with both proposals" in DOCS.read_text()
