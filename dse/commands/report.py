"""``dse report``: the report of a finished run or fleet, rebuilt from its document."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(folder: Annotated[Path, typer.Argument(help="Folder of a finished run.")]) -> None:
    """Rebuild the report of a finished run, or of a fleet, from its run.json or fleet.json."""
    print(f"wrote {rebuilt(folder)}")


def rebuilt(folder: Path) -> Path:
    """Write a report again, a fleet's or another, from its document in ``folder``.

    Returns the path of its page. ``folder`` may also be the document itself.
    """
    from dse.report.document_files import FLEET, document_path, read_document

    path = document_path(folder)
    if path.name != FLEET:
        from dse.report.write import write_report

        return write_report(read_document(path), path.parent)
    from dse.report.fleet_write import read_fleet_document, write_fleet

    return write_fleet(read_fleet_document(path), path.parent)
