"""``dse calibrate compare``: which of two profiles is faster at which sizes."""

from __future__ import annotations

from typing import Annotated

import typer

from dse.commands.calibrate.profiles import PROFILE, Algorithm, RanksPerNode, named_profile
from dse.commands.options import Json
from dse.commands.terminal import console, print_json


def compare(
    a: Annotated[str, typer.Argument(help=PROFILE)],
    b: Annotated[str, typer.Argument(help="The profile to compare it with, given likewise.")],
    ranks: Annotated[
        str | None,
        typer.Option(
            help="Rank counts to compare at, such as 8,128 [default: those that both measured]."
        ),
    ] = None,
    ranks_per_node: RanksPerNode = None,
    bytes: Annotated[
        str | None,
        typer.Option(
            "--bytes",
            help="Message sizes to compare at, such as 4KiB,1GiB [default: the range that both "
            "measured].",
        ),
    ] = None,
    algorithm: Algorithm = None,
    json: Json = False,
) -> None:
    """Compare two profiles: which is faster at which sizes, and by how much."""
    from dse.calibration import arguments
    from dse.calibration import comparison as comparing

    counts = None if ranks is None else arguments.counts(ranks, "--ranks")
    sizes = None if bytes is None else arguments.sizes(bytes)
    both = named_profile(a), named_profile(b)
    found = comparing.compare(*both, counts, ranks_per_node, sizes, algorithm)
    if json:
        print_json(found.data())
        return
    comparing.show_comparison(found, console())
