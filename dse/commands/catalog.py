"""``dse catalog``: what is known, with its sources, and what else comes with dse."""

from __future__ import annotations

from typing import Annotated

import typer

from dse.commands.entry_kinds import kind_named, kinds
from dse.commands.options import Json
from dse.commands.terminal import console, print_json


def catalog(
    kind: Annotated[
        str | None,
        typer.Argument(
            help="Kind of entry: accelerators, fabrics, nodes, workloads, studies, profiles, ...",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Argument(help="Name of one entry."),
    ] = None,
    json: Json = False,
    yaml: Annotated[bool, typer.Option("--yaml", help="Print the file of NAME as it is.")] = False,
) -> None:
    """Show the catalogue: hardware, workloads, prices, studies and calibration profiles."""
    from dse.errors import ArgumentError

    if yaml and (name is None or kind is None or json):
        problem = "prints the file of one entry" if not json else "and --json are two forms"
        remedy = "write for example dse catalog studies llama3-8b-h100-b200 --yaml"
        raise ArgumentError("--yaml", problem, remedy)
    if yaml and kind is not None and name is not None:
        print(kind_named(kind).find(name).read_text(encoding="utf-8"), end="")
    elif kind is None:
        _show_kinds(json)
    elif json:
        found = kind_named(kind)
        print_json(found.rows() if name is None else found.data(name))
    elif name is None:
        kind_named(kind).render_all(console())
    else:
        kind_named(kind).render(name, console())


def _show_kinds(json: bool) -> None:
    """Print the kinds, and how many entries each has."""
    from dse.catalog.show import render_kinds

    rows = [{"kind": word, "entries": len(kind.names())} for word, kind in kinds().items()]
    if json:
        print_json(rows)
    else:
        render_kinds(console(), rows)
