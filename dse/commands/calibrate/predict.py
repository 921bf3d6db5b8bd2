"""``dse calibrate predict``: communication times predicted by a profile."""

from __future__ import annotations

from typing import Annotated

import typer

from dse.commands.calibrate.profiles import PROFILE, Algorithm, RanksPerNode, named_profile
from dse.commands.options import Json
from dse.commands.terminal import console, print_json
from dse.errors import ArgumentError


def predict(
    profile: Annotated[str, typer.Argument(help=PROFILE)],
    ranks: Annotated[str, typer.Option(help="Rank counts, such as 8,128.")],
    bytes: Annotated[str, typer.Option("--bytes", help="Message sizes, such as 4KiB,1MiB,1GiB.")],
    ranks_per_node: RanksPerNode = None,
    algorithm: Algorithm = None,
    servers: Annotated[
        str | None,
        typer.Option(
            help="Numbers of parameter servers for --algorithm ps, such as 1,2 [default: 1]."
        ),
    ] = None,
    link_bandwidth: Annotated[
        str | None,
        typer.Option(
            help="Network speed of each node in one direction, such as '25 Gbps' [default: as "
            "measured]."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Predict communication times, and mark those outside the measured range.

    Predicts an allreduce, or a push and pull with parameter servers.
    """
    from dse.calibration import arguments
    from dse.calibration.prediction_table import (
        prediction_records,
        prediction_table,
        unpriced_reasons,
    )

    counts, sizes = arguments.counts(ranks, "--ranks"), arguments.sizes(bytes)
    speed = arguments.link_speed(link_bandwidth)
    found = named_profile(profile)
    counted = None if servers is None else arguments.counts(servers, "--servers")
    names: tuple[str, ...]
    if served := arguments.server_algorithm(found, algorithm, counted):
        if ranks_per_node is not None:
            problem, remedy = "does not apply to parameter servers", "leave it out"
            raise ArgumentError("--ranks-per-node", problem, remedy)
        names, counted = (served,), counted or (1,)
    else:
        names = arguments.algorithms(found, algorithm)
    records = prediction_records(found, names, counts, ranks_per_node, sizes, speed, counted or ())
    if json:
        print_json(records)
        return
    screen = console()
    screen.print(prediction_table(found, records))
    for reason in unpriced_reasons(records):
        screen.print(f"- {reason}", markup=False, highlight=False)
