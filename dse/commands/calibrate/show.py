"""``dse calibrate show``: the contents of a profile."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dse.commands.calibrate.profiles import PROFILE, named_profile
from dse.commands.options import Json
from dse.commands.terminal import console, print_json
from dse.errors import StudyError


def show(
    profile: Annotated[str, typer.Argument(help=PROFILE)],
    file: Annotated[
        Path | None, typer.Argument(help="With --plot: the .html file to write.")
    ] = None,
    plot: Annotated[
        bool,
        typer.Option("--plot", help="Plot measured and predicted times, here or in FILE."),
    ] = False,
    json: Json = False,
) -> None:
    """Print a profile: parameters with intervals, range of validity, held-out errors."""
    from dse.calibration import profile_data, show_profile
    from dse.calibration.plot import print_plot

    if file is not None and not plot:
        raise StudyError(str(file), 0, 0, "only --plot writes a file", "add --plot")
    found = named_profile(profile)
    if file is not None:
        from dse.report.profile_page import write_plot

        print(f"wrote {write_plot(found, file)}")
    elif json:
        print_json(profile_data(found))
    else:
        show_profile(found, console())
        if plot:
            print_plot(found, console())
