"""``dse compare``: two finished runs, what changed between them and why."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dse.commands.options import Json


def compare(
    run_a: Annotated[Path, typer.Argument(help="Folder of a finished run.", show_default=False)],
    run_b: Annotated[Path, typer.Argument(help="Folder of another.", show_default=False)],
    json: Json = False,
) -> None:
    """Compare two runs: the answers, and what differs in what they follow from."""
    from dse.report import json_form
    from dse.report.comparison_of_runs import compared
    from dse.report.comparison_words import lines
    from dse.report.document_files import read_document

    found = compared(read_document(run_a), read_document(run_b), (str(run_a), str(run_b)))
    print(json_form.text(found) if json else "\n".join(lines(found)))
