"""``dse schema``: the JSON Schema of study files."""

from __future__ import annotations

from typing import Annotated

import typer

from dse.commands.terminal import print_json


def schema(
    fleet: Annotated[
        bool, typer.Option("--fleet", help="Print the schema of a fleet study.")
    ] = False,
    axes: Annotated[
        bool, typer.Option("--axes", help="Print the axes of a study as a table in Markdown.")
    ] = False,
) -> None:
    """Print the JSON Schema of a study file."""
    from dse.study.axes import axes_table

    if axes:
        print(axes_table())
        return
    from dse.fleet.schema import fleet_schema
    from dse.pricing.load import known_names
    from dse.study.schema import study_schema

    print_json(fleet_schema() if fleet else study_schema(known_names()))
