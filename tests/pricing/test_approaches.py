"""The catalogue's approaches to aggregation in studies: values, screening, axes, what is said."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from benchmarks.papers import tf_machines
from benchmarks.papers.tf_aggregation import ALLREDUCES, SERVERS
from dse import catalog
from dse.commands.explain import explain_point
from dse.errors import StudyError
from dse.model import fusion
from dse.model.aggregation.tensorwise import allreduce_s, step_s
from dse.pricing import approached
from dse.pricing.caveats import cautions
from dse.pricing.load import load, shipped_studies
from dse.pricing.problem import Problem
from dse.report import approaches as told
from dse.report import explain, provenance
from dse.report.assumptions import assumptions
from dse.report.design_point import Explained
from dse.report.points import approach_terms, describe
from dse.search import bounds, estimate, exhaustive
from dse.search.fingerprint import identity
from dse.study import Names, Value
from dse.study.names import APPROACHES
from tests.pricing import studies
from tests.search.test_screening import priced_whole, same, screened

EVERY = (*SERVERS, *ALLREDUCES)
FUSING = ("horovod-mpi", "horovod-mpi-opt", "horovod-nccl")
EDR = "{bandwidth: 12.5 GB/s, latency: 1 us, nic: 600 USD, switch_port: 300 USD, cable: 90 USD}"
PAPER = f"""\
study: paper
workload: resnet50
space:
  accelerator: p100-sxm2-16gb
  gpus: [1, 2, 12, 64]
  inter_node: {EDR}
  batch_per_gpu: [16, 64]
  aggregation: [{", ".join(EVERY)}]
when:
  - {{axis: ps_servers, values: [1, 4, 64], if: {{aggregation: [{", ".join(SERVERS)}]}}}}
  - {{axis: ps_placement, values: [colocated], if: {{aggregation: [{", ".join(SERVERS)}]}}}}
objectives: {{maximize: speedup, minimize: capital}}
"""
MIXED = """\
study: mixed
workload: mobilenet-v1
space:
  accelerator: [p100-sxm2-16gb, a100-sxm4-80gb]
  gpus: [1, 2, 3, 8, 24, 64]
  gpus_per_node: [1, 4]
  nics_per_node: [1, 2]
  inter_node: [10gbe, ib-edr]
  batch_per_gpu: [16, 64, 200]
  aggregation: [grpc, grpc-gdr, baidu-mpi, horovod-mpi, horovod-nccl, ring-mpi, ps-grpc]
  overlap: [none, bucketed]
when:
  - {axis: ps_servers, values: [1, 3, 8], if: {aggregation: [grpc, grpc-gdr, ps-grpc]}}
  - {axis: ps_placement, values: [dedicated, colocated], if: {aggregation: [grpc, grpc-gdr]}}
  - {axis: fusion_buffer, values: [1 MiB, 64 MiB], if: {aggregation: [horovod-mpi, horovod-nccl]}}
  - {axis: fusion_cycle, values: [1 ms, 20 ms], if: {aggregation: horovod-mpi}}
  - {axis: bucket, values: [1 MiB, 25 MiB], if: {aggregation: [ring-mpi, ps-grpc]}}
baseline: {accelerator: p100-sxm2-16gb, gpus: 2, gpus_per_node: 1, inter_node: 10gbe,
           batch_per_gpu: 16, aggregation: grpc, overlap: bucketed}
constraints: [fits_memory, "capital <= 2 MUSD"]
objectives: {maximize: speedup, minimize: capital}
target: {samples: 1e7}
"""


@pytest.fixture
def aligned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tensor fusion as the paper's benchmark has it, its first tick with the backward pass."""
    monkeypatch.setattr(approached, "PHASES", 0)


@pytest.fixture
def paper(tmp_path: Path) -> Problem:
    return load(studies.written(tmp_path, PAPER))


def aggregations(problem: Problem) -> set[str]:
    axis = problem.study.axis("aggregation")
    assert axis is not None
    return {str(value) for value in axis.values}


