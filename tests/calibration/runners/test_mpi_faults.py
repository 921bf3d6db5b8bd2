"""What goes wrong with real MPI ranks: said clearly, in bounded time, and no process is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dse.calibration.runners import launch
from dse.errors import MeasurementError

LONG = {
    "ranks": 2,
    "cells": [["ring", 4, 64]] + [["ring", 4, 2**20]] * 500,
    "stride": 1,
    "seconds": 60.0,
    "min_repetitions": 50,
    "local_sizes": [],
    "local_seconds": 0.0,
}
SHORT = {**LONG, "cells": [["ring", 4, 64], ["exchange", 0, 64]], "seconds": 0.2}
# A worker with a fault: it patches a module in place of the running machine, then does its work.
FAULTY = """
from mpi4py import MPI
from dse.calibration.runners import clock, mpi_worker, repeat
rank = MPI.COMM_WORLD.Get_rank()
{fault}
mpi_worker.main()
"""
LIE = """
honest = repeat.pattern
repeat.pattern = lambda who: honest(who) + (rank == who == 1)
"""
# The clock of rank 1 goes wrong at every {every}th reading.
JUMP = """
import itertools
readings, true = itertools.count(1), clock.Clock.now
wrong = float("{wrong}")
jumps = lambda: rank == 1 and next(readings) % {every} == 0
clock.Clock.now = lambda me: true(me) + (wrong if jumps() else 0.0)
"""


def faulty(folder: Path, fault: str) -> Path:
    worker = folder / "faulty.py"
    worker.write_text(FAULTY.format(fault=fault))
    return worker


@pytest.mark.slow
def test_a_wrong_sum_is_an_error_and_is_named(tmp_path: Path) -> None:
    with pytest.raises(MeasurementError, match="wrong sum: ring, 64 bytes, 2 ranks"):
        launch.run_ranks(launch.find_mpirun(), 2, LONG, 1.0, faulty(tmp_path, LIE))


@pytest.mark.slow
def test_a_wrong_exchange_is_an_error_and_is_named(tmp_path: Path) -> None:
    break_it = """
from dse.calibration.runners import pairs
pairs.Pairs._exchange = lambda me, own, got: got.fill(rank)
"""
    task = {**SHORT, "cells": [["exchange", 0, 64]]}
    with pytest.raises(MeasurementError, match="wrong sum: exchange, 64 bytes, 2 ranks"):
        launch.run_ranks(launch.find_mpirun(), 2, task, 1.0, faulty(tmp_path, break_it))


@pytest.mark.slow
@pytest.mark.parametrize("wrong", ["-5", "1e6", "nan"])
def test_a_clock_that_jumps_now_and_then_loses_those_times(tmp_path: Path, wrong: str) -> None:
    worker = faulty(tmp_path, JUMP.format(wrong=wrong, every=11))
    records = launch.run_ranks(launch.find_mpirun(), 2, SHORT, 1.0, worker)
    end = records[-1]
    assert 0 < end["dropped"] < end["kept"]
    samples = [record for record in records if record["kind"] == "sample"]
    assert len(samples) == 2
    assert all(0 < s["min_s"] <= s["p95_s"] < 1.0 for s in samples)


@pytest.mark.slow
def test_a_clock_that_always_jumps_is_an_error(tmp_path: Path) -> None:
    worker = faulty(tmp_path, JUMP.format(wrong="-5", every=2))
    with pytest.raises(MeasurementError, match="the clock jumps: 20 of 20 times are negative"):
        launch.run_ranks(launch.find_mpirun(), 2, SHORT, 1.0, worker)


@pytest.mark.slow
def test_ranks_of_another_mpi_than_the_launchers_are_told_apart() -> None:
    with pytest.raises(MeasurementError, match="3 ranks were started, but each sees 2"):
        launch.run_ranks(launch.find_mpirun(), 2, {**SHORT, "ranks": 3}, 1.0)


@pytest.mark.slow
def test_an_algorithm_the_library_lacks_is_an_error() -> None:
    with pytest.raises(MeasurementError, match="2 ranks ended with status"):
        launch.run_ranks(launch.find_mpirun(), 2, {**LONG, "cells": [["ring", 99, 64]]}, 1.0)


def _when_ranks_run(action: Callable[[list[int]], None]) -> tuple[threading.Thread, list[int]]:
    """Runs ``action`` on the pids of this process's mpirun session once its ranks are up."""
    seen: list[int] = []

    def watch() -> None:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            for child in _children(os.getpid()):
                members = _descendants(child)
                ranks = [pid for pid in members if "mpi_worker.py" in _command(pid)]
                workers = [pid for pid in ranks if pid != child]
                if len(workers) == 2:
                    seen.extend(members)
                    action(workers)
                    return
            time.sleep(0.05)

    thread = threading.Thread(target=watch)
    thread.start()
    return thread, seen


def _children(parent: int) -> list[int]:
    try:
        tasks = list(Path(f"/proc/{parent}/task").glob("*/children"))
        return [int(pid) for task in tasks for pid in task.read_text().split()]
    except OSError:  # it has just ended
        return []


def _descendants(parent: int) -> list[int]:
    """The process and all that it started; the ranks of MPICH have sessions of their own."""
    return [parent, *(pid for child in _children(parent) for pid in _descendants(child))]


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def _alive(pids: list[int]) -> list[int]:
    """Those that are still ranks; what was killed has a few seconds to be gone."""
    deadline = time.monotonic() + 5
    while True:
        left = [pid for pid in pids if "mpi_worker.py" in _command(pid)]
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.05)


@pytest.mark.slow
def test_a_killed_rank_ends_the_measurement_and_leaves_no_process() -> None:
    watcher, seen = _when_ranks_run(lambda ranks: os.kill(ranks[-1], signal.SIGKILL))
    with pytest.raises(MeasurementError, match="2 ranks ended with status"):
        launch.run_ranks(launch.find_mpirun(), 2, LONG, 60.0)
    watcher.join()
    assert len(seen) >= 3
    assert _alive(seen) == []


@pytest.mark.slow
def test_an_interrupt_leaves_no_process() -> None:
    main = threading.main_thread().ident
    assert main is not None
    watcher, seen = _when_ranks_run(lambda _: signal.pthread_kill(main, signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        launch.run_ranks(launch.find_mpirun(), 2, LONG, 60.0)
    watcher.join()
    assert len(seen) >= 3
    assert _alive(seen) == []


@pytest.mark.slow
def test_hung_ranks_are_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "GRACE_S", 3.0)
    watcher, seen = _when_ranks_run(lambda _: None)
    with pytest.raises(MeasurementError, match="did not finish within"):
        launch.run_ranks(launch.find_mpirun(), 2, LONG, 0.0)
    watcher.join()
    assert _alive(seen) == []


DRIVER = """
from dse.calibration.runners.mpi import MeasurePlan, measure
measure(MeasurePlan(ranks=(2,), sizes_bytes=(64, 2**24)), 60.0)
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_driver_that_is_told_to_end_leaves_no_process(number: signal.Signals) -> None:
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER], stderr=subprocess.PIPE, start_new_session=True
    )
    seen = _ranks_under(driver.pid)
    driver.send_signal(number)
    driver.communicate(timeout=60)
    assert driver.returncode != 0
    assert len(seen) >= 2
    assert _alive(seen) == []


def _ranks_under(pid: int) -> list[int]:
    """The ranks that a driver has started, waited for."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        members = _descendants(pid)
        ranks = [m for m in members if "mpi_worker.py" in _command(m)]
        if len([m for m in ranks if m not in _children(pid)]) >= 2:
            return members
        time.sleep(0.05)
    return []
