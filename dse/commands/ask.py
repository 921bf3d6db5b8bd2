"""``dse ask``: a question in one line, its answer, and the study that it stands for."""

from __future__ import annotations

import os
import time
from pathlib import Path

from dse.commands.browser import Open, open_page
from dse.commands.options import Json, Options, Report, with_options
from dse.commands.terminal import command_line
from dse.draft import STUDY, Draft


@with_options
def ask(draft: Draft, report: Report, json: Json = False, open: Open = False) -> None:
    """Answer a question in one line: which cluster, and how to train on it.

    The study that the question stands for is kept beside the report.
    """
    from dse.calibration.files import check_writable, write_text
    from dse.commands.plan import plan_of
    from dse.commands.run import run_plan
    from dse.report.write import free_name

    started, command = time.perf_counter(), command_line()
    folder = report.out or Path("reports") / draft.name
    path = folder / STUDY
    problem = draft.problem(path, command)
    options = Options(out=folder, engine=report.engine, long=report.long)
    plan = plan_of(problem, options)
    check_writable(folder)
    text = problem.study.source.text
    if os.path.isfile(path) and path.read_text(encoding="utf-8") != text:
        os.replace(path, free_name(path))  # somebody may have changed it
    write_text(path, text)
    if not json:
        for line in draft.notes:
            print(f"note: {line}")
        print(f"study: {path}")
    page = run_plan(plan, options, command, json, json, started).page
    if open:
        open_page(page)
