"""The PAI paper's model, against scalar sums written out by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse import Study, catalog
from dse.model import pai
from dse.model.arrays import Array
from dse.model.pai import ARCHITECTURES, Hardware, Jobs, StepTimes
from dse.pricing.load import load
from dse.pricing.problem import Problem
from dse.report.points import describe
from tests.pricing import priced, studies

BASE = Hardware(11e12, 1e12, 10e9, 25e9 / 8, 50e9)
SIZES = st.floats(0.0, 1e13)


def scalar_step_s(architecture: str, n: int, work: tuple[float, ...], hardware: Hardware) -> float:
    """T = T_d + T_c + T_w of one job, from the table of media in the paper's summary."""
    flops, memory, data, weights, rows = work
    e, eth = 0.7, hardware.ethernet_bytes_per_s
    exchanged = weights + rows
    shared = 1
    if architecture in ("allreduce-local", "allreduce-cluster", "pearl"):
        shared = min(n, 8)
    seconds = data * shared / (10e9 * e) + flops / (11e12 * e) + memory / (1e12 * e)
    if architecture == "1wng":
        seconds += exchanged / (10e9 * e)
    elif architecture == "ps-worker":
        seconds += exchanged / (eth * e) + exchanged / (10e9 * e)
    elif architecture == "allreduce-local" or (architecture == "pearl" and n <= 8):
        seconds += exchanged / (50e9 * e)
    elif architecture in ("allreduce-cluster", "pearl"):
        seconds += exchanged / (eth * e) + exchanged / (50e9 * e)
    return float(seconds)


def by_resource_s(step: StepTimes) -> dict[str, Array]:
    """The seconds that each resource works; they sum to the step."""
    worked = (step.flops_s, step.memory_s, step.data_s + step.pcie_s, step.ethernet_s,
              step.nvlink_s)  # fmt: skip
    return dict(zip(pai.RESOURCES, worked, strict=True))


@given(
    st.sampled_from(ARCHITECTURES),
    st.lists(st.tuples(st.integers(1, 600), SIZES, SIZES, SIZES, SIZES, SIZES), min_size=1),
)
def test_arrays_agree_with_the_sum_written_out(
    architecture: str, rows: list[tuple[int, float, float, float, float, float]]
) -> None:
    n, flops, memory, data, weights, tables = (
        np.array(column) for column in zip(*rows, strict=True)
    )
    found = pai.step_times(architecture, Jobs(n, flops, memory, data, weights, tables), BASE)
    expected = [scalar_step_s(architecture, row[0], row[1:], BASE) for row in rows]
    np.testing.assert_allclose(found.total_s(), expected, rtol=1e-12)
    np.testing.assert_allclose(sum(by_resource_s(found).values()), found.total_s(), rtol=1e-12)


@given(st.sampled_from(ARCHITECTURES), st.integers(1, 64), SIZES, SIZES, SIZES)
def test_ideal_overlap_takes_the_longest_of_the_three(
    architecture: str, n: int, flops: float, data: float, weights: float
) -> None:
    found = pai.step_times(architecture, Jobs(n, flops, 1e9, data, weights), BASE)
    terms = (float(found.data_s), float(found.compute_s), float(found.weights_s))
    assert float(found.total_s(True)) == max(terms)
    assert max(terms) <= float(found.total_s()) <= 3 * max(terms)


@given(st.sampled_from(ARCHITECTURES), st.sampled_from(pai.RESOURCES), st.integers(1, 64))
def test_a_faster_resource_never_hurts_and_shortens_only_its_own_time(
    architecture: str, resource: str, n: int
) -> None:
    field = {"gpu": "gpu_flops_per_s", "memory": "memory_bytes_per_s"}.get(
        resource, f"{resource}_bytes_per_s"
    )
    jobs = Jobs(n, 1e12, 1e11, 1e8, 1e9)
    before = by_resource_s(pai.step_times(architecture, jobs, BASE))
    twice = replace(BASE, **{field: 2 * getattr(BASE, field)})
    after = by_resource_s(pai.step_times(architecture, jobs, twice))
    for name, seconds in before.items():
        assert float(after[name]) == pytest.approx(float(seconds) / (2 if name == resource else 1))


def test_a_server_shares_pcie_only_where_it_is_full_of_linked_accelerators() -> None:
    jobs = Jobs(np.array([1, 4, 8, 64]), 0, 0, 7e9, 0)
    local = pai.step_times("allreduce-local", jobs, BASE).data_s
    np.testing.assert_allclose(local, [1, 4, 8, 8])
    alone = pai.step_times("allreduce-local", jobs, replace(BASE, shared_pcie=False)).data_s
    np.testing.assert_allclose(alone, 1)
    np.testing.assert_allclose(pai.step_times("ps-worker", jobs, BASE).data_s, 1)


