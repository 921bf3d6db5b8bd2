"""Studies whose parameter servers were measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dse import catalog
from dse.calibration import Profile
from dse.calibration.ps_part import ServersFit
from dse.model import overlap
from dse.model.aggregation.parameter_server import shard_imbalance, wire_bytes
from dse.pricing.problem import Problem
from dse.report import provenance
from tests.calibration import server_profiles, synthetic
from tests.pricing import priced, studies
from tests.pricing.priced import at, comm_s

STUDY = f"{studies.MEASURED_SERVERS}scale: ideal\n"
LATENCY_S = 2 * catalog.fabric("10gbe").latency_s["tcp"]  # of a push and of a pull


def problem_of(folder: Path, *profiles: Profile, study: str = STUDY) -> Problem:
    return priced.problem_of(folder, study, *profiles)


@pytest.fixture
def problem(tmp_path: Path) -> Problem:
    return problem_of(tmp_path, server_profiles.profile())


def expected_s(
    problem: Problem, part: ServersFit, workers: int, servers: int, bandwidth: float
) -> float:
    """One push and pull for each of the baseline's buckets, and its copies out and back."""
    total = 0.0
    skew = shard_imbalance(problem.layers.params, servers)
    host = float(problem.points_at(problem.study.baseline.values).device.host_bytes_per_s.flat[0])  # type: ignore[union-attr]
    for bucket in overlap.fuse(problem.layers.params * 4.0, 25 * 2.0**20):
        m = bucket.message_bytes
        shard = min(skew * m / servers, m)
        wire_s = float(wire_bytes(workers, servers, m, shard)) / bandwidth
        total += float(part.cost(apart=True)(workers, servers, m, shard, wire_s))
        total += LATENCY_S + 2 * m / host
    return total


@pytest.mark.parametrize(("workers", "servers"), [(2, 1), (4, 2), (16, 1), (3, 2)])
def test_a_point_takes_what_the_profile_says(problem: Problem, workers: int, servers: int) -> None:
    found = comm_s(problem, gpus=workers, ps_servers=servers)
    expected = expected_s(problem, server_profiles.part(), workers, servers, 1.25e9)
    assert found == pytest.approx(expected, rel=1e-9)


def test_another_link_only_changes_the_wire(problem: Problem) -> None:
    axis = problem.study.axis("inter_node")
    assert axis is not None
    faster = axis.values[1]  # 25 Gbit/s at a latency of 5 us
    expected = expected_s(problem, server_profiles.part(), 4, 1, 25e9 / 8)
    buckets = len(overlap.fuse(problem.layers.params * 4.0, 25 * 2.0**20))
    found = comm_s(problem, inter_node=faster)
    assert found == pytest.approx(expected + buckets * (2 * 5e-6 - LATENCY_S), rel=1e-9)
    assert found < comm_s(problem)


def test_shared_cores_of_the_measurement_do_not_come_along(tmp_path: Path) -> None:
    shared = server_profiles.profile(ps={"grpc": server_profiles.part(cores=2.0)})
    problem = problem_of(tmp_path, shared)
    expected = expected_s(problem, server_profiles.part(), 4, 1, 1.25e9)
    assert comm_s(problem) == pytest.approx(expected, rel=1e-9)
    why = at(problem).why_outside
    assert any("all processes on one machine of 2 cores" in text for text in why)


def test_the_accelerators_of_a_worker_sum_first(problem: Problem) -> None:
    alone = comm_s(problem, gpus=4, gpus_per_node=1)
    together = comm_s(problem, gpus=16, gpus_per_node=4)
    summed = 3 * sum(problem.layers.params * 4.0) / 4 * 1e-10  # at the measured reduction
    assert together == pytest.approx(alone + summed, rel=1e-9)
    assert comm_s(problem, gpus=1) == 0


def test_the_first_profile_of_a_transport_serves(tmp_path: Path) -> None:
    first = server_profiles.profile("first")
    shared = server_profiles.profile("second", ps={"grpc": server_profiles.part(cores=2.0)})
    both, turned = problem_of(tmp_path, first, shared), problem_of(tmp_path, shared, first)
    assert [profile.name for profile in both.profiles.values()] == ["first", "second"]
    assert at(both).why_outside == ()
    assert "all processes on one machine of 2 cores" in at(turned).why_outside[0]
    over_mpi = server_profiles.profile("over-mpi", transport="mpi", ps={"mpi": replace(
        server_profiles.part(), library="openmpi")})  # fmt: skip
    two = problem_of(tmp_path, server_profiles.profile(), over_mpi)
    assert [found.name for found in two.factory.candidates("ps", "mpi")] == ["over-mpi"]
    assert two.factory.candidates("ring", "mpi") == ()
    assert at(two, aggregation="ps-mpi").why_outside == ()


def test_a_run_states_where_the_servers_come_from(problem: Problem) -> None:
    notes = {row.name: row for row in provenance.transports(problem)}
    assert notes["grpc"].calibrated is True
    assert "profile servers" in notes["grpc"].note
    assert notes["mpi"].calibrated is False


def test_measured_servers_come_before_what_allreduce_says_of_them(tmp_path: Path) -> None:
    forced = synthetic.profile()
    over_mpi = server_profiles.profile(
        "over-mpi", transport="mpi", ps={"mpi": server_profiles.part()}
    )
    alone, both = problem_of(tmp_path, forced), problem_of(tmp_path, forced, over_mpi)
    for problem, expected in ((alone, "forced"), (both, "over-mpi")):
        factory = problem.factory
        assert [found.name for found in factory.candidates("ps", "mpi")] == [expected]
        assert [found.name for found in factory.candidates("ring", "mpi")] == ["forced"]
    assert comm_s(both, aggregation="ps-mpi") != comm_s(alone, aggregation="ps-mpi")
    assert comm_s(both, aggregation="ring-mpi") == comm_s(alone, aggregation="ring-mpi")
