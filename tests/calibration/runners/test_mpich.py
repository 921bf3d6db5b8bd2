"""MPICH, where there is one: the same algorithms, forced by name."""

from __future__ import annotations

import os
import signal

import pytest

from dse.calibration.runners import launch
from dse.calibration.runners.mpi import measure
from dse.calibration.runners.mpi_library import Mpirun, find_launcher
from dse.calibration.runners.plan import MeasurePlan
from dse.errors import MeasurementError
from tests.calibration.runners.test_mpi_faults import LONG, _alive, _when_ranks_run


@pytest.fixture(scope="module")
def mpich() -> Mpirun:
    try:
        return find_launcher("mpich")
    except MeasurementError as cause:
        pytest.skip(f"no MPICH here: {cause}")


@pytest.mark.slow
def test_mpich_measures_all_algorithms(mpich: Mpirun) -> None:
    plan = MeasurePlan(ranks=(2, 3), sizes_bytes=(64, 4096), algorithms=("auto", "ring"))
    found = measure(plan, 8.0, mpirun=mpich.path)
    assert {s.library for s in found.samples} == {"mpich"}
    assert all(s.version[0].isdigit() and s.verified for s in found.samples)
    allreduce = {(s.algorithm, s.ranks) for s in found.samples if s.collective == "allreduce"}
    assert allreduce == {(name, ranks) for name in ("auto", "ring") for ranks in (2, 3)}


@pytest.mark.slow
def test_a_killed_rank_of_mpich_ends_the_measurement(mpich: Mpirun) -> None:
    watcher, seen = _when_ranks_run(lambda ranks: os.kill(ranks[-1], signal.SIGKILL))
    with pytest.raises(MeasurementError, match="2 ranks ended with status"):
        launch.run_ranks(mpich, 2, LONG, 60.0)
    watcher.join()
    assert len(seen) >= 3
    assert _alive(seen) == []
