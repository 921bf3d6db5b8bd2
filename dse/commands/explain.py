"""``dse explain``: every term of one point's price, of a study or of a finished run."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dse.commands.compare import print_differences
from dse.commands.options import Json
from dse.errors import ArgumentError, StudyError

if TYPE_CHECKING:
    from dse.report.differences import SideBySide
    from dse.study import Value


_SEVERAL = re.compile(r",(?=\s*[a-z_]+\s*=)")  # between assignments in one option


def explain(
    study: Annotated[
        str,
        typer.Argument(
            help="A study file, or a name that dse catalog studies lists, or the folder of a "
            "finished run: its recommended point, or --row.",
        ),
    ],
    assign: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="AXIS=VALUE, or several with commas; every other axis keeps the baseline's value.",
        ),
    ] = None,
    row: Annotated[
        int | None, typer.Option(help="A row of the front of the finished run, from 1.")
    ] = None,
    against: Annotated[
        int | None, typer.Option(help="Another row, side by side with --row.")
    ] = None,
    json: Json = False,
) -> None:
    """Price one point: every term, memory, money, and whether it was measured."""
    of_run = os.path.isdir(study) or Path(study).name == "run.json"
    if row is None and against is None and not of_run:
        explain_point(study, assign or [], json)
        return
    if row is None and against is not None:
        raise ArgumentError("--against", "needs another row beside it", "add --row")
    if assign:
        what = "--row" if row is not None else study
        raise ArgumentError("--set", f"is of a study, {what} of a finished run", "drop one")
    explain_rows(run_of(study), row, against, json)


def run_of(given: str) -> Path:
    """The folder of the finished run that a person means: itself, or that of a study."""
    path = Path(given)
    if os.path.isdir(path) or path.suffix == ".json":
        return path
    from dse.pricing import load
    from dse.study import read_study

    study = read_study(load.study_path(given), load.known_names())
    folder = Path("reports") / study.name
    if not os.path.isdir(folder):
        problem = f"there is no finished run of {study.name} in {folder}"
        raise ArgumentError("--row", problem, f"run it first (dse run {given}), or name its folder")
    return folder


def explain_rows(folder: Path, row: int | None, against: int | None, as_json: bool) -> None:
    """Print a point of a finished run term by term, or two of them side by side. row: None is the
    recommended point."""
    from dse.report import json_form
    from dse.report.differences import side_by_side
    from dse.report.document_files import read_document
    from dse.report.explain import lines
    from dse.report.origin import Rows, recommended_row

    document = read_document(folder)
    asked, row = row, recommended_row(document) if row is None else row
    rows = Rows(document)
    point = rows.explained(row)
    if against is not None:
        if row is None:
            problem = "needs a row beside it, since what is recommended is no point of the front"
            raise ArgumentError("--against", problem, f"add --row, 1 to {len(document.front)}")
        other = rows.explained(against, "--against")
        both = side_by_side(document.study.name, (row, against), (point, other), rows.note)
        print(json_form.text(both)) if as_json else _print_two(both)
        return
    if as_json:
        print(json_form.text(point))
        return
    what = f"Row {row} of the front of {document.study.name}"
    if row is None:
        what = f"The recommended point of {document.study.name}, near its front"
    elif asked is None:
        others = f"of {len(document.front)} (any by --row)" if len(document.front) > 1 else "alone"
        what = f"The recommended point of {document.study.name}, row {row} {others}"
    first = f"{what}: {point.workload} at these values"
    print("\n".join([first, *filter(None, [rows.note]), *lines(point)[1:]]))


def _print_two(both: SideBySide) -> None:
    """Print what tells two points apart."""
    print(f"Front of {both.study}, row {both.row} and row {both.against_row}")
    if both.note:
        print(both.note)
    if both.per_samples:
        print(f"The terms of the time are of {both.per_samples:,} samples.")
    print_differences((f"row {both.row}", f"row {both.against_row}"), both.lines)


def explain_point(study: str, assignments: Sequence[str], as_json: bool) -> None:
    """Print every term of one point: the baseline with some axes set otherwise."""
    from dse.pricing import load, requirements
    from dse.report.points import explained
    from dse.study.values import OPTION, assigned

    problem = load.load(study)
    values: dict[str, Value | None] = dict(problem.study.baseline.values)
    given: list[str] = []
    for text in (one for several in assignments for one in _SEVERAL.split(several)):
        axis, value = assigned(problem.study, text, load.known_names())
        if axis in given:
            raise StudyError(OPTION, 0, 0, f"'{axis}' is set twice", "give it once")
        given.append(axis)
        values[axis] = value
    values = problem.applicable(values)
    requirements.check_idle(problem, values, given, OPTION)
    requirements.check_given(problem, values, given, OPTION)
    point = explained(problem, values)
    if as_json:
        from dse.report import json_form

        print(json_form.text(point))
        return
    from dse.report.explain import lines

    print("\n".join(lines(point)))
