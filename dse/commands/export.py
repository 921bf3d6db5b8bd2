"""``dse export``: a finished run for other programs: tables, launchers, an Optuna storage."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from dse.errors import ArgumentError, DseError
from dse.plan import POINTS
from dse.spelling import meant

LAUNCHERS = ("skypilot", "slurm", "torchrun", "megatron", "torchtitan", "deepspeed", "nanotron")
STARTS = f"What starts a point: {', '.join(LAUNCHERS)}; the last four are of layouts."
TABLES = (".csv", ".parquet", ".xlsx")


def export(
    folder: Annotated[Path, typer.Argument(help="Folder of a finished run.")],
    out: Annotated[
        str | None,
        typer.Argument(
            help="FILE.csv, FILE.parquet or FILE.xlsx; sqlite:///FILE.db for optuna-dashboard; "
            "with --format any file [default: the terminal].",
            show_default=False,
        ),
    ] = None,
    every: Annotated[
        bool,
        typer.Option("--all", help="Every feasible point, not the front alone (of a table)."),
    ] = False,
    form: Annotated[
        str | None,
        typer.Option("--format", help=STARTS),
    ] = None,
    row: Annotated[
        int | None,
        typer.Option(help="Row of the front that --format writes [default: the recommended one]."),
    ] = None,
) -> None:
    """Write a finished run as a table or into an Optuna storage, or what starts a point of it."""
    if form is not None:
        if every:
            raise ArgumentError("--format", "is of one point", "give it without --all")
        export_launch(folder, form, row, out)
        return
    if row is not None:
        raise ArgumentError("--row", "needs --format", f"add --format {', '.join(LAUNCHERS)}")
    if not out:
        remedy = "name FILE.csv, FILE.parquet, FILE.xlsx, or a storage such as sqlite:///FILE.db"
        raise ArgumentError("OUT", "is missing", remedy)
    if Path(out).suffix in TABLES and "://" not in out:
        from dse.report.document_files import read_document
        from dse.report.export_table import export_table

        print(export_table(read_document(folder), Path(out), every))
        return
    if "://" not in out:
        ending = Path(out).suffix
        remedy = meant(ending, TABLES, f"end it in {', '.join(TABLES)}, or name a storage such as "
                       "sqlite:///FILE.db")  # fmt: skip
        raise ArgumentError("OUT", f"'{out}' is no table and no storage", remedy)
    if every:
        raise ArgumentError("--all", "is of tables; a storage has all that was priced", "drop it")
    print(export_run(folder, out))


def export_launch(folder: Path, form: str, row: int | None, out: str | None) -> None:
    """Print, or write to a file, what starts a point of a finished run."""
    from dse.calibration.files import write_text
    from dse.report.document_files import read_document
    from dse.report.launch import launch_file
    from dse.report.origin import point_at

    if form not in LAUNCHERS:
        remedy = meant(form, LAUNCHERS, f"use {', '.join(LAUNCHERS)}")
        raise ArgumentError("--format", f"'{form}' is not known", remedy)
    document = read_document(folder)
    name = "the recommended point" if row is None else f"row {row} of the front"
    text = launch_file(document, point_at(document, row), name, form)
    if out is None:
        print(text, end="")
        return
    write_text(out, text, "OUT")
    print(f"wrote {name} for {form} to {out}")


def export_run(folder: Path, storage: str) -> str:
    """Write a finished run into an Optuna storage, of a guided one all that it priced.

    Returns a line about it.
    """
    from dse.report.document_files import read_document
    from dse.report.json_form import plain
    from dse.search.guided import export

    document = plain(read_document(folder))
    path = (folder if os.path.isdir(folder) else folder.parent) / POINTS
    rows = None
    if os.path.isfile(path):
        try:
            rows = export.read_rows(path.read_text(encoding="utf-8"), document)
        except (OSError, ValueError) as cause:
            raise DseError(f"{path}: is not the table of this run; move it away") from cause
    name, count = export.export(document, rows, storage)
    what = "points" if rows is not None else "points of the front"
    return f"wrote {count:,} {what} to the study '{name}' of {storage}"
