"""``dse init``: a study to begin with, from a few options or from one that comes with dse."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from dse.commands.options import with_options
from dse.commands.study_names import all_beginning
from dse.commands.terminal import command_line
from dse.draft import STUDY, Draft, check_free
from dse.errors import ArgumentError, DseError

FILE = "file"  # as the usage calls it
USUAL = "resnet50"  # what is trained where nobody says


@with_options
def init(
    draft: Draft,
    file: Annotated[Path, typer.Argument(help="The study to write.")] = Path(STUDY),
    from_: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="STUDY",
            help="Copy a study that comes with dse.",
            autocompletion=all_beginning,
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite FILE.")] = False,
) -> None:
    """Write a study to begin with, with comments: from options, or a copy."""
    if from_ is None:
        check_free(file, force, FILE)
        write_study(draft if draft.workload else replace(draft, workload=USUAL), file)
        return
    if draft != Draft():
        problem = "copies a study as it is, so that no other option counts"
        raise ArgumentError("--from", problem, "leave the other options out")
    copy_study(from_, file if file != Path(STUDY) else Path(f"{from_}.yaml"), force)


def write_study(draft: Draft, file: Path) -> None:
    """Write a draft, and say what it is and what to do with it."""
    from dse.calibration.files import write_text

    problem = draft.problem(file, command_line())
    write_text(file, problem.study.source.text, FILE)
    for line in draft.notes:
        print(f"note: {line}")
    print(
        f"wrote {file}: {problem.points or 0:,} points; write what you have today as its baseline"
    )
    _say_next(file, "dse run")


def copy_study(name: str, file: Path, force: bool) -> None:
    """Copy a study that comes with dse, and say what to do with it."""
    from dse.calibration.files import write_text
    from dse.commands.shipped import KINDS
    from dse.text_source import is_fleet

    try:
        source = KINDS["studies"].find(name)
    except DseError as error:
        _, _, said = str(error).partition(": ")
        problem, _, remedy = said.partition("; ")
        raise ArgumentError("--from", f"'{name}': {problem}", remedy) from None
    check_free(file, force, FILE)
    write_text(file, _copied(source.read_text(encoding="utf-8"), name, file), FILE)
    print(f"wrote {file}, a copy of {name}")
    _say_next(file, "dse fleet" if is_fleet(source) else "dse run")


def _copied(text: str, name: str, file: Path) -> str:
    """A study's file for another folder: without the path of its schema, and with its own name in
    the commands that its comments show."""
    lines = [line for line in text.splitlines(keepends=True) if "yaml-language-server" not in line]
    return "".join(lines).replace(f"search_spaces/{name}.yaml", str(file))


def _say_next(file: Path, answer: str) -> None:
    import shlex

    path = shlex.quote(str(file))
    print(f"next: dse check {path}, then {answer} {path}" if answer == "dse run" else
          f"next: {answer} {path}")  # fmt: skip