def at(problem: Problem, **values: Value) -> dict[str, Value | None]:
    return problem.applicable({**problem.study.baseline.values, **values})


@pytest.mark.usefixtures("aligned")
@pytest.mark.parametrize("name", EVERY)
def test_a_step_is_the_model_s_on_the_machine_of_the_paper(paper: Problem, name: str) -> None:
    facts = catalog.approach(name)
    for servers in (1, 4):
        for gpus in (1.0, 2.0, 12.0, 64.0):
            setting = paper.setting(
                at(paper, aggregation=name, gpus=gpus, batch_per_gpu=64, ps_servers=servers)
            )
            passes = setting.passes()[0]
            there = tf_machines.on(tf_machines.EDR_CLUSTER, facts, min(servers, int(gpus)))
            elements, layer = paper.tensors
            expected = step_s(there, 4 * elements, layer, passes, np.array([gpus]))
            terms = setting.step_time()
            assert terms.step_s - terms.optimizer_s - terms.stalled_s == pytest.approx(expected)
            assert terms.exposed_s == pytest.approx(expected - terms.compute_s, abs=1e-12)
            assert (terms.comm_s > 0) == (gpus > 1)
            if facts.algorithm != "ps":
                here = approached.model(setting, facts)
                messages = 2.0 ** np.arange(2, 28)
                assert allreduce_s(here, gpus, 1, messages) == pytest.approx(
                    allreduce_s(there, gpus, 1, messages)
                )


@pytest.mark.usefixtures("aligned")
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
        terms = paper.setting(values).step_time()
        rates.append(64 * 64 / (terms.step_s - terms.optimizer_s - terms.stalled_s))
    gpus, batch = np.array([64.0]), np.array([64.0])
    theirs = tf_machines.samples_per_s(
        tf_machines.EDR_CLUSTER, catalog.approach(name), "resnet50", gpus, batch
    )
    assert max(rates) == pytest.approx(theirs)


def test_a_grid_is_its_points(tmp_path: Path) -> None:
    problem = load(studies.written(tmp_path, MIXED))
    for box in problem.space.boxes(1 << 20):
        grid = problem.box(box)
        chosen = np.linspace(0, box.size - 1, 40).astype(np.int64)
        points = [problem.space.point(box.first + int(index)) for index in chosen]
        for where, rows in problem.rows(points):
            for name in ("step", "exposed", "comm", "capital", "speedup"):
                column = np.broadcast_to(grid[name], box.shape).ravel()[chosen[where]]
                # == and not nearly: fronts must not depend on how a space is cut
                assert column.tolist() == np.broadcast_to(rows[name], len(where)).tolist()


@pytest.mark.parametrize("least", ["capital", "step", "per_run", "capital, energy"])
def test_screening_leaves_the_front_as_it_is(
    tmp_path: Path, least: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "SCREENED_FROM", 1)
    text = MIXED.replace("minimize: capital", f"minimize: [{least}]")
    problem = load(studies.written(tmp_path, text))
    expected = priced_whole(problem)
    for points in (1 << 21, 700):
        found = screened(problem, points)
        same(found, expected)
        assert found.priced < problem.space.size
    assert len(expected.front.gain) > 3


def test_no_step_is_shorter_than_without_communication(tmp_path: Path) -> None:
    problem = load(studies.written(tmp_path, MIXED))
    for box in problem.space.boxes(1 << 20):
        setting = problem.placed(box)
        assert bounds.surely_priced(setting)
        assert np.all(bounds.ideal(setting)["step"] <= setting.step_time().step_s)


def test_nothing_overlaps_where_nothing_may(tmp_path: Path) -> None:
    problem = load(studies.written(tmp_path, MIXED))
    for name in ("grpc", "baidu-mpi", "horovod-mpi"):
        values = at(problem, aggregation=name, gpus=8, ps_servers=3, fusion_buffer=2.0**20,
                    fusion_cycle=1e-3)  # fmt: skip
        none, some = (
            problem.setting({**values, "overlap": how}).step_time() for how in ("none", "bucketed")
        )
        rest = none.compute_s + none.optimizer_s + none.input_s
        assert none.step_s == pytest.approx(none.comm_s + rest)
        assert some.step_s < none.step_s


