"""``model: pai`` in an ordinary study: the paper's formula by hand, and the same front screened."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dse
from dse import catalog
from dse.errors import StudyError
from dse.model import pai
from dse.pricing import closed
from dse.pricing.caveats import cautions
from dse.pricing.load import load
from dse.pricing.problem import Problem
from dse.report import check, provenance
from dse.report.assumptions import assumptions
from dse.report.design_point import Explained
from dse.report.explain import lines
from dse.report.json_form import text
from dse.report.points import describe
from dse.search import bounds, exhaustive, fingerprint
from tests.pricing import studies
from tests.search.test_screening import priced_whole, same

STUDY = """\
study: closed
workload: resnet50
model: pai
space:
  accelerator: [p100-sxm2-16gb, v100-sxm2-16gb, a100-sxm4-80gb, t4]
  gpus: [1, 2, 3, 4, 8, 12, 16, 64, 100]
  gpus_per_node: [1, 3, 4, 8]
  nics_per_node: [1, 2]
  inter_node: [10gbe, 25gbe, ib-hdr]
  batch_per_gpu: [1, 32, 64]
  precision: [fp32, fp16]
  optimizer: [sgd, adam]
  aggregation: [ring-nccl, hierarchical-mpi, auto-mpi, ps-grpc, ps-mpi]
  bucket: [1 MiB, 400 MiB]
  overlap: [none, ideal]
when:
  - {axis: ps_servers, values: [1, 3], if: {aggregation: [ps-grpc, ps-mpi]}}
baseline: {accelerator: p100-sxm2-16gb, gpus: 8, gpus_per_node: 4, inter_node: 25gbe,
           batch_per_gpu: 64, precision: fp32, optimizer: sgd, aggregation: ps-grpc, overlap: none}
