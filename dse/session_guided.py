"""What the commands do for a guided search beside it: its start, its table, its export."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from dse.errors import DseError, OutputError

if TYPE_CHECKING:
    from dse.pricing.problem import Problem
    from dse.search.guided import Archive, Guide

POINTS = "points.csv"


def sampler_line(sampler: str, budget: int, objectives: int = 2) -> str:
    """Which sampler proposes points, and why, to be read after why the search is guided."""
    from dse.search.guided import NAMES, choose_sampler

    chosen, why = choose_sampler(sampler, budget, objectives)
    return f"points are proposed by {NAMES[chosen]}: {why}"


def warm_guide(problem: Problem, sampler: str, folder: Path | None) -> tuple[Guide, str]:
    """How a search begins, and a line about it (empty without a folder of an earlier run)."""
    from dse.pricing import load
    from dse.report.document_files import read_document
    from dse.search.guided import Guide, Points, warm

    if folder is None:
        return Guide(sampler), ""
    document = read_document(folder)
    configs = [point.config for point in document.front]
    points, dropped = warm.mapped(Points(problem.study), configs, load.known_names())
    line = f"warm start: {len(points)} points of the front in {folder} are priced first"
    if dropped:
        line += f"; {dropped} have values that this study does not have"
    return Guide(sampler, tuple(points)), line


def keep_points(archive: Archive | None, problem: Problem, folder: Path) -> None:
    """Write every point that a guided search priced beside its report.

    A table of an earlier guided run goes when another engine has run here since.
    """
    from dse.search.guided import table
    from dse.search.run import labels_of

    path = folder / POINTS
    try:
        if archive is None:
            path.unlink(missing_ok=True)
            return
        labels = [labels_of(problem, archive.space.values(point)) for point in archive.points]
        handle, beside = tempfile.mkstemp(prefix=f".{POINTS}-", dir=folder)
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(table.points_csv(archive, labels))
        Path(beside).chmod(0o644)
        os.replace(beside, path)
    except OSError as cause:
        raise OutputError(f"{path}: cannot be written: {cause.strerror}") from cause


def export_run(folder: Path, storage: str, only_front: bool) -> str:
    """Write a finished run into an Optuna storage; returns a line about it."""
    from dse.report.document_files import read_document
    from dse.report.json_form import plain
    from dse.search.guided import export

    document = plain(read_document(folder))
    path = (folder if folder.is_dir() else folder.parent) / POINTS
    rows = None
    if path.is_file() and not only_front:
        try:
            rows = export.read_rows(path.read_text(encoding="utf-8"), document)
        except (OSError, ValueError) as cause:
            raise DseError(f"{path}: is not the table of this run; use --front") from cause
    name, count = export.export(document, rows, storage)
    what = "points" if rows is not None else "points of the front"
    return f"wrote {count:,} {what} to the study '{name}' of {export.without_password(storage)}"
