"""``dse calibrate``: measure, read others' logs, fit, predict, compare."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dse.terminal import console, print_json

calibrate = typer.Typer(
    help="Measure allreduce, fit what one message costs, and predict with it.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@calibrate.command("run")
def calibrate_run(
    out: Annotated[Path, typer.Option(help="Folder for both files.")] = Path("calibrations"),
    name: Annotated[str, typer.Option(help="Name of the profile.")] = "this-machine",
    budget: Annotated[float, typer.Option(help="Seconds to measure.")] = 60.0,
    ranks: Annotated[str, typer.Option(help="Rank counts to measure.")] = "2,3,4,8",
) -> None:
    """Measure allreduce with real MPI ranks on this machine, and fit a profile."""
    from dse.session import calibrate_machine

    calibrate_machine(out, name, budget, ranks)


@calibrate.command("fit")
def calibrate_fit(
    measurements: Annotated[list[Path], typer.Argument(help="Measurement files.")],
    out: Annotated[Path, typer.Option(help="The profile to write.")],
) -> None:
    """Fit a profile to measurements made earlier."""
    from dse.session import fit_profile

    fit_profile(measurements, out)


@calibrate.command("show")
def calibrate_show(
    profile: Annotated[Path, typer.Argument(help="A profile.")], json: Json = False
) -> None:
    """Print a profile: parameters with intervals, range of validity, held-out errors."""
    from dse.calibration import profile_data, read_profile, show_profile

    found = read_profile(profile)
    if json:
        print_json(profile_data(found))
        return
    show_profile(found, console())
