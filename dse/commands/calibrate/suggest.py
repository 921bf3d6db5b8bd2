"""``dse calibrate suggest``: what to measure next for a study."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from dse.commands.calibrate.profiles import PROFILE, named_profile
from dse.commands.options import Json
from dse.commands.terminal import console, print_json


def suggest(
    profile: Annotated[
        str, typer.Argument(help=f"{PROFILE} Or a study of layouts, whose stack is to be measured.")
    ],
    study: Annotated[
        str | None, typer.Option(help="The study whose intervals should be narrowed.")
    ] = None,
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
    """Suggest the next runs, those that narrow a study's intervals the most.

    Of a study of layouts alone: three runs that tell how long its stack's host takes and what it
    hides, for import-throughput.
    """
    from dse.calibration import arguments
    from dse.calibration.planning import TARGET, show_advice
    from dse.pricing.messages import advise

    if study is None:
        _suggest_layouts(profile, json)
        return
    arguments.check_budget(budget)
    found = named_profile(profile)
    advice = advise(found, study, budget, max_nodes, max_ranks_per_node)
    if json:
        more = {"enough": advice.enough, "cost_s": advice.cost_s, "target": TARGET}
        print_json(asdict(advice) | more)
        return
    show_advice(found, advice, budget, console())


def _suggest_layouts(study: str, json: bool) -> None:
    """Print the three runs of a study of layouts, as a table for import-throughput."""
    from dse.errors import ArgumentError
    from dse.pricing.layout_choice import telling
    from dse.pricing.load import load

    problem = load(study)
    if not problem.study.laid_out:
        raise ArgumentError("--study", "is missing", "give a profile and the study to narrow")
    runs = [*telling(problem)]
    if json:
        print_json([{name: str(value) for name, value in run.items()} for run in runs])
        return
    names = dict.fromkeys(name for run in runs for name in run)
    print("Measure these, write seconds under step_s: dse calibrate import-throughput FILE")
    for row in (names, *([str(run.get(name, "")) for name in names] for run in runs)):
        print(",".join((*row, "step_s" if row is names else "")))
