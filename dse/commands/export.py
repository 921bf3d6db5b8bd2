"""``dse export``: a finished run for other programs: tables, launchers, an Optuna storage."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dse.commands.plan import POINTS
from dse.errors import ArgumentError, DseError
from dse.spelling import meant

TABLES = (".csv", ".parquet", ".xlsx")


def export(
    folder: Annotated[Path, typer.Argument(help="Folder of a finished run.")],
    out: Annotated[
        str,
        typer.Argument(
            help="FILE.csv, FILE.parquet or FILE.xlsx; sqlite:///FILE.db or "
            "postgresql://USER@HOST/DATABASE for optuna-dashboard."
        ),
    ],
    every: Annotated[
        bool,
        typer.Option("--all", help="Every feasible point, not the front alone (of a table)."),
    ] = False,
    front: Annotated[
        bool, typer.Option("--front", help="Only the front, not every point that was priced.")
    ] = False,
) -> None:
    """Write a finished run as a table, or into an Optuna storage."""
    if Path(out).suffix in TABLES and "://" not in out:
        if front and every:
            raise ArgumentError("--front", "contradicts --all", "drop one")
        print(export_to_table(folder, Path(out), every))
        return
    if "://" not in out:
        ending = Path(out).suffix
        remedy = meant(ending, TABLES, f"end it in {', '.join(TABLES)}, or name a storage such as "
                       "sqlite:///FILE.db")  # fmt: skip
        raise ArgumentError("OUT", f"'{out}' is no table and no storage", remedy)
    if every:
        raise ArgumentError("--all", "is of tables; a storage has all that was priced", "drop it")
    print(export_run(folder, out, front))


def export_to_table(folder: Path, path: Path, every: bool) -> str:
    """Write a finished run as a table; returns a line about it."""
    from dse.report.document_files import read_document
    from dse.report.export_table import export_table

    return export_table(read_document(folder), path, every)


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