def test_fusion_is_an_axis_of_what_fuses(tmp_path: Path) -> None:
    problem = load(studies.written(tmp_path, MIXED))
    seen = set()
    for index in range(0, problem.space.size, 7):
        point = problem.space.point(index)
        name = point["aggregation"]
        assert (point["fusion_buffer"] is not None) == (name in ("horovod-mpi", "horovod-nccl"))
        assert (point["fusion_cycle"] is not None) == (name == "horovod-mpi")
        assert (point["bucket"] is None) == (name not in ("ring-mpi", "ps-grpc")) or (
            point["bucket"] in (2.0**20, 25 * 2.0**20)
        )
        seen.add(name)
    assert seen == aggregations(problem)


def test_without_the_axes_an_approach_fuses_as_it_does(paper: Problem) -> None:
    def seconds(**more: Value) -> float:
        values = at(paper, aggregation="horovod-mpi", gpus=64, batch_per_gpu=16)
        return float(paper.point({**values, **more})["comm"][0])

    own = seconds()
    assert seconds(fusion_buffer=64 * 2.0**20, fusion_cycle=5e-3) == own
    assert seconds(fusion_buffer=1.0, fusion_cycle=5e-3) > own  # every tensor pays its latency
    assert seconds(fusion_cycle=0.2) < own  # one look, and all of them together


def test_servers_of_a_node_of_its_own_and_servers_on_the_workers(tmp_path: Path) -> None:
    problem = load(studies.written(tmp_path, MIXED))

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
    text = MIXED.replace("horovod-mpi,", f"{name},").replace("horovod-mpi}}", f"{name}}}}}")
    problem = load(studies.written(tmp_path, text))
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
        setting = problem.placed(box)
        if setting.approach is None or setting.approach.name != name:
            continue
        steps = [approached.step_time(setting, one).step_s for one in fewer]
        for slow, fast in pairwise(steps):
            assert np.all(fast <= slow)
        assert np.any(steps[-1] < steps[0])
        seen += steps[0].size
    assert seen > 100


def test_the_better_of_two_libraries_is_never_the_slower(paper: Problem) -> None:
    for gpus in (2.0, 12.0, 64.0):
        for batch in (16, 64):
            slow, fast = (
                paper.point(at(paper, aggregation=name, gpus=gpus, batch_per_gpu=batch))["step"]
                for name in ("horovod-mpi", "horovod-mpi-opt")
            )
            assert fast <= slow


def test_one_node_needs_no_network(tmp_path: Path) -> None:
    problem = load(studies.written(tmp_path, MIXED))
    for name in ("grpc", "baidu-mpi", "horovod-mpi", "horovod-nccl"):
        values = at(problem, aggregation=name, gpus=2, gpus_per_node=4, ps_servers=3)
        slow, fast = (problem.point({**values, "inter_node": link})["step"]
                      for link in ("10gbe", "ib-edr"))  # fmt: skip
        assert slow == fast


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


