"""``dse catalog``: what is known, with its sources, and what else comes with dse."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dse.commands.options import Json
from dse.commands.shipped import KINDS as SHIPPED
from dse.commands.study_names import entries_beginning, kinds_beginning
from dse.commands.terminal import console, print_json


def catalog(
    kind: Annotated[
        str | None,
        typer.Argument(
            help="Kind of entry: accelerators, fabrics, nodes, workloads, studies, profiles, ...",
            autocompletion=kinds_beginning,
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Argument(help="Name of one entry.", autocompletion=entries_beginning),
    ] = None,
    json: Json = False,
    yaml: Annotated[bool, typer.Option("--yaml", help="Print the file of NAME as it is.")] = False,
) -> None:
    """Show the catalogue: hardware, workloads, prices, studies and calibration profiles."""
    from dse.errors import ArgumentError

    if yaml and (name is None or kind is None or json):
        problem = "prints the file of one entry" if not json else "and --json are two forms"
        remedy = "write for example dse catalog studies ethernet-upgrade --yaml"
        raise ArgumentError("--yaml", problem, remedy)
    if yaml and kind is not None and name is not None:
        print(_file(kind, name).read_text(encoding="utf-8"), end="")
    elif json:
        print_json(_data(kind, name))
    else:
        _render(kind, name)


def _data(kind: str | None, name: str | None) -> Any:
    from dse.catalog import show

    if kind is None:
        beside = [{"kind": word, "entries": len(of.files())} for word, of in SHIPPED.items()]
        return [*show.kinds_data(), *beside]
    if kind in SHIPPED:
        found = SHIPPED[kind]
        return found.rows() if name is None else found.data(found.find(name))
    _check_kind(kind)
    return show.kind_data(kind) if name is None else show.entry_data(kind, name)


def _render(kind: str | None, name: str | None) -> None:
    from dse.catalog import show

    screen = console()
    if kind is None:
        show.render_kinds(screen, _data(None, None))
    elif kind in SHIPPED:
        found = SHIPPED[kind]
        if name is None:
            found.render_all(screen, kind)
        else:
            found.render(found.find(name), screen)
    elif name is None:
        _check_kind(kind)
        show.render_kind(screen, kind)
    else:
        _check_kind(kind)
        show.render_entry(screen, kind, name)


def _check_kind(kind: str) -> None:
    """Raise for a kind that is none, where one of :data:`SHIPPED` or an entry of it is meant."""
    from dse.catalog.store import KINDS, UnknownName, entries_like
    from dse.spelling import alike

    if kind in KINDS:
        return
    near = alike(kind, (*KINDS, *SHIPPED))
    exact = [f"{word} {kind}" for word, of in SHIPPED.items() if kind in of.files()]
    known = exact or near or entries_like(kind)
    raise UnknownName("kind of catalogue entry", kind, tuple(known or (*KINDS, *SHIPPED)))


def _file(kind: str, name: str) -> Path:
    """The file of an entry. Raises ArgumentError for one that is a row of a table."""
    from dse.catalog import resolve
    from dse.catalog.store import TABLES, find
    from dse.errors import ArgumentError

    if kind in SHIPPED:
        return SHIPPED[kind].find(name)
    _check_kind(kind)
    path = find(kind, resolve(kind, name))
    if kind in TABLES:
        raise ArgumentError("--yaml", f"{kind} are rows of a table, {path.name}", "use --json")
    return path
