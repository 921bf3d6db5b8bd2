"""What the calibrate commands do: from ranks or files to a profile, and what a profile tells."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.errors import DseError, StudyError

if TYPE_CHECKING:
    from dse.calibration import Profile
    from dse.calibration.planning.advice import Advice
    from dse.calibration.session import Where

# What a runner measures, where that is no allreduce.
MEASURED = {
    "grpc": "parameter servers over gRPC",
    "mpi-ps": "parameter servers over MPI",
    "compute": "compute speed",
}
INTERRUPTED = 130
BUSY_CORES = 0.1  # kept by others while measuring: times come out too long


def calibrate_machine(
    out: Path, name: str, budget_s: float, ranks: str | None, where: Where
) -> None:
    """Measure, fit, and say how well the fit predicts what it has not seen.

    Started by a launcher of ranks, this process is one of them: rank 0 alone writes and speaks.
    """
    from dse.calibration.runners.launchers import started
    from dse.calibration.session import calibrate_as_rank, calibrate_here

    me = started(os.environ)
    try:
        counts = _counts(ranks)
        if me is None or me.rank == 0:
            if (out / f"{name}.yaml").exists():
                print(f"replaces {out / name}.yaml; give --name to keep it")
            at = f"{len(where.hosts.hosts)} hosts" if where.hosts else "this machine"
            at = f"the {me.ranks} ranks of {me.by}" if me else at
            what = MEASURED.get(where.runner, "allreduce")
            print(f"measuring {what} on {at} for {budget_s:g} s", flush=True)
        progress = _run_progress
        written = (
            calibrate_as_rank(me, out, budget_s, counts, name, progress, where)
            if me
            else calibrate_here(out, budget_s, counts, name, None, progress, where)
        )
    except (DseError, KeyboardInterrupt) as error:
        if me and me.rank:  # rank 0 says it, once
            raise SystemExit(getattr(error, "exit_status", INTERRUPTED)) from None
        raise
    if written:
        _say_calibrated(*written)


def _counts(ranks: str | None) -> tuple[int, ...] | None:
    try:
        return None if ranks is None else tuple(int(text) for text in ranks.split(","))
    except ValueError:
        raise StudyError(
            "--ranks", 0, 0, f"'{ranks}' is not a list of counts", "write for example --ranks 2,3,4"
        ) from None


def _run_progress(done: int, total: int, text: str) -> None:
    print(f"  {done}/{total} {text}", flush=True)


def _say_calibrated(measured: Path, profile: Path) -> None:
    from dse.calibration import read_profile

    found = read_profile(profile)
    for algorithm in found.measured_algorithms:
        print(f"  {algorithm}: median error {found.error(algorithm):.0%} on rank counts "
              "it was not fitted on")  # fmt: skip
    _say_others(found)
    if found.background_cores > BUSY_CORES:
        print(f"  this machine was busy: other processes kept {found.background_cores:.1f} of its "
              f"{found.cores} cores; measure again when it is quiet")  # fmt: skip
    print(f"wrote {measured}\nwrote {profile}")


def _say_others(profile: Profile) -> None:
    """What a profile holds besides allreduce."""
    for transport, part in profile.ps.items():
        print(f"  ps-{transport}: median error {part.error:.0%} on workers and servers it was not "
              "fitted on")  # fmt: skip
    for speed in profile.compute:
        print(f"  {speed.device} {speed.precision}: {speed.flop_per_s / 1e9:,.1f} GFLOP/s in large "
              "matrix products")  # fmt: skip


def fit_profile(measurements: Sequence[Path], out: Path) -> None:
    """Fit measurement files into one profile."""
    from dse.calibration import arguments, fit_measurements, write_profile
    from dse.calibration.files import PROFILE, check_replaces

    arguments.check_once(measurements)
    check_replaces(out, PROFILE)
    if any(path.resolve() == out.resolve() for path in measurements):
        problem = f"'{out}' is one of the measurement files"
        raise StudyError("--out", 0, 0, problem, "choose another name")
    profile = fit_measurements(list(measurements), out.stem)
    write_profile(profile, out)
    for assumed in profile.assumed:
        print(f"assumed: {assumed}")
    for algorithm in profile.measured_algorithms:
        print(f"  {algorithm}: median error {profile.error(algorithm):.0%} on what was left out")
    _say_others(profile)
    print(f"wrote {out}")


def fabric_names() -> tuple[str, ...]:
    """Networks that the catalogue knows."""
    from dse import catalog

    return catalog.names("fabrics")


def named_profile(given: str) -> Profile:
    """A profile by its path, or by its name in ./calibrations or among those that come with dse."""
    from dse import catalog
    from dse.calibration import read_profile
    from dse.calibration.profile_files import find_profile

    return read_profile(find_profile(given, catalog.models_dir() / "calibrations"))


def suggest_runs(given: str, study: str, *limits: Any) -> tuple[Profile, Advice]:
    """A profile, and what to measure next for a study: see :func:`dse.pricing.messages.advise`."""
    from dse.pricing.messages import advise

    profile = named_profile(given)
    return profile, advise(profile, study, *limits)
