"""``dse export``: a finished run as a study of an Optuna storage."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dse.commands.plan import POINTS
from dse.errors import DseError


def export(
    folder: Annotated[Path, typer.Argument(help="Folder of a finished run.")],
    storage: Annotated[
        str, typer.Argument(help="sqlite:///FILE.db, or postgresql://USER@HOST/DATABASE.")
    ],
    front: Annotated[
        bool, typer.Option("--front", help="Only the front, not every point that was priced.")
    ] = False,
) -> None:
    """Write a finished run into an Optuna storage, for optuna-dashboard."""
    print(export_run(folder, storage, front))


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