def test_what_a_term_costs_can_be_read_off(paper: Problem) -> None:
    setting = paper.setting(at(paper, aggregation="horovod-mpi", gpus=64, batch_per_gpu=16))
    facts = catalog.approach("horovod-mpi")
    known = approached.described(setting)
    assert known is not None
    step = float(setting.step_time().step_s[0])
    cached = float(approached.step_time(setting, replace(facts, queries=0.0)).step_s[0])
    assert known["queries"]["without_step_s"] == cached < step
    assert known["sum"]["without_step_s"] < step
    assert known["sum"]["where"] == "host"
    assert known["sum"]["s_per_byte"] == pytest.approx(
        1 / 5e9 + 2 / setting.device.host_bytes_per_s
    )
    assert known["fusion"] == {"buffer_bytes": 64 * 2.0**20, "cycle_s": 5e-3}
    text = "\n".join(told.lines(approach_terms(setting), step))
    assert (
        f"4 driver queries per message, 1 us each; the step would take {(step - cached) * 1e3:.3f}"
        in text
    )
    assert "sums on the host: 3.058 GB/s with the copies there and back, 20 us to begin" in text
    served = approach_terms(paper.setting(at(paper, aggregation="grpc", gpus=64)))
    assert served is not None
    assert "sums on the host: 20 GB/s, 0 us to begin" in "\n".join(told.lines(served, step))
    assert "unverified: message.latency" in text
    best = paper.setting(at(paper, aggregation="horovod-mpi-opt", gpus=64, batch_per_gpu=16))
    better = approached.described(best)
    assert better is not None
    assert (better["sum"]["where"], better["sum"]["copied"]) == ("accelerator", False)
    saved = float(best.step_time().step_s[0]) - better["queries"]["without_step_s"]
    assert 0 <= saved < (step - cached) / 5
    assert approached.described(paper.setting(at(paper, aggregation="ring-mpi"))) is None


def test_nothing_of_an_approach_counts_as_measured(paper: Problem) -> None:
    for name in EVERY:
        values = at(paper, aggregation=name, gpus=12)
        assert not paper.is_measured(values)
        assert not np.any(paper.point(values).in_range)
        point = describe(paper, values)
        assert point.interval is None
        assert point.extrapolated
        assert name in point.why_outside[0]
    assert np.all(paper.point(at(paper, aggregation="grpc", gpus=1)).in_range)


def test_the_report_names_what_an_approach_rests_on(paper: Problem) -> None:
    rows = provenance.sources(paper)
    for name in EVERY:
        mine = [row for row in rows if row.item == f"approach {name}"]
        assert len(mine) == len(catalog.approach(name).facts) > 3
        assert any(row.status == "unverified" for row in mine)
    carried = {row.name: row for row in provenance.transports(paper)}
    assert set(carried) == set(EVERY)
    assert not any(row.calibrated for row in carried.values())
    assert "unverified" in carried["grpc"].note
    assert any("horovod-mpi" in line for line in assumptions(paper))
    point = Explained(**vars(describe(paper, at(paper, aggregation="grpc", gpus=12))))
    assert "nobody measured here: grpc" in "\n".join(explain.lines(point))


def test_a_run_is_told_apart_by_the_files_of_its_approaches(paper: Problem) -> None:
    known = identity(paper, "exhaustive")["catalogue"]
    assert {f"approaches/{name}.yaml" for name in EVERY} <= set(known)


def test_a_measured_transport_of_the_same_name_is_another(tmp_path: Path) -> None:
    """ps-grpc and grpc differ; neither takes the other's links."""
    problem = load(studies.written(tmp_path, MIXED))
    theirs = problem.setting(at(problem, aggregation="ps-grpc", gpus=8))
    ours = problem.setting(at(problem, aggregation="grpc", gpus=8))
    assert theirs.approach is None
    assert ours.approach is not None
    for setting in (theirs, ours):
        share = setting.transport.link_efficiency
        assert setting.wire(lambda w: w.bytes_per_s) == pytest.approx(1.25e9 * share)


