"""``dse run``: search a study, or several, write their reports, print the answer."""

from __future__ import annotations

import os
import time
from contextlib import closing
from typing import Annotated

import typer

from dse.commands.browser import Open, open_page
from dse.commands.options import Json, Options, with_options
from dse.commands.plan import Done, Plan, finished, planned, searched
from dse.commands.progress import shown_progress
from dse.commands.several_studies import run_studies, study_files
from dse.commands.study_names import studies_beginning
from dse.commands.terminal import command_line
from dse.errors import ArgumentError

Studies = Annotated[
    list[str],
    typer.Argument(
        metavar="STUDY...",
        help="Study files, folders of them, or names of some that come with dse.",
        show_default=False,
        autocompletion=studies_beginning,
    ),
]


@with_options
def run(study: Studies, options: Options, json: Json = False, open: Open = False) -> int:
    """Search studies and write their reports."""
    if len(study) == 1 and not os.path.isdir(study[0]):
        done = run_one(study[0], options, command=command_line(), quiet=json, show_json=json)
        if open:
            open_page(done.page)
        return 0
    if open:
        raise ArgumentError("--open", "opens one report, and several are written", "leave it out")
    return run_studies(study_files(study), options, command_line(), quiet=json, show_json=json)


def run_one(study: str, options: Options, command: str, quiet: bool, show_json: bool) -> Done:
    """Search a study, write its report, print the answer; returns the run document with where its
    report is."""
    started = time.perf_counter()
    plan = planned(study, options)
    return run_plan(plan, options, command, quiet, show_json, started)


def run_plan(
    plan: Plan, options: Options, command: str, quiet: bool, show_json: bool, started: float
) -> Done:
    """The same of a study that is read. started: of time.perf_counter."""
    from dse.calibration.files import check_writable
    from dse.report.answer import LONG, answer, every_remark
    from dse.report.document_files import FLEET
    from dse.report.json_form import text
    from dse.report.write import check_free_of
    from dse.search.executors import Executors

    check_writable(plan.folder)
    check_free_of(FLEET, plan.folder)
    say = (lambda *_: None) if quiet else print
    for line in plan.problem.study.told:
        say(f"note: {line}")
    say(f"{plan.name}: {plan.engine} search, {plan.reason}")
    done = finished(plan) if options.resume else None
    if done:
        say("this search was finished before; its report is unchanged")
    else:
        with closing(Executors(say)) as executors:
            shown = shown_progress(quiet)
            done = searched(plan, executors, options.resume, command, shown, say, started)
    if show_json:
        print(text(done.document))
    say("")
    for told in (answer(done.document), every_remark(done.document) if options.long else ()):
        for line in told:
            say(line)
    if done.earlier:
        say(
            "The report that was there is of another study or version; it is kept in "
            f"{done.earlier}."
        )
    say(f"Report: {done.page}{'' if options.long else f'          {LONG}'}")
    return done
