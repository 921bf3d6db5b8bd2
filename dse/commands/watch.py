"""``dse watch``: a prediction beside a run that was measured."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from dse.commands.options import Json
from dse.errors import ArgumentError

OUTSIDE = 1  # the exit status


def watch(
    expect: Annotated[
        Path, typer.Option(help="Folder of the finished run that predicts.", show_default=False)
    ],
    log: Annotated[
        Path | None,
        typer.Argument(
            help="What a known trainer printed (see docs/running.md), or a table with a column "
            "such as samples_per_s.",
            show_default=False,
        ),
    ] = None,
    measured: Annotated[
        str | None,
        typer.Option(
            help="The rate itself in place of LOG, such as '9500 tokens/s/gpu', '1200 samples/s' "
            "or '0.8 s/step'.",
            show_default=False,
        ),
    ] = None,
    row: Annotated[
        int | None, typer.Option(help="Row of its front [default: the recommended point].")
    ] = None,
    json: Json = False,
) -> None:
    """Check a prediction against a real run.

    Ends with status 0 where the measured rate is within the 90 % interval, 1 where it is not.
    """
    from dse.calibration.importers import training_log
    from dse.report import expectation, json_form
    from dse.report.document_files import read_document

    if (log is None) == (measured is None):
        problem = "is given beside a log" if log else "is missing, and no log is given"
        raise ArgumentError("--measured", problem, "give one of them")
    read = (
        partial(training_log.measured, measured or "")
        if log is None
        else partial(training_log.read_training, log)
    )
    found = expectation.checked(read_document(expect), row, str(log or measured), read)
    print(json_form.text(found) if json else "\n".join(expectation.lines(found)))
    if not found.within:
        raise typer.Exit(OUTSIDE)
