"""The PAI paper's model, against scalar sums written out by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.model import pai
from dse.model.pai import ARCHITECTURES, Hardware, Jobs, StepTimes

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
    np.testing.assert_allclose(sum(found.by_resource_s().values()), found.total_s(), rtol=1e-12)


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
    before = pai.step_times(architecture, jobs, BASE).by_resource_s()
    twice = replace(BASE, **{field: 2 * getattr(BASE, field)})
    after = pai.step_times(architecture, jobs, twice).by_resource_s()
    for name, seconds in before.items():
        assert float(after[name]) == pytest.approx(float(seconds) / (2 if name == resource else 1))


def test_one_accelerator_exchanges_nothing() -> None:
    assert pai.step_times("1w1g", Jobs(1, 1e12, 1e9, 1e6, 1e9), BASE).weights_s == 0


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
