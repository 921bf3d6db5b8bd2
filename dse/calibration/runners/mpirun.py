"""Starts MPI ranks and leaves none behind, whatever happens."""

from __future__ import annotations

import json
import math
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dse.calibration.runners.budget import limit_s
from dse.calibration.runners.mpi_library import Mpirun
from dse.calibration.runners.processes import end_processes, run_processes, with_variables

WORKER = Path(__file__).with_name("mpi_worker.py")


def run_ranks(
    mpirun: Mpirun,
    ranks: int,
    task: dict[str, Any],
    share_s: float,
    worker: Path = WORKER,
    extra: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """Run the worker once under mpirun with ``task`` as JSON; returns the JSON lines of rank 0.

    ``extra``: more options, such as its hosts. Raises MeasurementError if it fails or hangs.
    """
    seconds = limit_s(share_s)
    ultimate_s = math.ceil(seconds) + 10
    with tempfile.TemporaryDirectory(prefix="dse", ignore_cleanup_errors=True) as scratch:
        command = [
            *with_variables({**mpirun.environment(ultimate_s), "TMPDIR": scratch}),
            *mpirun.command(ranks, ultimate_s, extra),
            # -P: the folder of the worker must not shadow modules (mpi_force beside mpi).
            *(sys.executable, "-P", str(worker), json.dumps(task)),
        ]
        try:
            return run_processes([command], [{}], seconds)
        finally:
            # MPICH puts each rank in a session of its own; all have inherited this folder.
            end_processes(_processes_of(scratch))


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
