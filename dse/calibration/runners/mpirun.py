"""Starts MPI ranks in a session of their own and leaves none behind, whatever happens."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from dse.calibration.runners.budget import limit_s
from dse.calibration.runners.mpi_library import Mpirun, find_launcher
from dse.errors import MeasurementError

WORKER = Path(__file__).with_name("mpi_worker.py")
PACKAGES = Path(__file__).resolve().parents[3]  # the folder that holds the package dse
TELLING = ("wrong ", "the clock jumps", "this MPI", " ranks were started")  # says more than frames
TAIL_LINES = 3


def find_mpirun() -> str:
    """The path of the program that starts ranks; see :func:`find_launcher`."""
    return find_launcher().path


def run_ranks(
    mpirun: str | Mpirun,
    ranks: int,
    task: dict[str, Any],
    share_s: float,
    worker: Path = WORKER,
    extra: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """Run the worker once under mpirun with ``task`` as JSON; returns the JSON lines of rank 0.

    mpirun: a path counts as Open MPI's. ``extra``: more options, such as its hosts. Raises
    MeasurementError if it fails or hangs.
    """
    launcher = Mpirun(mpirun) if isinstance(mpirun, str) else mpirun
    seconds = limit_s(share_s)
    ultimate_s = math.ceil(seconds) + 10
    command = [
        *launcher.command(ranks, ultimate_s, extra),
        # -P: the folder of the worker must not shadow modules (runners may be named torch, grpc).
        *(sys.executable, "-P", str(worker), json.dumps(task)),
    ]
    with terminable(), _session(command, launcher.environment(ultimate_s)) as (process, stderr):
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            problem = f"{ranks} MPI ranks did not finish within {seconds:.0f} s"
            raise MeasurementError(_with_tail(problem, stderr)) from None
        if process.returncode != 0:
            problem = f"mpirun with {ranks} ranks ended with status {process.returncode}"
            raise MeasurementError(_with_tail(problem, stderr))
    try:
        return [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    except json.JSONDecodeError as cause:
        raise MeasurementError(f"the ranks printed something unreadable: {cause}") from None


@contextmanager
def terminable() -> Iterator[None]:
    """Make SIGTERM raise SystemExit inside, so that started processes end. Main thread only."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(number: int, _: Any) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _session(
    command: Sequence[str], variables: dict[str, str]
) -> Iterator[tuple[subprocess.Popen[str], Any]]:
    """The command in a session and scratch folder of its own; both are gone at the end."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, (str(PACKAGES), os.environ.get("PYTHONPATH")))),
        **{f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")},
        **variables,
    }
    with (
        tempfile.TemporaryDirectory(prefix="dse", ignore_cleanup_errors=True) as scratch,
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as stderr,
    ):
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            env={**environment, "TMPDIR": scratch},
            start_new_session=True,
        )
        try:
            yield process, stderr
        finally:
            end_session(process)
            # MPICH puts each rank in a session of its own; all have inherited this folder.
            _kill(_processes_of(scratch))


def end_session(process: subprocess.Popen[str], patience_s: float = 5.0) -> None:
    """End mpirun in order, then whatever is left of its session (ranks have their own groups)."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(patience_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    _kill(session_members(process.pid))
    if process.stdout:
        process.stdout.close()


def session_members(session: int) -> list[int]:
    """Live processes whose session is ``session`` (from /proc; empty where there is none)."""
    members = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            # The command name, in parentheses, may hold anything: count fields from its end.
            state, _, _, sid = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
        except (OSError, ValueError):
            continue
        if int(sid) == session and state != "Z":
            members.append(int(entry.name))
    return members


def _processes_of(scratch: str) -> list[int]:
    """Processes of this host that were started with this folder as theirs."""
    mark, found = f"TMPDIR={scratch}".encode(), []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
        except OSError:  # gone, or somebody else's
            continue
    return found


def _kill(processes: Sequence[int]) -> None:
    for pid in processes:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _with_tail(problem: str, stderr: Any) -> str:
    """The problem and what the ranks last said, without the launcher's frames of signs."""
    stderr.seek(0)
    said = [line.strip(" |") for line in stderr.read().splitlines() if line.strip(" -=|\n")]
    telling = [line for line in said if any(words in line for words in TELLING)]
    tail = " | ".join(telling[:1] or said[-TAIL_LINES:])
    return f"{problem}: {tail}" if tail else problem
