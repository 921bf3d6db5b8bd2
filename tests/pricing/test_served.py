"""Studies whose parameter servers, and whose compute efficiency, were measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dse import catalog
from dse.calibration import Profile, fit_measurements
from dse.calibration.experiment import write_experiment
from dse.calibration.ps_part import ServersFit
from dse.model import overlap
from dse.model.aggregation.parameter_server import shard_imbalance, wire_bytes
from dse.pricing.efficiency import measured
from dse.pricing.problem import Problem
from dse.report import assembly, provenance
from dse.report.assumptions import assumptions
from dse.report.design_point import Point
from dse.search.run import run
from tests.calibration import server_profiles, synthetic
from tests.pricing import priced, studies
from tests.pricing.priced import at, comm_s

STUDY = studies.SMALL.replace("gpus: 4, gpus_per_node: 4", "gpus: 4, gpus_per_node: 1").replace(
    "[ring-mpi, halving-doubling-gloo, ps-grpc]", "[ring-mpi, ps-mpi, ps-grpc]"
)
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
    host = float(problem.setting(problem.study.baseline.values).device.host_bytes_per_s.flat[0])  # type: ignore[union-attr]
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
    assert any("all processes on one machine of 2 cores" in text for text in why)  # type: ignore[union-attr]


def test_the_accelerators_of_a_worker_sum_first(problem: Problem) -> None:
    alone = comm_s(problem, gpus=4, gpus_per_node=1)
    together = comm_s(problem, gpus=16, gpus_per_node=4)
    summed = 3 * sum(problem.layers.params * 4.0) / 4 * 1e-10  # at the measured reduction
    assert together == pytest.approx(alone + summed, rel=1e-9)
    assert comm_s(problem, gpus=1) == 0


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({}, None),
        ({"gpus": 8, "ps_servers": 2}, None),
        ({"gpus": 1}, None),
        ({"gpus": 16}, "16 workers; measured 1-8"),
        ({"gpus": 8, "gpus_per_node": 4}, "4 accelerators a worker; measured 1"),
        ({"ps_placement": "colocated"}, "servers on the workers' machines; measured beside them"),
        ({"bucket": 2.0**31}, None),
        ({"precision": "fp16"}, "gradients of 2 bytes an element; measured 4"),
        ({"aggregation": "ps-mpi"}, "no profile of this study has measured ps over mpi"),
        ({"aggregation": "ring-mpi"}, "no profile of this study has measured ring over mpi"),
    ],
)
def test_what_differs_from_the_measured_is_named(
    problem: Problem, values: dict[str, object], reason: str | None
) -> None:
    found = at(problem, **values)
    assert found.why_outside == (() if reason is None else (reason,))
    assert found.extrapolated is (reason is not None)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"servers": (2, 4)}, "1 servers; measured 2-4"),
        ({"message_bytes": (4.0, 2.0**20)}, "measured 4 B to 1 MiB"),
        ({"link_bytes_per_s": (5e9, 5e9)}, "a link of 10 Gbps; measured at 40 Gbps"),
        ({"link_bytes_per_s": (0.0, 0.0)}, "a link of 9 Gbps; measured over no link of known"),
    ],
)
def test_what_the_profile_lacks_is_named(
    tmp_path: Path, changes: dict[str, object], reason: str
) -> None:
    part = server_profiles.part(**changes)
    problem = problem_of(tmp_path, server_profiles.profile(ps={"grpc": part}))
    (text,) = at(problem).why_outside
    assert reason in text


def width(point: Point) -> float:
    low, high = point.interval.step_s  # type: ignore[union-attr]
    return float(np.log(high / low))


def test_intervals_hold_the_point_and_widen_with_doubt(tmp_path: Path) -> None:
    def spread(**changes: object) -> float:
        made = server_profiles.profile(ps={"grpc": server_profiles.part(**changes)})
        problem = problem_of(tmp_path, made)
        point = at(problem, gpus=16)
        low, high = point.interval.step_s  # type: ignore[union-attr]
        assert low < point.step_s < high  # type: ignore[operator]
        return width(point)

    assert spread(workers=(1, 16)) < spread() < spread(cores=2.0)
    assert spread(workers=(1, 16)) < spread(workers=(1, 16), error_p90=0.9)
    noisy = tuple(tuple(s * c for c in server_profiles.COSTS) for s in (0.2, 1.0, 3.0))
    assert spread() < spread(draws=noisy)


def test_the_first_profile_of_a_transport_serves(tmp_path: Path) -> None:
    both = problem_of(tmp_path, server_profiles.profile("first"), server_profiles.profile("second"))
    assert [profile.name for profile in both.profiles.values()] == ["first"]
    over_mpi = server_profiles.profile("over-mpi", transport="mpi", ps={"mpi": replace(
        server_profiles.part(), library="openmpi")})  # fmt: skip
    two = problem_of(tmp_path, server_profiles.profile(), over_mpi)
    found = two.profile("ps", "mpi")
    assert found is not None
    assert found.name == "over-mpi"
    assert two.profile("ring", "mpi") is None
    assert at(two, aggregation="ps-mpi").why_outside == ()


def test_a_run_states_where_the_servers_come_from(problem: Problem) -> None:
    notes = {row.name: row for row in provenance.transports(problem)}
    assert notes["grpc"].calibrated is True
    assert "parameter servers as measured by profile servers" in notes["grpc"].note
    assert notes["mpi"].calibrated is False
    (line,) = [text for text in assumptions(problem) if "Parameter servers" in text]
    assert "a machine for each worker and server" in line
    assert "half of the work" in line


def test_measured_servers_come_before_what_allreduce_says_of_them(tmp_path: Path) -> None:
    measured_mpi = tmp_path / "measured.json"
    write_experiment(synthetic.experiment(noise=0.02), measured_mpi)
    forced = fit_measurements([measured_mpi], "forced")
    over_mpi = server_profiles.profile(
        "over-mpi", transport="mpi", ps={"mpi": server_profiles.part()}
    )
    alone, both = problem_of(tmp_path, forced), problem_of(tmp_path, forced, over_mpi)
    for problem, expected in ((alone, "forced"), (both, "over-mpi")):
        found = problem.profile("ps", "mpi")
        assert found is not None
        assert found.name == expected
        ring = problem.profile("ring", "mpi")
        assert ring is not None
        assert ring.name == "forced"
    assert comm_s(both, aggregation="ps-mpi") != comm_s(alone, aggregation="ps-mpi")
    assert comm_s(both, aggregation="ring-mpi") == comm_s(alone, aggregation="ring-mpi")


# -- compute efficiency --------------------------------------------------------------------------


@pytest.fixture
def timed(tmp_path: Path) -> Problem:
    compute = (server_profiles.compute_part(),)
    return problem_of(tmp_path, server_profiles.profile(compute=compute))


def test_a_timed_accelerator_reaches_what_it_did(timed: Problem, problem: Problem) -> None:
    v100 = catalog.accelerator("v100-sxm2-16gb")
    share = 12.56e12 / v100.peak_flops_per_s["fp32"]
    assert 0.5 < share < 1
    for values, expected in (
        ({"accelerator": "v100-sxm2-16gb"}, share),
        ({"accelerator": "v100-sxm2-16gb", "precision": "fp16"}, 0.7),
        ({"accelerator": "p100-sxm2-16gb"}, 0.7),
    ):
        point = {**timed.study.baseline.values, **values}
        reached = timed.setting(point).device.compute_efficiency
        assert float(np.ravel(reached)[0]) == pytest.approx(expected)
    on_v100 = {"accelerator": "v100-sxm2-16gb", "batch_per_gpu": 64}
    assert _compute_s(timed, **on_v100) < _compute_s(problem, **on_v100)
    assert _compute_s(timed) == _compute_s(problem)


def _compute_s(problem: Problem, **values: object) -> float:
    terms = at(problem, **values).terms
    return terms.forward_s + terms.backward_s  # type: ignore[operator]


def test_the_study_comes_before_the_measured_share(tmp_path: Path) -> None:
    compute = (server_profiles.compute_part(),)
    own = f"{STUDY}efficiency: {{compute: 0.5}}\n"
    problem = problem_of(tmp_path, server_profiles.profile(compute=compute), study=own)
    point = {**problem.study.baseline.values, "accelerator": "v100-sxm2-16gb"}
    assert float(np.ravel(problem.setting(point).device.compute_efficiency)[0]) == 0.5
    assert not [line for line in assumptions(problem) if "v100" in line]


def test_its_interval_comes_along(tmp_path: Path) -> None:
    def spread(low: float, high: float) -> float:
        compute = (server_profiles.compute_part(low=low, high=high),)
        problem = problem_of(tmp_path, server_profiles.profile(compute=compute))
        return width(at(problem, accelerator="v100-sxm2-16gb", gpus=1, batch_per_gpu=256))

    assert spread(12.5e12, 12.6e12) < spread(3e12, 15e12)


def test_a_run_states_the_measured_share(timed: Problem) -> None:
    (line,) = [text for text in assumptions(timed) if "v100-sxm2-16gb" in text]
    assert "fp32 peak in arithmetic: measured in large matrix products" in line
    assert "profile servers" in line


def test_a_share_is_of_its_own_device_and_at_most_the_peak() -> None:
    v100 = catalog.accelerator("v100-sxm2-16gb")
    beyond = server_profiles.profile(
        compute=(server_profiles.compute_part(flop_per_s=1e15, low=1e13, high=1e15),)
    )
    found = measured([beyond], v100, "fp32")
    assert found is not None
    assert (found.share, found.high) == (1.0, 1.0)
    assert measured([beyond], catalog.accelerator("h100-sxm"), "fp32") is None
    assert measured([beyond], v100, "fp16") is None


def test_a_profile_of_compute_alone_serves(tmp_path: Path) -> None:
    alone = server_profiles.profile(
        transport="none", ps={}, compute=(server_profiles.compute_part(),)
    )
    problem = problem_of(tmp_path, alone)
    assert list(problem.profiles)
    assert at(problem).interval is None
    assert [line for line in assumptions(problem) if "v100-sxm2-16gb" in line]


def test_the_report_repeats_the_runner_that_measured(tmp_path: Path) -> None:
    problem = problem_of(tmp_path, server_profiles.profile(machine={"cpu": "ours"}))
    [name] = problem.profiles
    outcome = run(problem, "exhaustive", None, None, lambda *_: None, 0, 0)
    found = assembly.build(outcome, "dse run", 0, 1.0, {name: Path("servers.yaml")})
    assert found.reproduce == ("dse calibrate run --runner grpc --name servers", "dse run")
