"""One call from nothing to a profile: measure on this machine, fit, write both files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from dse.calibration.build import fit_measurements
from dse.calibration.experiment import write_experiment
from dse.calibration.profile import write_profile
from dse.calibration.runners.mpi import DEFAULT_RANKS, MeasurePlan, Progress, measure
from dse.errors import OutputError, StudyError


def calibrate_here(
    out_dir: str | Path = "calibrations",
    budget_s: float = 60.0,
    ranks: Sequence[int] = DEFAULT_RANKS,
    name: str = "this-machine",
    sizes_bytes: Sequence[int] | None = None,
    progress: Progress | None = None,
) -> tuple[Path, Path]:
    """Measure with real MPI ranks for ``budget_s`` seconds, fit, and write both files.

    Returns the paths of NAME.measurements.json and NAME.yaml in ``out_dir``. The fit takes a few
    seconds beyond the budget. ``progress(done, total, text)`` is called before every run.
    Raises MeasurementError where measuring fails and OutputError where the folder cannot be
    written (found out before anything is measured); earlier files then stay as they were.
    """
    folder = Path(out_dir)
    if not name or name != Path(name).name or name.startswith("."):
        raise StudyError("--name", 0, 0, f"'{name}' is not a file name", "use letters and dashes")
    if not budget_s > 0:
        raise StudyError("--budget", 0, 0, f"{budget_s:g} s is no time", "give for example 60")
    _check_writable(folder)
    plan = MeasurePlan(ranks=tuple(ranks))
    if sizes_bytes is not None:
        plan = MeasurePlan(ranks=tuple(ranks), sizes_bytes=tuple(sizes_bytes))
    experiment = measure(plan, budget_s, name=name, progress=progress)
    measurements, profile = folder / f"{name}.measurements.json", folder / f"{name}.yaml"
    write_experiment(experiment, measurements)
    write_profile(fit_measurements([measurements], name), profile)
    return measurements, profile


def _check_writable(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as cause:
        raise OutputError(f"{folder}: {cause.strerror}; choose another --out") from None
    if not os.access(folder, os.W_OK):
        raise OutputError(f"{folder}: cannot be written; choose another --out")
