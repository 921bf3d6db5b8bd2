"""One call from nothing to a profile: measure on this machine, fit, write both files."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path

from dse.calibration.build import fit_measurements
from dse.calibration.experiment import write_experiment
from dse.calibration.profile import write_profile
from dse.calibration.runners.mpi import (
    DEFAULT_RANKS,
    DEFAULT_SIZES,
    MeasurePlan,
    Progress,
    measure,
)
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
    Raises StudyError for an argument that cannot be right, MeasurementError where measuring fails,
    and OutputError where the folder cannot be written (found out before anything is measured);
    earlier files then stay as they were.
    """
    folder = Path(out_dir)
    if not name or name != Path(name).name or name.startswith("."):
        raise StudyError("--name", 0, 0, f"'{name}' is not a file name", "use letters and dashes")
    if not 0 < budget_s < math.inf:
        raise StudyError("--budget", 0, 0, f"{budget_s:g} s is no time", "give for example 60")
    if len(set(ranks)) < 2 or min(ranks) < 2:
        listed = ",".join(str(count) for count in ranks)
        problem = f"'{listed}' is too little to fit and to check the fit"
        raise StudyError("--ranks", 0, 0, problem, "give two or more counts from 2, as 2,3,4,8")
    sizes = DEFAULT_SIZES if sizes_bytes is None else tuple(sizes_bytes)
    plan = MeasurePlan(ranks=tuple(ranks), sizes_bytes=sizes)
    _check_writable(folder)
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