def test_a_share_that_was_fitted_elsewhere_is_said(tmp_path: Path, paper: Problem) -> None:
    assert cautions(paper) == [], "inline, as fast as the link it was fitted on"
    told = cautions(load(studies.written(tmp_path, MIXED)))
    fitted = "horovod-nccl uses 62.6% of a link's bandwidth: fitted on ib-edr, assumed on 10gbe."
    assert fitted in told
    rdma = next(line for line in told if "RDMA" in line)
    assert rdma.startswith("grpc-gdr, baidu-mpi, horovod-mpi, horovod-nccl: over RDMA")
    assert "on 10gbe they suppose RoCE" in rdma
    span = "{bandwidth: {from: 10 Gbps, to: 40 Gbps, continuous: true}, latency: 5 us}"
    free = MIXED.replace("inter_node: [10gbe, ib-edr]", f"inter_node: {span}")
    told = cautions(load(studies.written(tmp_path, free, "free.yaml")))
    assert fitted.replace("10gbe", "10 Gbps, 40 Gbps") in told
    one = MIXED.replace("gpus: [1, 2, 3, 8, 24, 64]", "gpus: [1, 2]")
    one = one.replace("gpus_per_node: [1, 4]", "gpus_per_node: [2, 4]")
    one = one.replace("gpus_per_node: 1,", "gpus_per_node: 2,")
    assert cautions(load(studies.written(tmp_path, one, "one.yaml"))) == []


def test_names_of_approaches() -> None:
    assert catalog.names("approaches") == tuple(sorted(APPROACHES))
    pairs = set(Names(approaches=()).aggregations)
    assert not pairs & set(APPROACHES)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("[grpc, grpc-gdr, baidu", "[grcp, grpc-gdr, baidu", "'grcp': no such aggregation; did you"
         " mean grpc?"),
        ("baidu-mpi, horo", "baidu-mip, horo", "did you mean baidu-mpi?"),
        ("[1 MiB, 64 MiB], if: {aggregation: [horovod-mpi, horovod-nccl]}",
         "[1 MiB, 64 MiB], if: {aggregation: [horovod-mpi, grpc]}",
         "grpc fuses no tensors; put it under when, if: {aggregation: [horovod-mpi]}"),
        ("if: {aggregation: horovod-mpi}}", "if: {aggregation: ring-mpi}}",
         "fusion_cycle: ring-mpi fuses no tensors; drop fusion_cycle"),
        ("if: {aggregation: [ring-mpi, ps-grpc]}}", "if: {aggregation: [ring-mpi, grpc]}}",
         "bucket: grpc sends messages of its own, no buckets; put it under when"),
        ("[1 ms, 20 ms]", "[1, 20 ms]", "1 has no unit; write for example 5 ms"),
        ("[1 ms, 20 ms]", "[0 ms, 20 ms]", "is zero"),
        ("[1 MiB, 64 MiB]", "[1 ms, 64 MiB]", "wrong unit"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_one_line(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert MIXED.count(old) == 1
    with pytest.raises(StudyError) as found:
        load(studies.written(tmp_path, MIXED.replace(old, new)))
    assert words in str(found.value)
    assert re.match(r".*study\.yaml:\d+:\d+: ", str(found.value))
    assert "\n" not in str(found.value)


def test_one_bucket_for_all_does_no_harm(tmp_path: Path) -> None:
    text = MIXED.replace("  overlap: [none", "  bucket: 4 MiB\n  overlap: [none")
    text = "".join(line for line in text.splitlines(True) if "axis: bucket" not in line)
    assert load(studies.written(tmp_path, text)).space.size > 0


def test_studies_of_approaches_alone_have_no_bucket(paper: Problem) -> None:
    assert paper.study.axis("bucket") is None
    assert "bucket" not in describe(paper, at(paper, aggregation="grpc")).config


def test_the_shipped_studies_differ_in_their_network_alone() -> None:
    texts = {}
    for path in sorted(shipped_studies().glob("tf-aggregation*.yaml")):
        problem = load(path)
        texts[problem.study.workload] = "".join(
            line for line in path.read_text(encoding="utf-8").splitlines(True)
            if not line.startswith(("#", "study:", "description:", "workload:"))
        )  # fmt: skip
        assert aggregations(problem) == set(EVERY)
    assert set(texts) == {"resnet50", "resnet101", "mobilenet-v1", "nasnet-large"}
    assert len(set(texts.values())) == 1


def test_the_study_of_the_paper_has_an_answer() -> None:
    problem = load("tf-aggregation")
    front = exhaustive.search(problem, problem.space.boxes(1 << 21)).front
    assert len(front.gain) > 10
    best = problem.space.point(int(front.indices[int(np.argmax(front.gain))][0]))
    assert str(best["aggregation"]) in FUSING
    assert best["gpus"] == 128


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"aggregation": "grpc", "fusion_buffer": "4 MiB"},
         "fusion_buffer: grpc fuses no tensors; drop fusion_buffer"),
        ({"aggregation": "ring-mpi", "fusion_cycle": "1 ms"}, "ring-mpi fuses no tensors"),
        ({"aggregation": "grpc", "bucket": "4 MiB"}, "bucket: grpc sends messages of its own"),
        ({"aggregation": "horovod-nccl", "fusion_cycle": "1 ms"},
         "fusion_cycle: the study has it only where aggregation is horovod-mpi; drop fusion_cycle, "
         "or set the other as well"),
        ({"aggregation": "baidu-mpi", "ps_servers": "3"},
         "ps_servers: the study has it only where aggregation is grpc, grpc-gdr or ps-grpc"),
    ],
)  # fmt: skip
def test_one_point_is_refused_what_would_not_change_it(
    tmp_path: Path, given: dict[str, str], words: str
) -> None:
    path = studies.written(tmp_path, MIXED)
    with pytest.raises(StudyError) as found:
        explain_point(str(path), [f"{axis}={value}" for axis, value in given.items()], False)
    assert words in str(found.value)
    assert str(found.value).startswith("--set: ")


