"""Writing a fleet's report: index.html, report.md and fleet.json, all or none."""

from __future__ import annotations

import json
from pathlib import Path

from dse.report.fleet_page import render_markdown, render_page
from dse.report.words import Document
from dse.report.write import free_name, put

DOCUMENT = "fleet.json"
FILES = (DOCUMENT, "report.md", "index.html")


def write_fleet(document: Document, folder: Path) -> Path:
    """Write the files of a fleet's report into ``folder``; returns the page's path.

    A report of another study is copied to :func:`earlier_fleet` before. Raises
    :class:`~dse.errors.OutputError`; what was in the folder before is then untouched.
    """
    contents = {
        DOCUMENT: json.dumps(document, indent=1, allow_nan=False) + "\n",
        "report.md": render_markdown(document),
        "index.html": render_page(document),
    }

    put(contents, FILES, folder, earlier_fleet(folder, document))
    return folder / "index.html"


def earlier_fleet(folder: Path, document: Document) -> Path | None:
    """Where the report that lies in ``folder`` is kept, if it is of another study than
    ``document`` or of another version of it; None if it is of the same, or there is none.
    """
    path = folder / DOCUMENT
    if not path.is_file():
        return None
    try:
        found = json.loads(path.read_text(encoding="utf-8"))["hash"]
    except (OSError, ValueError, KeyError, TypeError):
        found = None  # whatever it is, it is not ours to drop
    return None if found == document["hash"] else free_name(folder)
