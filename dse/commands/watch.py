"""``dse watch``: a prediction beside a run that was measured."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dse.commands.options import Json
from dse.errors import ArgumentError, StudyError

if TYPE_CHECKING:
    from dse.report.expectation import Checked

OUTSIDE = 1  # the exit status
LOOK_EVERY_S = 2.0


def watch(
    log: Annotated[
        Path,
        typer.Argument(
            help="What training printed (samples/s, images/sec, tokens/s, s/it, it/s), a table "
            "with a column samples_per_s or samples/s (of one as import-throughput reads it, the "
            "rows of the point), or a trace of PyTorch's profiler (.json, .json.gz).",
            show_default=False,
        ),
    ],
    expect: Annotated[
        Path, typer.Option(help="Folder of the finished run that predicts.", show_default=False)
    ],
    row: Annotated[
        int | None, typer.Option(help="Row of its front [default: the recommended point].")
    ] = None,
    sequence: Annotated[
        int | None,
        typer.Option(
            min=1, help="Tokens of a sample, for a log in tokens/s [default: the workload's]."
        ),
    ] = None,
    decimal: Annotated[
        str | None,
        typer.Option(
            help="The decimal mark of numbers in the log, . or , [default: as the log tells].",
            show_default=False,
        ),
    ] = None,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow",
            help="Look again while the log grows, and say when the verdict changes, until Ctrl-C.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Check a prediction against a real run.

    Ends with status 0 where the measured rate is within the 90 % interval, 1 where it is not.
    """
    from dse.report import expectation, json_form

    check = checker(expect, row, log, sequence, decimal, growing=follow)
    found = followed(check, log) if follow else check()
    print(json_form.text(found) if json else "\n".join(expectation.lines(found)))
    if not found.within:
        raise typer.Exit(OUTSIDE)


def checker(
    run: Path,
    row: int | None,
    log: Path,
    sequence: int | None = None,
    decimal: str | None = None,
    growing: bool = False,
) -> Callable[[], Checked]:
    """What reads the log and compares it with a point of a run, each time that it is called.

    growing: see :func:`.read_training`.
    """
    from dse.calibration.importers.training_log import read_training
    from dse.report import expectation
    from dse.report.document_files import read_document

    if decimal not in (None, ".", ","):
        raise ArgumentError("--decimal", f"'{decimal}' is no decimal mark", "give . or ,")
    document = read_document(run)
    named = expectation.point_of(document, row)
    terms = expectation.terms(document, named, sequence)

    def check() -> Checked:
        found = read_training(log, terms, decimal or "", growing)
        return expectation.checked(document, named, str(log), found)

    return check


def followed(
    check: Callable[[], Checked], log: Path, wait: Callable[[float], None] = time.sleep
) -> Checked:
    """Check again and again, and say the verdict whenever it changes, until Ctrl-C; then the last
    check.

    Raises the :class:`StudyError` of a log that tells nothing until then.
    """
    import sys

    from dse.report.expectation import verdict

    last: Checked | None = None
    try:
        while True:
            try:
                found = check()
                if last is None or verdict(found) != verdict(last):
                    many = f"{found.rates:,} rate{'s' * (found.rates != 1)}"
                    rate = f"{many}, median {found.measured:,.6g} samples/s"
                    print(f"{rate}. {verdict(found)}", file=sys.stderr)
                last = found
            except StudyError:
                if last is not None or os.path.isdir(log):
                    raise
            wait(LOOK_EVERY_S)
    except KeyboardInterrupt:
        return last or check()
