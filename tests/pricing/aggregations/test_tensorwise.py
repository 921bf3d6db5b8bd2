"""The catalogue's approaches to aggregation in studies: what their steps take."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from benchmarks.papers import tf_machines
from benchmarks.papers.tf_aggregation import ALLREDUCES, SERVERS
from dse import catalog
from dse.calibration.evidence import Grade
from dse.model.aggregation.tensorwise import allreduce_s, step_s
from dse.pricing.aggregations import tensorwise
from dse.pricing.load import load
from dse.pricing.points import Points
from dse.pricing.problem import Problem
from dse.report.points import describe
from dse.search import exhaustive
from dse.study import Value
from tests.pricing import priced, studies

EVERY = (*SERVERS, *ALLREDUCES)
FUSING = ("horovod-mpi", "horovod-mpi-opt", "horovod-nccl")


@pytest.fixture
def paper(tmp_path: Path) -> Problem:
    return load(studies.written(tmp_path, studies.PAPER))


def at(problem: Problem, **values: Value) -> dict[str, Value | None]:
    return priced.point(problem, **values)


def aligned(points: Points, facts: catalog.Approach) -> Points:
    """Tensor fusion as the paper's benchmark has it, its first tick with the backward pass."""
    return points.summed_by(tensorwise(facts, phases=0))


def aggregations(problem: Problem) -> set[str]:
    axis = problem.study.axis("aggregation")
    assert axis is not None
    return {str(value) for value in axis.values}


@pytest.mark.parametrize("name", EVERY)
def test_a_step_is_the_model_s_on_the_machine_of_the_paper(paper: Problem, name: str) -> None:
    facts = catalog.approach(name)
    for servers in (1, 4):
        for gpus in (1.0, 2.0, 12.0, 64.0):
            values = at(paper, aggregation=name, gpus=gpus, batch_per_gpu=64, ps_servers=servers)
            points = aligned(paper.points_at(values), facts)
            passes = points.passes
            there = tf_machines.on(tf_machines.EDR_CLUSTER, facts, min(servers, int(gpus)))
            elements, layer = paper.tensors
            expected = step_s(there, 4 * elements, layer, passes, np.array([gpus]))
            terms = points.step_time()
            around = terms["optimizer_s"] + terms["stalled_s"]
            assert terms.step_s - around == pytest.approx(expected)
            assert terms["exposed_s"] == pytest.approx(expected - terms.compute_s, abs=1e-12)
            assert (terms.comm_s > 0) == (gpus > 1)
            if facts.algorithm != "ps":
                here = tensorwise(facts).on(points)
                messages = 2.0 ** np.arange(2, 28)
                assert allreduce_s(here, gpus, 1, messages) == pytest.approx(
                    allreduce_s(there, gpus, 1, messages)
                )


@pytest.mark.parametrize("name", EVERY)
def test_throughput_is_that_of_the_paper_s_benchmark(
    paper: Problem, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tf_machines, "TOGETHER", 0.0)  # no waiting, as in studies
    monkeypatch.setattr(tf_machines, "SPREAD", 0.0)
    counts = [1, 2, 4, 8, 16, 32, 64]
    rates = []
    for servers in counts if name in SERVERS else [1]:
        values = at(paper, aggregation=name, gpus=64, batch_per_gpu=64, ps_servers=servers)
        terms = aligned(paper.points_at(values), catalog.approach(name)).step_time()
        rates.append(64 * 64 / (terms.step_s - terms["optimizer_s"] - terms["stalled_s"]))
    gpus, batch = np.array([64.0]), np.array([64.0])
    theirs = tf_machines.samples_per_s(
        tf_machines.EDR_CLUSTER, catalog.approach(name), "resnet50", gpus, batch
    )
    assert max(rates) == pytest.approx(theirs)


def test_nothing_overlaps_where_nothing_may(tmp_path: Path) -> None:
    problem = load(studies.written(tmp_path, f"{studies.APPROACHES}scale: ideal\n"))
    for name in ("grpc", "baidu-mpi", "horovod-mpi"):
        values = at(problem, aggregation=name, gpus=8, ps_servers=3, fusion_buffer=2.0**20,
                    fusion_cycle=1e-3)  # fmt: skip
        none, some = (
            problem.points_at({**values, "overlap": how}).step_time()
            for how in ("none", "bucketed")
        )
        rest = none.compute_s + none["optimizer_s"] + none.input_s
        assert none.step_s == pytest.approx(none.comm_s + rest)
        assert some.step_s < none.step_s


def test_without_the_axes_an_approach_fuses_as_it_does(paper: Problem) -> None:
    def seconds(**more: Value) -> float:
        values = at(paper, aggregation="horovod-mpi", gpus=64, batch_per_gpu=16)
        return float(paper.point({**values, **more})["comm"][0])

    own = seconds()
    assert seconds(fusion_buffer=64 * 2.0**20, fusion_cycle=5e-3) == own
    assert seconds(fusion_buffer=1.0, fusion_cycle=5e-3) > own  # every tensor pays its latency
    assert seconds(fusion_cycle=0.2) < own  # one look, and all of them together


