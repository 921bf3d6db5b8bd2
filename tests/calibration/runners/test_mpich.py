"""MPICH, where there is one: the same algorithms, forced by name."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dse.calibration.experiment import read_experiment
from dse.calibration.runners.mpi import measure
from dse.calibration.runners.mpi_library import Mpirun, find_launcher, run_ranks
from dse.calibration.runners.plan import MeasurePlan
from dse.calibration.runners.registry import Request
from dse.errors import MeasurementError
from tests.calibration.runners.test_mpi_faults import ENDING_S, LONG, kill_a_rank, running
from tests.calibration.runners.test_started_rank import started_by
from tests.processes import disturbed


@pytest.fixture(scope="module")
def mpich() -> Mpirun:
    try:
        return find_launcher("mpich")
    except MeasurementError as cause:
        pytest.skip(f"no MPICH here: {cause}")


@pytest.mark.slow
def test_mpich_measures_all_algorithms(mpich: Mpirun) -> None:
    plan = MeasurePlan(ranks=(2, 3), sizes_bytes=(64, 4096), algorithms=("auto", "ring"))
    found = measure(plan, Request(8.0, mpi=mpich.path))
    assert {s.library for s in found.samples} == {"mpich"}
    assert all(s.version[0].isdigit() and s.verified for s in found.samples)
    allreduce = {(s.algorithm, s.ranks) for s in found.samples if s.collective == "allreduce"}
    assert allreduce == {(name, ranks) for name in ("auto", "ring") for ranks in (2, 3)}


@pytest.mark.slow
def test_under_mpiexec_the_ranks_there_are_do_the_measuring(mpich: Mpirun, tmp_path: Path) -> None:
    asked = ["--budget", "5", "--out", str(tmp_path), "--name", "here"]
    launcher = [mpich.path, "-n", "3", sys.executable]
    done = started_by(launcher, *asked, **mpich.environment(100))
    assert "1/1 done" in done.stdout, done.stderr
    found = read_experiment(tmp_path / "here.measurements.json")
    assert {(s.library, s.ranks) for s in found.samples} == {("mpich", 2), ("mpich", 3)}
    assert done.stdout.count("1/1 done") == 1


@pytest.mark.slow
def test_a_killed_rank_of_mpich_ends_the_measurement(mpich: Mpirun) -> None:
    with (
        disturbed(running, kill_a_rank, ENDING_S),
        pytest.raises(MeasurementError, match="the ranks failed"),
    ):
        run_ranks(mpich, 2, LONG, 60.0)