def test_one_point_may_be_given_what_all_of_the_study_have(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """So that a point of the front can be explained by all of its axes."""
    text = MIXED.replace("  - {axis: bucket, values: [1 MiB, 25 MiB], if: {aggregation: ["
                         "ring-mpi, ps-grpc]}}\n", "")  # fmt: skip
    path = studies.written(tmp_path, text.replace("  overlap:", "  bucket: 25 MiB\n  overlap:"))
    explain_point(str(path), ["aggregation=grpc", "bucket=25 MiB"], False)
    assert "bucket           25 MiB" in capsys.readouterr().out.splitlines()
    with pytest.raises(StudyError, match="no buckets; drop bucket"):
        explain_point(str(path), ["aggregation=grpc", "bucket=4 MiB"], False)


def test_one_point_is_shown_with_its_units(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = studies.written(tmp_path, MIXED)
    asked = ["aggregation=horovod-mpi", "fusion_buffer=4MiB", "fusion_cycle=500us"]
    explain_point(str(path), [*asked, "gpus=8"], True)
    config = json.loads(capsys.readouterr().out)["config"]
    assert (config["fusion_buffer"], config["fusion_cycle"]) == ("4 MiB", "0.5 ms")
    explain_point(str(path), ["aggregation=ring-mpi", "bucket=25 MB"], False)
    (shown,) = [s for s in capsys.readouterr().out.splitlines() if s.startswith("bucket")]
    assert shown == "bucket           25 MB  (not in the study: never tried)"


def test_the_estimate_knows_that_fusion_follows_the_tensors_many_times(tmp_path: Path) -> None:
    """Once for every phase of every cycle that a busy loop may come to."""
    fusing = PAPER.replace(", ".join(EVERY), "horovod-mpi").split("when:")[0]
    fusing += "objectives: {maximize: speedup, minimize: capital}\n"
    one_by_one = fusing.replace("horovod-mpi", "baidu-mpi")
    found = {}
    for name, text in (("fused", fusing), ("one by one", one_by_one)):
        problem = load(studies.written(tmp_path, text, f"{name}.yaml"))
        rest = problem.space.size * estimate.SECONDS_PER_POINT + estimate.SECONDS_PER_SLAB
        found[name] = estimate.estimate(problem).seconds - rest
    assert found["one by one"] == pytest.approx(8 * 161 * estimate.SECONDS_PER_TENSOR)
    assert found["fused"] == pytest.approx(
        found["one by one"] * approached.PHASES * len(fusion.SLOWED)
    )
