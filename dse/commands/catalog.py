"""``dse catalog``: what is known, with its sources."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dse.commands.options import Json
from dse.commands.terminal import console, print_json


def catalog(
    kind: Annotated[
        str | None, typer.Argument(help="Kind of entry: accelerators, fabrics, nodes, ...")
    ] = None,
    name: Annotated[str | None, typer.Argument(help="Name of one entry.")] = None,
    json: Json = False,
) -> None:
    """Show the catalogue: hardware, workloads and prices, with units and sources."""
    from dse.catalog import show

    if json:
        data: Any = show.kinds_data()
        if kind is not None:
            data = show.kind_data(kind) if name is None else show.entry_data(kind, name)
        print_json(data)
        return
    screen = console()
    if kind is None:
        show.render_kinds(screen)
    elif name is None:
        show.render_kind(screen, kind)
    else:
        show.render_entry(screen, kind, name)