def test_servers_of_a_node_of_its_own_and_servers_on_the_workers(tmp_path: Path) -> None:
    problem = load(studies.written(tmp_path, studies.APPROACHES))

    def found(**values: Value) -> tuple[float, float]:
        point = problem.point(at(problem, aggregation="grpc", gpus=8, **values))
        return float(point["comm"][0]), float(point["capital"][0])

    apart, dear = found(ps_servers=8, ps_placement="dedicated")
    beside, cheap = found(ps_servers=8, ps_placement="colocated")
    assert dear > cheap
    assert beside < apart  # a worker's message to its own server needs no wire
    # 3 workers have work for 3 servers beside them.
    few = {"gpus": 3, "ps_placement": "colocated"}
    three, eight = (
        problem.point(at(problem, aggregation="grpc", ps_servers=n, **few)) for n in (3, 8)
    )
    assert three["comm"] == eight["comm"]


@pytest.mark.parametrize("name", ["horovod-mpi", "horovod-mpi-opt"])
def test_fewer_queries_and_faster_sums_make_no_step_slower(tmp_path: Path, name: str) -> None:
    """Where a cycle of fusion happens to begin must not rank approaches."""
    text = studies.APPROACHES.replace("horovod-mpi,", f"{name},").replace(
        "horovod-mpi}}", f"{name}}}}}"
    )
    problem = load(studies.written(tmp_path, f"{text}scale: ideal\n"))
    facts = catalog.approach(name)
    dear = replace(facts, queries=40.0, query_s=1e-6)
    fewer = [
        replace(dear, queries=queries, sum_start_s=start, sum_s_per_byte=rate)
        for queries, start, rate in (
            (40.0, facts.sum_start_s, facts.sum_s_per_byte),
            (4.0, facts.sum_start_s, facts.sum_s_per_byte),
            (0.0, facts.sum_start_s, facts.sum_s_per_byte),
            (0.0, facts.sum_start_s / 4, facts.sum_s_per_byte),
            (0.0, 0.0, facts.sum_s_per_byte and facts.sum_s_per_byte / 3),
        )
    ]
    seen = 0
    for box in problem.space.boxes(1 << 20):
        points = problem.placed(box)
        if points.summing.approach is None or points.summing.approach.name != name:
            continue
        steps = [points.summed_by(tensorwise(one)).step_time().step_s for one in fewer]
        for slow, fast in pairwise(steps):
            assert np.all(fast <= slow)
        assert np.any(steps[-1] < steps[0])
        seen += steps[0].size
    assert seen > 100


def test_faster_links_and_larger_batches_never_hurt_efficiency(paper: Problem) -> None:
    for name in EVERY:
        found = []
        for batch in (16, 64):
            many, one = (
                paper.point(at(paper, aggregation=name, gpus=n, batch_per_gpu=batch, ps_servers=1))
                for n in (64, 1)
            )
            found.append(float((many["throughput"] / one["throughput"] / 64)[0]))
        assert found[0] <= found[1] <= 1 + 1e-12


def test_nothing_of_an_approach_counts_as_measured(paper: Problem) -> None:
    for name in EVERY:
        values = at(paper, aggregation=name, gpus=12)
        assert not np.any(paper.point(values).grade == Grade.INSIDE)
        point = describe(paper, values)
        low, high = point.interval.step_s
        assert low < point.step_s < high, "as far off as the catalogue's prices are"
        assert point.extrapolated
        assert name in point.why_outside[0]
    assert np.all(paper.point(at(paper, aggregation="grpc", gpus=1)).grade == Grade.INSIDE)


def test_a_measured_transport_of_the_same_name_is_another(tmp_path: Path) -> None:
    """ps-grpc and grpc differ; neither takes the other's links."""
    problem = load(studies.written(tmp_path, studies.APPROACHES))
    theirs = problem.points_at(at(problem, aggregation="ps-grpc", gpus=8))
    ours = problem.points_at(at(problem, aggregation="grpc", gpus=8))
    assert theirs.summing.approach is None
    assert ours.summing.approach is not None
    for points in (theirs, ours):
        share = points.summing.transport.across.link_efficiency
        assert points.across.bytes_per_s == pytest.approx(1.25e9 * share)


def test_the_study_of_the_paper_has_an_answer() -> None:
    problem = load("tf-aggregation")
    front = exhaustive.search(problem, problem.space.boxes(1 << 21)).front
    assert len(front.gain) > 10
    best = problem.space.point(int(front.indices[int(np.argmax(front.gain))][0]))
    assert str(best["aggregation"]) in FUSING
    assert best["gpus"] == 128