constraints: [fits_memory, "capital <= 1 MUSD", "global_batch <= 1024"]
objectives: {maximize: speedup, minimize: capital}
target: {samples: 1e7}
"""
E = 0.7


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Problem:
    return load(studies.written(tmp_path_factory.mktemp("closed"), STUDY))


@pytest.fixture
def problem(tmp_path: Path) -> Problem:
    return load(studies.written(tmp_path, STUDY))


def parts(batch: float = 64.0) -> tuple[float, float, float]:
    """T_d, T_c of ResNet-50 in fp32 with plain SGD on a P100, and S_w in bytes, by hand."""
    device, work = catalog.accelerator("p100-sxm2-16gb"), catalog.workload("resnet50")
    host = catalog.fabric(str(device.host_link)).bytes_per_s
    peak, memory = device.peak_flops_per_s["fp32"], device.memory_bytes_per_s
    assert host is not None
    assert memory is not None
    assert work.input_bytes is not None
    flops = 3 * work.layer_forward_flops.sum() * batch
    weights = 4.0 * work.layer_params.sum()
    moved = 3 * (2 * 4 * work.layer_output_elems.sum() * batch + weights)
    update = 3 * weights  # reads gradient and weight, writes weight
    computing = flops / (peak * E) + (moved + update) / (memory * E)
    return work.input_bytes * batch / (host * E), computing, 2 * weights


@pytest.mark.parametrize(
    ("point", "architecture", "media"),
    [
        ({"gpus": 1}, pai.ONE_WORKER_ONE_GPU, ()),
        ({"gpus": 4}, pai.ONE_WORKER_N_GPUS, ("pcie",)),
        ({"gpus": 8}, pai.PS_WORKER, ("ethernet", "pcie")),
        ({"gpus": 4, "aggregation": "ring-nccl"}, pai.ALLREDUCE_LOCAL, ("nvlink",)),
        ({"gpus": 8, "aggregation": "ring-nccl"}, pai.ALLREDUCE_CLUSTER, ("ethernet", "nvlink")),
        ({"gpus": 8, "aggregation": "auto-mpi", "nics_per_node": 2}, pai.ALLREDUCE_CLUSTER,
         ("two cards", "nvlink")),
    ],
)  # fmt: skip
def test_a_point_is_the_formula_by_hand(
    problem: Problem, point: dict[str, object], architecture: str, media: tuple[str, ...]
) -> None:
    device = catalog.accelerator("p100-sxm2-16gb")
    speeds = {
        "pcie": catalog.fabric(str(device.host_link)).bytes_per_s,
        "nvlink": device.intra_node_bytes_per_s,
        "ethernet": 25e9 / 8,
        "two cards": 50e9 / 8,
    }
    data_s, compute_s, exchanged = parts()
    weights_s = sum(exchanged / (float(speeds[medium] or 0.0) * E) for medium in media)
    plain = dse.evaluate(problem, [point])
    assert plain["step"][0] == pytest.approx(data_s + compute_s + weights_s, rel=1e-12)
    assert plain["comm"][0] == pytest.approx(weights_s, rel=1e-12)
    assert plain["exposed"][0] == pytest.approx(weights_s, rel=1e-9)
    assert plain["extrapolated"][0]
    ideal = dse.evaluate(problem, [{**point, "overlap": "ideal"}])
    assert ideal["step"][0] == pytest.approx(max(data_s, compute_s, weights_s), rel=1e-12)
    values = {**problem.study.baseline.values, **point}
    told = closed.described(problem.setting(values))
    assert told is not None
    assert told["architecture"] == architecture
    assert sum(told["terms"].values()) == pytest.approx(plain["step"][0], rel=1e-12)


def test_a_point_is_what_the_model_of_the_paper_says(problem: Problem) -> None:
    setting = problem.setting({**problem.study.baseline.values, "gpus": 64})
    asked, on = closed.jobs(setting), closed.hardware(setting)
    expected = pai.step_times(pai.PS_WORKER, asked, on)
    found = closed.step_time(setting)
    assert found.comm_s == pytest.approx(expected.weights_s)
    assert found.input_s == pytest.approx(expected.data_s)
    assert found.forward_s == pytest.approx(expected.compute_s / 3)
    assert found.backward_s == pytest.approx(2 * expected.compute_s / 3)
    assert found.step_s == pytest.approx(expected.total_s() + found.optimizer_s)


def test_terms_add_up_and_nothing_is_slower_where_it_overlaps(problem: Problem) -> None:
    base = problem.study.baseline.values
    for overlap in ("none", "ideal"):
        for name in ("ring-nccl", "ps-grpc"):
            setting = problem.setting({**base, "aggregation": name, "overlap": overlap})
            found = closed.step_time(setting)
            around = found.compute_s + found.optimizer_s + found.stalled_s
            assert around + found.exposed_s == pytest.approx(found.step_s)
            plain = closed.step_time(problem.setting({**base, "aggregation": name}))
            assert np.all(found.step_s <= plain.step_s)


def test_what_the_model_does_not_know_changes_nothing(problem: Problem) -> None:
    for points in (
        [{"aggregation": name} for name in ("ring-nccl", "tree-nccl", "auto-mpi", "horovod-mpi")],
        [{"aggregation": name} for name in ("ps-grpc", "ps-mpi", "grpc")],
        [{"bucket": size} for size in ("1 MiB", "400 MiB")],
        [{"ps_servers": count, "ps_placement": "colocated"} for count in (1, 3)],
        [{"inter_node": f"{{bandwidth: 25 Gbps, latency: {us} us}}"} for us in (1, 500)],
    ):
        steps = dse.evaluate(problem, points)["step"]
        assert np.ptp(steps) == 0
    told = cautions(problem)
    assert not any("RDMA" in line for line in told), "the closed model has no transports"
    assert any("bucket and ps_servers do not change the step" in line for line in told)
    assert any("does not tell ring-nccl, hierarchical-mpi, auto-mpi apart" in line for line in told)
    assert any("does not tell ps-grpc, ps-mpi apart: 1wng in one node" in line for line in told)
    assert [line for line in check.lines(problem) if line.startswith("note: ")] == [
        f"note: {line}" for line in told
    ]


def test_axes_of_tensor_fusion_are_named_as_not_seen(tmp_path: Path) -> None:
    conditions = "".join(
        f"  - {{axis: {axis}, values: [{values}], if: {{aggregation: horovod-mpi}}}}\n"
        for axis, values in (("fusion_buffer", "1 MiB, 2 MiB"), ("fusion_cycle", "1 ms, 5 ms"))
    )
    text = STUDY.replace("ps-grpc, ps-mpi]\n  bucket: [1 MiB, 400 MiB]", "ps-grpc, horovod-mpi]")
    text = text.replace("[ps-grpc, ps-mpi]", "ps-grpc").replace("when:\n", f"when:\n{conditions}")
    told = cautions(load(studies.written(tmp_path, text)))
    unseen = "fusion_buffer and fusion_cycle and ps_servers"
    paid = "; dedicated servers are still cost money"
    assert f"In model pai {unseen} do not change the step{paid}." in told


def test_a_node_of_one_accelerator_has_no_nvlink_to_cross(problem: Problem) -> None:
    point = {"gpus": 8, "aggregation": "ring-nccl", "gpus_per_node": 1}
    data_s, compute_s, exchanged = parts()
    found = dse.evaluate(problem, [point])
    over_ethernet = exchanged / (3.125e9 * E)
    assert found["step"][0] == pytest.approx(data_s + compute_s + over_ethernet, rel=1e-12)


def test_a_profile_is_neither_read_nor_counted(tmp_path: Path) -> None:
    text = STUDY.replace("model: pai", "model: pai\ncalibration: [not-there]")
    problem = load(studies.written(tmp_path, text))
    assert not problem.profiles
    assert any("not-there is not used" in line for line in cautions(problem))
    point = describe(problem, problem.study.baseline.values)
    assert point.extrapolated
    assert point.interval is None
    assert point.why_outside == ("model pai is a formula of which nothing is measured",)


def test_the_study_may_set_the_efficiency_of_computing(tmp_path: Path) -> None:
    text = f"{STUDY}efficiency: {{compute: 0.35, memory: 0.35}}\n"
    slow, fast = (load(studies.written(tmp_path, one)) for one in (text, STUDY))
    for name, ratio in (("compute", 2.0), ("comm", 1.0)):
        times = [dse.evaluate(one, [{}])[name][0] for one in (slow, fast)]
        assert times[0] / times[1] == pytest.approx(ratio)


def test_explain_shows_the_terms_of_the_paper(problem: Problem) -> None:
    point = describe(problem, problem.study.baseline.values)
    told = "\n".join(lines(Explained(**vars(point))))
    data_s, _, exchanged = parts()
    assert f"T_d input over PCIe      {1e3 * data_s:10.3f} ms" in told
    assert f"T_w over Ethernet        {1e3 * exchanged / (3.125e9 * E):10.3f} ms" in told
    assert "(model pai, ps-worker: T_d + T_c + T_w)" in told
    assert text(point)


def test_the_report_says_what_it_rests_on(problem: Problem) -> None:
    told = " ".join(assumptions(problem))
    assert "closed model of Wang et al." in told
    assert "The model leaves out latency" in told
    assert "prefetched" not in told
    notes = {row.name: row.note for row in provenance.transports(problem)}
    assert notes["grpc"] == "model pai does not distinguish transports"


def test_runs_of_the_two_models_are_told_apart(tmp_path: Path) -> None:
    text = STUDY.replace("overlap: [none, ideal]", "overlap: none")
    mine = load(studies.written(tmp_path, text))
    other = load(studies.written(tmp_path, text.replace("model: pai\n", ""), "other.yaml"))
    assert mine.study.content_hash != other.study.content_hash
    was, now = (fingerprint.identity(one, "exhaustive") for one in (other, mine))
    assert fingerprint.difference(was, now) == "model of the study was absent, is pai"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("overlap: [none, ideal]", "overlap: [none, bucketed]", "model pai has no 'bucketed'"),
        ("sgd, aggregation: ps-grpc, overlap: none", "sgd, aggregation: ps-grpc, overlap: bucketed",
         "use none or ideal"),
        ("model: pai\n", "", "model calibrated has no 'ideal'; use bucketed or none"),
    ],
)  # fmt: skip
def test_an_overlap_of_the_other_model_is_refused(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    with pytest.raises(StudyError, match=said) as found:
        load(studies.written(tmp_path, STUDY.replace(old, new)))
    assert found.value.line > 0


def test_overlap_is_none_unless_the_study_says_otherwise(tmp_path: Path) -> None:
    text = STUDY.replace("  overlap: [none, ideal]\n", "").replace(", overlap: none}", "}")
    problem = load(studies.written(tmp_path, text))
    axis = problem.study.axis("overlap")
    assert axis is not None
    assert axis.labels == ("none",)
    with pytest.raises(StudyError, match="model pai has no 'bucketed'"):
        dse.evaluate(problem, [{"overlap": "bucketed"}])


@pytest.mark.parametrize("least", ["capital", "power", "step", "[capital, energy]"])
def test_the_front_is_the_same_screened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, least: str
) -> None:
    monkeypatch.setattr(bounds, "SCREENED_FROM", 1)
    text = STUDY.replace("minimize: capital", f"minimize: {least}")
    problem = load(studies.written(tmp_path, text))
    expected = priced_whole(problem)
    for points in (1 << 21, 5000):
        found = exhaustive.search(problem, problem.space.boxes(points))
        same(found, expected)
        assert found.priced < problem.space.size
    assert len(expected.front.gain) > 3


def test_the_step_without_weights_bounds_every_objective(problem: Problem) -> None:
    for box in problem.space.boxes(1 << 21):
        ideal, real = bounds.ideal(problem.placed(box)), problem.box(box)
        for name in ("speedup", "throughput"):
            assert np.all(ideal[name] >= real[name])
        for name in ("capital", "tco", "power", "per_run", "time_to_target", "step", "energy"):
            assert np.all(ideal[name] <= real[name])


def test_unknown_media_are_priced_point_by_point(problem: Problem) -> None:
    setting = problem.placed(next(problem.space.boxes(1 << 21)))
    assert bounds.surely_priced(setting)
    setting.__dict__["rails"] = np.full_like(setting.rails, np.nan)
    assert not bounds.surely_priced(setting)


def scalar_step_s(architecture: str, n: float, g: float, job: dict[str, float],
                  reached: dict[str, float]) -> float:  # fmt: skip
    """The paper's formula in plain numbers."""
    media: dict[str, tuple[str, ...]] = {
        "1w1g": (), "1wng": ("pcie",), "ps-worker": ("ethernet", "pcie"),
        "allreduce-local": ("nvlink",), "allreduce-cluster": ("ethernet", "nvlink"),
    }  # fmt: skip
    assert (n <= 1) == (architecture == "1w1g")
    assert (n <= g) == (architecture in ("1w1g", "1wng", "allreduce-local"))
    crossed = [medium for medium in media[architecture] if medium != "nvlink" or g > 1]
    exchange = sum(job["weights"] / reached[medium] for medium in crossed)
    computing = job["flops"] / reached["gpu"] + job["memory"] / reached["memory"]
    return job["input"] / reached["pcie"] + computing + exchange


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_any_point_of_the_grid_is_the_scalar_formula(grid: Problem, at: int) -> None:
    values = grid.space.point(at % grid.space.size)
    setting = grid.setting(values)
    told, on, job = closed.described(setting), closed.hardware(setting), closed.jobs(setting)
    assert told is not None

    def number(value: object) -> float:
        return float(np.ravel(np.asarray(value))[0])

    step = grid.point(values).step
    update = number(step.optimizer_s)
    expected = update + scalar_step_s(
        told["architecture"], number(setting.gpus), number(setting.gpus_per_node),
        {"flops": number(job.flops), "memory": number(job.memory_bytes),
         "input": number(job.input_bytes), "weights": number(job.weight_bytes)},
        {"gpu": number(on.gpu_flops_per_s), "memory": number(on.memory_bytes_per_s),
         "pcie": number(on.pcie_bytes_per_s), "ethernet": number(on.ethernet_bytes_per_s),
         "nvlink": number(on.nvlink_bytes_per_s)},
    )  # fmt: skip
    if values["overlap"] == "none":
        assert number(step.step_s) == pytest.approx(expected, rel=1e-12)
    else:
        assert number(step.step_s) < expected
