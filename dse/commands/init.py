"""``dse init``: a study to begin with, from a few options."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from dse.commands.options import with_options
from dse.commands.terminal import command_line
from dse.draft import STUDY, Draft
from dse.errors import ArgumentError, StudyError

FILE = "file"  # as the usage calls it
USUAL = "resnet50"  # what is trained where nobody says


@with_options
def init(
    draft: Draft,
    file: Annotated[Path, typer.Argument(help="The study to write.")] = Path(STUDY),
    force: Annotated[bool, typer.Option("--force", help="Overwrite FILE.")] = False,
) -> None:
    """Write a study to begin with, with comments."""
    from dse.calibration.files import check_writable, write_text

    if file.is_dir():
        raise StudyError(str(file), 0, 0, "is a folder", "name a file in it")
    if file.exists() and not force:
        remedy = "name another file, or add --force to overwrite it"
        raise ArgumentError(str(file), "is there already", remedy, argument=str(file))
    check_writable(file.parent, FILE)
    asked = draft if draft.workload else replace(draft, workload=USUAL)
    problem = asked.problem(file, command_line())
    write_text(file, problem.study.source.text, FILE)
    for line in asked.notes:
        print(f"note: {line}")
    print(
        f"wrote {file}: {problem.points or 0:,} points; write what you have today as its baseline"
    )
    path = shlex.quote(str(file))
    print(f"next: dse check {path}, then dse run {path}")
