"""``dse calibrate fit``: one profile from one or more measurement files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dse.errors import ArgumentError

if TYPE_CHECKING:
    from dse.calibration import Profile


def fit(
    measurements: Annotated[list[Path], typer.Argument(help="Measurement files to fit together.")],
    out: Annotated[Path, typer.Option(help="The profile to write.")],
) -> None:
    """Fit a profile to measurements made earlier."""
    from dse.calibration import arguments, fit_measurements, write_profile
    from dse.calibration.profile_files import check_replaces_profile

    arguments.check_once(measurements)
    check_replaces_profile(out, rates=False, option="--out")
    if any(path.resolve() == out.resolve() for path in measurements):
        problem = f"'{out}' is one of the measurement files"
        raise ArgumentError("--out", problem, "choose another name")
    profile = fit_measurements(measurements, out.stem)
    write_profile(profile, out)
    print_fit(profile, out)


def print_fit(profile: Profile, path: Path) -> None:
    """Print what was fitted, where it is written, and what it is good for."""
    from dse.calibration.verdict import LEFT_OUT, verdict

    for assumed in profile.assumed:
        print(f"assumed: {assumed}")
    for algorithm in profile.measured_algorithms:
        unseen = LEFT_OUT[profile.held_out(algorithm)]
        print(f"  {algorithm}: on {unseen} left out of the fit the median error is "
              f"{profile.error(algorithm):.0%}, and 90 % of errors are below "
              f"{profile.error_p90(algorithm):.0%}")  # fmt: skip
    _print_other_parts(profile)
    print(f"wrote {path}")
    for line in verdict(profile):
        print(line)


def _print_other_parts(profile: Profile) -> None:
    """Print what a profile holds besides allreduce."""
    from dse.calibration.compute_part import compute_text
    from dse.calibration.profile import exchange_text

    for transport, part in profile.ps.items():
        print(f"  ps-{transport}: median error {part.error:.0%} on numbers of workers and servers "
              "left out of the fit")  # fmt: skip
    for operation, exchange in profile.exchanges.items():
        print(f"  {exchange_text(operation, exchange)}")
    for line in map(compute_text, profile.compute):
        print(f"  {line}")
    for rate in profile.throughput:
        print(f"  {rate.what}, {rate.precision}, on {rate.accelerator}: "
              f"{rate.samples_per_s:,.4g} samples/s")  # fmt: skip
    for one in profile.layouts:
        print(f"  {one.workload}, {one.layout}, {one.precision}, on {one.gpus:,} "
              f"{one.node or one.accelerator}: {one.rate:,.4g} {one.rate_of}")  # fmt: skip
