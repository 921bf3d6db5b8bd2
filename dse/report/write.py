"""Writing a report: all files or none, and never over a good one with half of a new one."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from dse.errors import OutputError
from dse.report import bills, json_form, page, provenance
from dse.report.document import RunDocument
from dse.report.document_files import FLEET, RUN, TABLES, sealed
from dse.report.front_columns import csv_text, front_columns
from dse.search.runlog import sync_folder

if TYPE_CHECKING:
    from dse.fleet.document import FleetDocument

PAGE = "report.html"  # of a fleet's report, too
PDF = "report.pdf"  # beside the page, unless another name is asked for
BILLS = "bom.csv"
SOURCES = "sources.csv"
STAGING = ".report-"


def write_report(document: RunDocument, folder: Path) -> Path:
    """Write the files of a report into ``folder``; returns the page's path.

    Everything is written beside its place first. A report of another study is copied to
    :func:`earlier_report` before. Raises :class:`OutputError` if any of it fails (no space, no
    permission), and what was in the folder before is then untouched.
    """
    written = json_form.plain(document)
    document = json_form.parsed(RunDocument, written)  # all files say what can be read again
    contents = {
        RUN: sealed({**written, **{name: json_form.by_column(written[name]) for name in TABLES}}),
        "front.csv": csv_text(front_columns(document)),
        BILLS: bills.bills_csv(document),
        SOURCES: csv_text(provenance.source_columns(document)),
        "report.md": page.render_markdown(document),
        PAGE: page.render_page(document),
    }
    return _put(contents, folder, earlier_report(folder, document))


def write_fleet(document: FleetDocument, folder: Path) -> Path:
    """Write the files of a fleet's report, as :func:`write_report`."""
    from dse.fleet import from_plain, plain
    from dse.report.fleet_page import render_markdown, render_page

    written = plain(document)
    document = from_plain(written)
    contents = {
        FLEET: sealed(written),
        "report.md": render_markdown(document),
        PAGE: render_page(document),
    }
    return _put(contents, folder, earlier_report(folder, document))


def check_free_of(other: str, folder: Path) -> None:
    """Raise :class:`OutputError` where a folder has the report of the ``other`` kind of document,
    of a run or of a fleet: their pages have the same name."""
    if (folder / other).is_file():
        kind = "fleet" if other == FLEET else "run"
        raise OutputError(f"{folder} has the report of a {kind}; name another folder by --out")


def _put(contents: Mapping[str, str], folder: Path, earlier: Path | None) -> Path:
    """Write files, by name, into ``folder``, all or none, and remove a printed page of another
    report; returns the page's path. What was there under these names is copied to ``earlier``
    before, if that is given. Raises :class:`OutputError`.
    """
    staging: Path | None = None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for left in folder.glob(f"{STAGING}*"):  # by a run that was killed
            shutil.rmtree(left, ignore_errors=True)
        staging = Path(tempfile.mkdtemp(prefix=STAGING, dir=folder))
        for name, text in contents.items():
            with (staging / name).open("w", encoding="utf-8", newline="") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
        if earlier is not None:
            _copy(folder, earlier, (*contents, PDF))
        for name in contents:  # renaming needs no space: from here on it does not fail half-way
            os.replace(staging / name, folder / name)
        (folder / PDF).unlink(missing_ok=True)  # left from a run that asked for it
        sync_folder(folder)  # the run log goes only once the report's names are on the disk
    except OSError as cause:
        raise OutputError(
            f"{folder}: the report cannot be written: {cause.strerror}; the previous one is intact"
        ) from cause
    finally:
        if staging is not None:
            shutil.rmtree(staging, ignore_errors=True)
    return folder / PAGE


def earlier_report(folder: Path, document: RunDocument | FleetDocument) -> Path | None:
    """Where the report that lies in ``folder`` is kept, if it is of another study than ``document``
    or of another version of it, or a fleet's of other content of its population or price list:
    FOLDER.1, or the first number that is free. None if it is of the same, or there is none.
    """
    if isinstance(document, RunDocument):
        path, hashes = folder / RUN, {"study": document.hashes.study}
    else:
        path, hashes = folder / FLEET, {**document.hashes}
    if not path.is_file():
        return None
    try:
        found = json.loads(path.read_text(encoding="utf-8"))["hashes"]
        same = all(found[name] == value for name, value in hashes.items())
    except (OSError, ValueError, KeyError, TypeError):
        same = False  # whatever it is, it is not ours to drop
    return None if same else free_name(folder)


def free_name(folder: Path) -> Path:
    """FOLDER.1, or the first number that is free."""
    place = folder.resolve() if folder.name in ("", "..") else folder
    numbered = (place.with_name(f"{place.name}.{number}") for number in count(1))
    return next(path for path in numbered if not os.path.lexists(path))


def _copy(folder: Path, target: Path, files: Iterable[str]) -> None:
    """Copy those files of a report that are there, all or none."""
    staging = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        for name in files:
            if (folder / name).is_file():
                shutil.copy2(folder / name, staging / name)
        staging.chmod(0o755)
        os.replace(staging, target)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
