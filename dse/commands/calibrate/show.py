"""``dse calibrate show``: the contents of a profile."""

from __future__ import annotations

from typing import Annotated

import typer

from dse.commands.calibrate.profiles import PROFILE, named_profile
from dse.commands.options import Json
from dse.commands.terminal import console, print_json


def show(
    profile: Annotated[str, typer.Argument(help=PROFILE)],
    json: Json = False,
) -> None:
    """Print a profile: parameters with intervals, range of validity, held-out errors."""
    from dse.calibration import profile_data, show_profile

    found = named_profile(profile)
    if json:
        print_json(profile_data(found))
    else:
        show_profile(found, console())
