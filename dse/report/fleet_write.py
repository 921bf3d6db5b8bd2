"""Writing a fleet's report: index.html, report.md and fleet.json, all or none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dse.report.document_files import FLEET as DOCUMENT
from dse.report.document_files import checked_document, document_path
from dse.report.fleet_page import render_markdown, render_page
from dse.report.words import Document
from dse.report.write import free_name, put

# Every key the page needs, so that a document of another origin is refused in one line.
NEEDED = frozenset(
    ("classes", "command", "created", "description", "fleet", "hardware", "hashes", "money",
     "most_sensitive", "named", "overlap", "path", "population", "ports", "sensitivity", "sources",
     "study_text", "timings", "upgrades", "versions", "whole")
)  # fmt: skip
FILES = (DOCUMENT, "report.md", "index.html")


def write_fleet(document: Document, folder: Path) -> Path:
    """Write the files of a fleet's report into ``folder``; returns the page's path.

    A report of another study or other jobs is copied to :func:`earlier_fleet` before. Raises
    :class:`~dse.errors.OutputError`; what was in the folder before is then untouched.
    """
    contents = {
        DOCUMENT: json.dumps(document, indent=1, allow_nan=False) + "\n",
        "report.md": render_markdown(document),
        "index.html": render_page(document),
    }

    put(contents, FILES, folder, earlier_fleet(folder, document))
    return folder / "index.html"


def read_fleet_document(place: Path, version: str) -> dict[str, Any]:
    """The fleet.json of a report, of that ``format``. Raises :class:`~dse.errors.StudyError`."""
    return checked_document(document_path(place, (DOCUMENT,)), "format", version, NEEDED)


def earlier_fleet(folder: Path, document: Document) -> Path | None:
    """Where the report that lies in ``folder`` is kept, if it is of another study than
    ``document``, of another version of it, or of other content of its population or price list;
    None if it is of the same, or there is none.
    """
    path = folder / DOCUMENT
    if not path.is_file():
        return None
    try:
        found = json.loads(path.read_text(encoding="utf-8"))["hashes"]
    except (OSError, ValueError, KeyError, TypeError):
        found = None  # whatever it is, it is not ours to drop
    return None if found == document["hashes"] else free_name(folder)
