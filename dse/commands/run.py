"""``dse run``: search a study, or several, write their reports, print the answer."""

from __future__ import annotations

import json as json_text
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from dse import runs
from dse.commands.browser import Open, open_page
from dse.commands.options import Json, Long, with_options
from dse.commands.progress import Printer
from dse.commands.study_names import studies_beginning
from dse.commands.terminal import command_line, console
from dse.console_table import Column, console_table
from dse.errors import ArgumentError, DseError
from dse.plan import Listener, Plan, plan_of
from dse.search_options import SearchOptions

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
def run(
    study: Studies,
    options: SearchOptions,
    long: Long = False,
    json: Json = False,
    open: Open = False,
) -> int:
    """Search studies and write their reports."""
    from dse.pricing.load import load

    if len(study) > 1 or os.path.isdir(study[0]):
        if open:
            problem, remedy = "opens one report, and several are written", "leave it out"
            raise ArgumentError("--open", problem, remedy)
        return run_several(runs.study_files(study), options, json)
    started = time.perf_counter()
    plan = plan_of(load(study[0], options.questions), options)
    page = run_one(plan, started, long, json)
    if open:
        open_page(page)
    return 0


def run_one(plan: Plan, started: float, long: bool, as_json: bool) -> Path:
    """Carry out a plan, print the answer; returns the page of its report."""
    from dse.report.answer import LONG, answer, every_remark
    from dse.report.json_form import text

    listener = Listener() if as_json else Printer()
    done = runs.run_plan(plan, command_line(), started, listener)
    if as_json:
        print(text(done.document))
        return done.page
    remarks = every_remark(done.document) if long else ()
    print("", *answer(done.document), *remarks, *done.kept, sep="\n")
    print(f"Report: {done.page}{'' if long else f'          {LONG}'}")
    return done.page


def run_several(studies: Sequence[str], options: SearchOptions, as_json: bool) -> int:
    """Search all studies, write their reports, print a table; returns the exit status.

    A study that fails does not keep the others from being searched; its error is one line on
    stderr, and in the table.
    """
    listener = Listener() if as_json else Printer()
    results = []
    for result in runs.results(studies, options, command_line(), listener):
        if error := result.error(DseError.on_command_line):
            print(error, file=sys.stderr, flush=True)
        results.append(result)
    results = runs.in_order(results, studies)
    if as_json:
        documents = [result.as_json(DseError.on_command_line) for result in results]
        print(json_text.dumps(documents, indent=1))
    else:
        _print_table(results)
    failed = (r.found.exit_status for r in results if isinstance(r.found, DseError))
    return min(failed, default=0)


def _print_table(results: Sequence[runs.Result]) -> None:
    """A row for each study. Samples per second compare studies of one workload whose baselines
    differ."""
    from rich.text import Text

    from dse.report import words

    heads = ("study", "workload", "recommended", "gain", "samples/s", "cost", "communication")
    rows = []
    for result in results:
        if isinstance(result.found, DseError):
            why = result.error(DseError.on_command_line).removeprefix(f"{result.study}: ")
            rows.append([result.study, "", f"failed: {why.partition('; ')[0]}"])
            continue
        run = result.found.document
        best = run.recommended
        rows.append([
            run.study.name, run.study.workload, words.describe(best, beside=run.baseline),
            words.show_gain(run, best), words.shown(best.throughput_samples_per_s, ""),
            ", ".join(words.show_cost(run, best, sense) for sense in run.objectives.minimized),
            words.says_who(best)[0], str(result.found.page),
        ])  # fmt: skip
    columns = [*(Column(head, folded=True) for head in heads), Column("report", whole=True)]
    print()
    console().print(console_table(columns, [[*map(Text, row)] for row in rows], framed=False))
