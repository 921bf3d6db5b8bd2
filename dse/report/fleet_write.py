"""Writing a fleet's report: report.html, report.md and fleet.json, all or none."""

from __future__ import annotations

import json
from pathlib import Path

from dse.errors import StudyError
from dse.fleet.document import FORMAT, FleetDocument, from_plain, plain
from dse.report.document_files import FLEET as DOCUMENT
from dse.report.document_files import checked_document, document_path, sealed
from dse.report.fleet_page import render_markdown, render_page
from dse.report.pdf import PDF
from dse.report.write import PAGE, free_name, put

FILES = (DOCUMENT, "report.md", PAGE, PDF)


def write_fleet(document: FleetDocument, folder: Path) -> Path:
    """Write the files of a fleet's report into ``folder``; returns the page's path.

    A report of another study or other jobs is copied to :func:`earlier_fleet` before. Raises
    :class:`~dse.errors.OutputError`; what was in the folder before is then untouched.
    """
    contents = {
        DOCUMENT: sealed(plain(document)),
        "report.md": render_markdown(document),
        PAGE: render_page(document),
    }
    put(contents, FILES, folder, earlier_fleet(folder, document))
    return folder / PAGE


def read_fleet_document(place: Path) -> FleetDocument:
    """The fleet.json of a report. Raises :class:`~dse.errors.StudyError`."""
    path = document_path(place, (DOCUMENT,))
    found = checked_document(path, "format", FORMAT)
    try:
        return from_plain(found)
    except ValueError as cause:
        raise StudyError(str(path), 0, 0, str(cause), "run the study again") from None


def earlier_fleet(folder: Path, document: FleetDocument) -> Path | None:
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
    return None if found == document.hashes else free_name(folder)
