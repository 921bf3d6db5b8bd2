"""What goes wrong with real MPI ranks: said clearly, in bounded time, and no process is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dse.calibration.runners.mpi_library import find_launcher, run_ranks
from dse.errors import MeasurementError
from tests.processes import children, command, descendants, disturbed, left, until

LONG = {
    "ranks": 2,
    "groups": [{"ranks": 2, "cells": [["ring", 4, 64]] + [["ring", 4, 2**20]] * 500}],
    "cores": 2,
    "seconds": 60.0,
    "min_repetitions": 50,
    "local_seconds": 0.0,
}
ENDING_S = 5.0  # that what was killed has to be gone
SHORT = {**LONG, "groups": [{"ranks": 2, "cells": [["ring", 4, 64]]}], "seconds": 0.2}
# A worker with a fault: it patches a module in place of the running machine, then does its work.
FAULTY = """
from mpi4py import MPI
from dse.calibration.runners import mpi_worker, timing
rank = MPI.COMM_WORLD.Get_rank()
{fault}
mpi_worker.main()
"""
LIE = """
honest = timing.pattern
timing.pattern = lambda who: honest(who) + (rank == who == 1)
"""
BREAK = "mpi_worker.MpiBench.operation = lambda me, name, own, got: lambda: got.fill(rank)"


def faulty(folder: Path, fault: str) -> Path:
    worker = folder / "faulty.py"
    worker.write_text(FAULTY.format(fault=fault))
    return worker


@pytest.mark.slow
@pytest.mark.parametrize(("cell", "fault"), [("ring", LIE), ("sendrecv", BREAK)])
def test_wrong_data_is_an_error_and_is_named(tmp_path: Path, cell: str, fault: str) -> None:
    task = {**SHORT, "ranks": 3, "groups": [{"ranks": 2, "cells": [[cell, 4, 64]]}]}
    with pytest.raises(MeasurementError, match=f"wrong sum: {cell}, 64 bytes, 2 ranks"):
        run_ranks(find_launcher(), 3, task, 1.0, faulty(tmp_path, fault))


@pytest.mark.slow
def test_ranks_of_another_mpi_than_the_launchers_are_told_apart() -> None:
    with pytest.raises(MeasurementError, match="3 ranks were started, but each sees 2"):
        run_ranks(find_launcher(), 2, {**SHORT, "ranks": 3}, 1.0)


def ranks(members: list[int]) -> list[int]:
    """Of an mpirun and all below it: the ranks, which mpirun itself names too."""
    return [pid for pid in members[1:] if "mpi_worker.py" in command(pid)]


def running(parent: int | None = None) -> list[int]:
    """Below a process (this one): an mpirun and all below it, once its two ranks are up."""
    every = map(descendants, children(parent or os.getpid()))
    return next((members for members in every if len(ranks(members)) == 2), [])


def kill_a_rank(members: list[int]) -> None:
    os.kill(ranks(members)[-1], signal.SIGKILL)


@pytest.mark.slow
def test_a_killed_rank_ends_the_measurement_and_leaves_no_process() -> None:
    with (
        disturbed(running, kill_a_rank, ENDING_S),
        pytest.raises(MeasurementError, match="the ranks failed"),
    ):
        run_ranks(find_launcher(), 2, LONG, 60.0)


DRIVER = """
from dse.calibration.runners.mpi import measure
from dse.calibration.runners.plan import MeasurePlan
from dse.calibration.runners.registry import Request
measure(MeasurePlan(ranks=(2,), sizes_bytes=(64, 2**24)), Request(60.0))
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_driver_that_is_told_to_end_leaves_no_process(number: signal.Signals) -> None:
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER], stderr=subprocess.PIPE, start_new_session=True
    )
    try:
        seen = until(lambda: running(driver.pid))
    finally:
        driver.send_signal(number)
        driver.communicate(timeout=60)
    assert driver.returncode != 0
    assert left(seen, ENDING_S) == []
