"""``dse compare``: two finished runs, what differs in the answers and in what they follow from."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dse.commands.options import Json
from dse.commands.terminal import console
from dse.console_table import Column, console_table, numbers

if TYPE_CHECKING:
    from dse.report.differences import Line


def compare(
    run_a: Annotated[Path, typer.Argument(help="Folder of a finished run.", show_default=False)],
    run_b: Annotated[Path, typer.Argument(help="Folder of another.", show_default=False)],
    json: Json = False,
) -> None:
    """Compare two runs: one table of what differs in the answers and in what they follow from."""
    from dse.report import json_form
    from dse.report.differences import compared
    from dse.report.document_files import read_document

    found = compared(read_document(run_a), read_document(run_b), (str(run_a), str(run_b)))
    if json:
        print(json_form.text(found))
        return
    print(f"A: {found.a}, study {found.studies[0]}, of {found.created[0][:10]}")
    print(f"B: {found.b}, study {found.studies[1]}, of {found.created[1][:10]}")
    print(found.most)
    print_differences(("A", "B"), [*found.inputs, *found.answer])


def print_differences(heads: tuple[str, str], lines: Iterable[Line]) -> None:
    """Print a table with a row for each fact that differs."""
    from rich.text import Text

    rows = [list(map(Text, line.cells)) for line in lines if line.differs]
    columns = [Column(head, folded=True) for head in ("differs", *heads)]
    if rows:
        print()
        console().print(console_table([*columns, *numbers("change")], rows, framed=False))
