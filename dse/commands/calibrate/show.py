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
    from dse.pricing.load import of_layouts

    found = named_profile(profile)
    told = of_layouts(found).own_layouts.kinds if found.layouts else {}
    if json:
        factors = [{"stack": stack, "generation": generation, "factors": dict(one.factors)}
                   for (stack, generation), one in told.items()]  # fmt: skip
        print_json(profile_data(found) | {"layout_factors": factors})
        return
    show_profile(found, console())
    for (stack, generation), one in told.items():
        factors_text = ", ".join(f"{name} {factor:.3g}" for name, factor in one.factors.items())
        print(f"{stack} on {generation}, times as large: {factors_text}; steps are left off by "
              f"{one.left:.1%}")  # fmt: skip
