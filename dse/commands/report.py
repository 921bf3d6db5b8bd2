"""``dse report``: the report of a finished run or fleet, rebuilt from its document."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    folder: Annotated[Path, typer.Argument(help="Folder of a finished run.")],
    pdf: Annotated[bool, typer.Option("--pdf", help="Print it as a PDF, too; needs Chromium.")] = (
        False
    ),
) -> None:
    """Rebuild the report of a finished run, or of a fleet, from its run.json or fleet.json."""
    from dse.report.pdf import PDF, found_browser, print_page

    if pdf:
        found_browser()  # before anything is written
    page = rebuilt(folder)
    print(f"wrote {page}")
    if pdf:
        print(f"wrote {print_page(page, page.parent / PDF)}")


def rebuilt(folder: Path) -> Path:
    """Write a report again, a fleet's or another, from its document in ``folder``.

    Returns the path of its page. ``folder`` may also be the document itself.
    """
    from dse.report import document_files, write

    path = document_files.document_path(folder)
    if path.name != document_files.FLEET:
        return write.write_report(document_files.read_document(path), path.parent)
    return write.write_fleet(document_files.read_fleet_document(path), path.parent)
