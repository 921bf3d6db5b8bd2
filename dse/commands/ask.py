"""``dse ask``: a question in one line, its answer, and the study that it stands for."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Annotated

import typer

from dse.commands.options import Json, Long, with_options
from dse.commands.terminal import command_line
from dse.draft import STUDY, Draft
from dse.plan import plan_of
from dse.search_options import HELP, SearchOptions


@with_options
def ask(
    draft: Draft,
    out: Annotated[str | None, typer.Option(help=HELP["out"])] = None,
    engine: Annotated[str | None, typer.Option(help=HELP["engine"])] = None,
    long: Long = False,
    json: Json = False,
) -> None:
    """Answer a question in one line: which cluster, and how to train on it.

    The study that the question stands for is kept beside the report.
    """
    from dse.calibration.files import check_writable, write_text
    from dse.commands.run import run_one
    from dse.report.write import free_name

    started, options = time.perf_counter(), SearchOptions(out=out, engine=engine)
    path = Path(out or f"reports/{draft.name}") / STUDY
    problem = draft.problem(path, command_line())
    plan = plan_of(problem, options)
    check_writable(plan.folder)
    text = problem.study.source.text
    if os.path.isfile(path) and path.read_text(encoding="utf-8") != text:
        os.replace(path, free_name(path))  # somebody may have changed it
    write_text(path, text)
    if not json:
        for line in draft.notes:
            print(f"note: {line}")
        print(f"study: {path}")
    run_one(plan, started, long, json)
