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
    from dse.api import rebuild_report
    from dse.report.pdf import found_browser, print_page
    from dse.report.write import PDF

    if pdf:
        found_browser()  # before anything is written
    page = rebuild_report(folder)
    print(f"wrote {page}")
    if pdf:
        print(f"wrote {print_page(page, page.parent / PDF)}")
