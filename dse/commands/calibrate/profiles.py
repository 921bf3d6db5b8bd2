"""Commands that read a profile: ``dse calibrate show``, ``predict`` and ``compare``; and a profile
as the user names it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from dse.commands.options import Json
from dse.commands.terminal import console, print_json
from dse.errors import ArgumentError

if TYPE_CHECKING:
    from dse.calibration import Profile

RanksPerNode = Annotated[
    int | None, typer.Option(min=1, help="Ranks on each full node [default: as measured].")
]
Algorithm = Annotated[
    str | None,
    typer.Option(
        help="ring, tree, ..., or auto for the library's own choice [default: what was measured]."
    ),
]
PROFILE = "A profile: its path, or its name in ./calibrations or among those that come with dse."


def named_profile(given: str) -> Profile:
    """A profile by its path, or by its name in ./calibrations or among those that come with dse."""
    from dse import catalog
    from dse.calibration import read_profile
    from dse.calibration.profile_files import find_profile

    return read_profile(find_profile(given, catalog.models_dir() / "calibrations"))


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
    from dse.calibration.prediction_table import prediction_records, prediction_table

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
    for reason in dict.fromkeys(record["why"] for record in records if record["why"]):
        screen.print(f"- {reason}", markup=False, highlight=False)


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