def test_a_server_holds_only_so_many_cnodes() -> None:
    sizes = np.array([1, 8, 9, 100])
    assert pai.placed_cnodes("allreduce-local", sizes).tolist() == [1, 8, 8, 8]
    assert pai.placed_cnodes("allreduce-local", sizes, 4).tolist() == [1, 4, 4, 4]
    assert pai.placed_cnodes("allreduce-cluster", sizes).tolist() == sizes.tolist()
    assert pai.placed_cnodes("1w1g", sizes).tolist() == [1, 1, 1, 1]


def test_a_server_of_one_accelerator_has_no_nvlink_to_cross() -> None:
    one = replace(BASE, gpus_per_server=np.array([1.0, 2.0]))
    for name in ("allreduce-cluster", "pearl"):
        found = pai.step_times(name, Jobs(4, 1e12, 1e9, 1e6, 7e9), one)
        np.testing.assert_allclose(found.nvlink_s, [0, 0.2])
        np.testing.assert_allclose(found.ethernet_s, 3.2)


def test_throughput_counts_the_cnodes_that_a_job_loses() -> None:
    """Twice as fast per cNode on half of the cNodes trains as much."""
    assert pai.throughput_ratio(1.0, 0.5, 16, 8) == 1.0


@given(st.sampled_from(ARCHITECTURES[1:]), st.integers(1, 100))
def test_jobs_of_times_have_those_times(architecture: str, n: int) -> None:
    rng = np.random.default_rng(n)
    parts = rng.random((4, 5))
    none = np.zeros(())
    wanted = StepTimes(*parts, none, none)
    jobs = pai.jobs_of_times(architecture, np.full(5, n), wanted, BASE)
    found = pai.step_times(architecture, jobs, BASE)
    for name in ("data_s", "flops_s", "memory_s", "weights_s"):
        np.testing.assert_allclose(getattr(found, name), getattr(wanted, name))


# -- in studies ------------------------------------------------------------------------------------

E = 0.7


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Problem:
    return load(studies.written(tmp_path_factory.mktemp("closed"), studies.CLOSED))


@pytest.fixture
def problem(tmp_path: Path) -> Problem:
    return load(studies.written(tmp_path, studies.CLOSED))


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
        # Four of the eight on a board: each sends over the links to the three others.
        "nvlink": min(device.intra_node_bytes_per_s or 0.0, 3 * (device.pair_bytes_per_s or 0.0)),
        "ethernet": 25e9 / 8,
        "two cards": 50e9 / 8,
    }
    data_s, compute_s, exchanged = parts()
    weights_s = sum(exchanged / (float(speeds[medium] or 0.0) * E) for medium in media)
    plain = Study(problem).price([point])
    assert plain["step_s"][0] == pytest.approx(data_s + compute_s + weights_s, rel=1e-12)
    assert plain["comm_s"][0] == pytest.approx(weights_s, rel=1e-12)
    assert plain["exposed_s"][0] == pytest.approx(weights_s, rel=1e-9)
    assert plain["evidence"][0] == "formula"
    ideal = Study(problem).price([{**point, "overlap": "ideal"}])
    assert ideal["step_s"][0] == pytest.approx(max(data_s, compute_s, weights_s), rel=1e-12)
    values = priced.point(problem, **point)
    told = describe(problem, values).pai
    assert told is not None
    assert told.architecture == architecture
    assert sum(told.terms.values()) == pytest.approx(plain["step_s"][0], rel=1e-12)


def test_the_study_may_set_the_efficiency_of_computing(tmp_path: Path) -> None:
    text = f"{studies.CLOSED}efficiency: {{compute: 0.35, memory: 0.35}}\n"
    slow, fast = (load(studies.written(tmp_path, one)) for one in (text, studies.CLOSED))
    for name, ratio in (("compute_s", 2.0), ("comm_s", 1.0)):
        times = [Study(one).price([{}])[name][0] for one in (slow, fast)]
        assert times[0] / times[1] == pytest.approx(ratio)


def scalar_point_s(architecture: str, n: float, g: float, job: dict[str, float],
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


@settings(max_examples=60)
@given(st.integers(0, 10**6))
def test_any_point_of_the_grid_is_the_scalar_formula(grid: Problem, at: int) -> None:
    values = grid.space.point(at % grid.space.size)
    points = grid.points_at(values)
    on, job = pai.hardware_of(points), pai.jobs_of(points)

    def number(value: object) -> float:
        return float(np.ravel(np.asarray(value))[0])

    step = grid.point(values).step
    update = number(step["optimizer_s"])
    expected = update + scalar_point_s(
        pai.PaiStep().architecture(points), number(points.gpus), number(points.gpus_per_node),
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
