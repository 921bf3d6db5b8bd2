"""``dse calibrate suggest``: what to measure next for a study."""

from __future__ import annotations

from typing import Annotated

import typer

from dse.commands.calibrate.profiles import PROFILE, named_profile
from dse.commands.options import Json
from dse.commands.terminal import console, print_json


def suggest(
    profile: Annotated[str, typer.Argument(help=PROFILE)],
    study: Annotated[str, typer.Option(help="The study whose intervals should be narrowed.")],
    budget: Annotated[
        float, typer.Option(help="Seconds that the suggested runs may take together.")
    ] = 60.0,
    max_nodes: Annotated[
        int | None,
        typer.Option(min=1, help="Largest possible number of nodes [default: the most measured]."),
    ] = None,
    max_ranks_per_node: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Largest possible number of ranks on one node [default: the most measured; on "
            "CPUs, the number of cores if that is larger].",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Suggest the next runs, those that narrow a study's intervals the most."""
    from dse.calibration import arguments
    from dse.calibration.planning.advice import advice_data, show_advice
    from dse.pricing.messages import advise

    arguments.check_budget(budget)
    found = named_profile(profile)
    advice = advise(found, study, budget, max_nodes, max_ranks_per_node)
    if json:
        print_json(advice_data(advice))
        return
    show_advice(found, advice, budget, console())
