"""Writing a fleet's report: index.html, report.md and fleet.json, all or none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dse.report.fleet_page import render_markdown, render_page
from dse.report.words import Document
from dse.report.write import checked_document, free_name, put

DOCUMENT = "fleet.json"
# Every key the page needs, so that a document of another origin is refused in one line.
NEEDED = frozenset(
    ("classes", "command", "created", "description", "fleet", "hardware", "hash", "money",
     "most_sensitive", "named", "overlap", "path", "population", "ports", "sensitivity", "sources",
     "study_text", "timings", "upgrades", "versions", "whole")
)  # fmt: skip
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


def is_fleet_report(place: Path) -> bool:
    """Whether this is a fleet's document, or a folder with one and none of an ordinary run."""
    if place.is_dir():
        return (place / DOCUMENT).is_file() and not (place / "run.json").exists()
    return place.name == DOCUMENT


def read_fleet_document(place: Path, version: str) -> dict[str, Any]:
    """The fleet.json of a report, of that ``format``. Raises :class:`~dse.errors.StudyError`."""
    path = place / DOCUMENT if place.is_dir() else place
    return checked_document(path, "format", version, NEEDED)


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
