"""Measured parameter servers become a profile's part: found again, checked, predicted, shown."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dse.calibration import Profile, predict, profile_data, read_profile, write_profile
from dse.calibration.arguments import server_algorithm
from dse.calibration.experiment import Experiment, Machine, Measurement
from dse.calibration.fitting.profile import fit_experiments
from dse.calibration.prediction_table import Record, prediction_records
from dse.errors import MeasurementError, OutsideCalibration, StudyError
from tests.calibration import server_profiles, synthetic
from tests.calibration.fitting.test_servers import CORES, SIZES, TRUE, samples

MACHINE = Machine("a cpu", int(CORES), 2**30, "Linux", (), "3.11")


def experiment(measured: list[Measurement], **changes: object) -> Experiment:
    made = Experiment(
        name="lab", date="2026-01-01", dse_version="0.1.0", machine=MACHINE,
        samples=tuple(measured), gamma_s_per_byte=1e-10, copy_s_per_byte=2e-10, shared_cores=True,
    )  # fmt: skip
    return replace(made, **changes)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def lab() -> Experiment:
    noise = np.random.default_rng(3)
    return experiment([
        replace(s, median_s=s.median_s * float(np.exp(0.03 * noise.normal())), nodes=s.ranks)
        for s in samples((1, 2, 3), (1, 2))
    ])  # fmt: skip


@pytest.fixture(scope="module")
def found(lab: Experiment) -> Profile:
    return fit_experiments([lab], "lab")


def test_costs_are_found_again_with_their_range_and_error(lab: Experiment, found: Profile) -> None:
    part = found.ps["grpc"]
    seen = part.seconds(4, 3, 1e7, 50e6)
    assert seen == pytest.approx(
        replace(part, costs=tuple(TRUE.tolist())).seconds(4, 3, 1e7, 50e6), rel=0.1
    )
    assert (part.workers, part.servers, part.cores) == ((1, 3), (1, 2), CORES)
    assert part.message_bytes == (min(SIZES), max(SIZES))
    assert part.link_bytes_per_s == (50e6, 125e6)
    assert part.error < 0.1 < part.textbook_error
    assert len(part.points) == len({(s.ranks, s.servers, s.bytes, s.link_bytes_per_s)
                                    for s in lab.samples})  # fmt: skip
    assert (found.transport, found.ranks, found.split) == ("grpc", (1, 3), "measured")
    assert found.measured_algorithms == ()
    assert found.gamma_s_per_byte == 1e-10


def test_intervals_hold_what_was_measured_and_widen_beyond(lab: Experiment, found: Profile) -> None:
    inside = [
        at.low <= s.median_s <= at.high
        for s in lab.samples
        for at in [predict(found, "ps", s.ranks, s.bytes, None, s.link_bytes_per_s, s.servers)]
    ]
    assert np.mean(inside) > 0.9
    few, many = (predict(found, "ps-grpc", n, 2**20, None, 50e6, 2) for n in (3, 300))
    assert few.in_range
    assert not many.in_range
    assert many.high / many.low > few.high / few.low > 1
    assert not predict(found, "ps", 3, 2**20, None, 25e6, 2).in_range


@pytest.mark.parametrize("workers", [1, 3, 10**6])
def test_predictions_are_finite_and_grow_with_bytes(workers: int) -> None:
    sizes = np.array([0.0, 1.0, 2.0**20, 1e9, 1e15])
    found = predict(server_profiles.profile(), "ps", workers, sizes, servers=3)
    assert np.all(np.isfinite(found.high))
    assert np.all(np.diff(found.seconds) >= 0)
    assert np.all((found.low <= found.seconds) & (found.seconds <= found.high))


def test_machines_of_their_own_are_told_from_shared_ones(lab: Experiment) -> None:
    apart = replace(lab, shared_cores=False)
    assert fit_experiments([apart], "hosts").ps["grpc"].cores is None
    with pytest.raises(MeasurementError, match="some parameter servers shared a machine"):
        fit_experiments([lab, apart], "both")
    here = replace(lab, shared_cores=False, machine=None,
                   samples=tuple(replace(s, nodes=1) for s in lab.samples))  # fmt: skip
    with pytest.raises(MeasurementError, match="number of cores is not known"):
        fit_experiments([here], "nowhere")


def test_transports_and_allreduce_fit_into_one_profile(lab: Experiment) -> None:
    over_mpi = [replace(s, transport="mpi", library="openmpi") for s in lab.samples]
    both = fit_experiments([experiment([*lab.samples, *over_mpi])], "both")
    assert list(both.ps) == ["grpc", "mpi"]
    assert both.servers("ps-mpi") is both.ps["mpi"]
    assert both.servers("ps") is both.ps[both.transport]
    allreduce = replace(synthetic.experiment(noise=0.02), machine=MACHINE)
    all_three = fit_experiments([allreduce, experiment(over_mpi)], "all")
    assert all_three.measured_algorithms
    assert all_three.servers("ps") is all_three.ps["mpi"]
    assert all_three.servers("ring") is None


def test_what_does_not_belong_together_is_refused(lab: Experiment) -> None:
    newer = experiment([replace(s, version="2") for s in lab.samples])
    with pytest.raises(MeasurementError, match=r"different libraries: grpcio 1 and grpcio 2"):
        fit_experiments([lab, newer], "x")
    slow = experiment([replace(s, median_s=9 * s.median_s) for s in lab.samples])
    with pytest.raises(MeasurementError, match="differ by a factor of 9"):
        fit_experiments([lab, slow], "x")
    one = experiment([s for s in lab.samples if (s.ranks, s.servers) == (2, 1)])
    with pytest.raises(MeasurementError, match="two numbers"):
        fit_experiments([one], "x")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("    workers: [1, 8]", "    workers: [8, 1]", "range of workers, 8 .. 1, is inverted"),
        ("    edge_bytes: null", "    edge_bytes: -1.0", "greater than 0"),
        ("    costs: [0.0005, ", "    costs: [", "costs and every draw must have 10 values"),
        ("    costs: [0.0005, ", "    costs: [-0.0005, ", "greater than or equal to 0"),
        ("    max_nodes: 8", "    max_nodes: 8\n    spokes: 9", "unknown key 'ps.grpc.spokes'"),
        ("    error: 0.05\n", "", "the key 'ps.grpc.error' is missing"),
    ],
)
def test_a_damaged_part_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "p.yaml"
    write_profile(server_profiles.profile(), path)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(StudyError, match=message):
        read_profile(path)


def test_what_is_asked_is_understood() -> None:
    made = server_profiles.profile()
    assert server_algorithm(made, None, None) == "ps"
    assert server_algorithm(made, "ps-grpc", (2,)) == "ps-grpc"
    assert server_algorithm(made, "ring", None) is None
    with pytest.raises(StudyError, match="'ring' uses no servers; give algorithm ps"):
        server_algorithm(made, "ring", (2,))
    with pytest.raises(OutsideCalibration, match="did not measure ps-mpi; it measured ps-grpc"):
        server_algorithm(made, "ps-mpi", None)


def records(
    profile: Profile, workers: tuple[int, ...], servers: int, size: int, speed: float | None = None
) -> list[Record]:
    return prediction_records(profile, ("ps",), workers, None, (size,), speed, (servers,))


def test_servers_on_another_link_are_priced_and_said() -> None:
    made = server_profiles.profile()
    measured = server_profiles.LINK_BYTES_PER_S
    ask = ((8,), 4, 2**28)
    (usual,), (slow,) = (records(made, *ask, speed) for speed in (None, measured / 4))
    assert usual["link_bytes_per_s"] == measured
    assert slow["seconds"] > usual["seconds"]
    assert not slow["in_range"]
    assert slow["why_outside"].startswith("a link of ")
    bare = replace(made, ps={"grpc": server_profiles.part(link_bytes_per_s=(0.0, 0.0))})
    assert records(bare, *ask)[0]["link_bytes_per_s"] is None
    with pytest.raises(OutsideCalibration, match="does not state the link speed"):
        records(bare, *ask, measured)


def test_a_profile_as_data_has_its_servers_with_intervals(found: Profile) -> None:
    record = profile_data(found)["ps"]["grpc"]
    assert "draws" not in record
    names = {row["name"]: row for row in record["parameters"]}
    row = names["cores, per byte"]
    assert row["low"] <= row["value"] <= row["high"]
    assert (row["value"], row["unit"]) == (pytest.approx(2e-8, rel=0.1), "s/byte")
