"""``dse run``: search a study, or several, write their reports, print the answer."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from dse.commands.browser import Open, open_page
from dse.commands.options import Engine, Json, Options, folder, share, whole
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


def _whole(name: str) -> Callable[[str], int]:
    """Reads the whole number of an option, also as 2e4, as study files do."""
    return lambda text: whole(name, text)


def run(
    study: Studies,
    out: Annotated[
        Path | None,
        typer.Option(
            parser=folder,
            metavar="PATH",
            help="Folder of the report [default: reports/STUDY]; of several studies, the folder "
            "that holds theirs.",
        ),
    ] = None,
    engine: Engine = None,
    executor: Annotated[str | None, typer.Option(help="auto, local or ray.")] = None,
    address: Annotated[str | None, typer.Option(help="Ray cluster to join.")] = None,
    points: Annotated[
        int | None,
        typer.Option(
            parser=_whole("points"), metavar="INTEGER", help="Points the guided engine may price."
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(parser=_whole("seed"), metavar="INTEGER", help="Seed of everything random."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue where a run stopped.")] = False,
    within: Annotated[
        str | None,
        typer.Option(help="Also list points within this distance of the front, such as 5%."),
    ] = None,
    sampler: Annotated[
        str | None,
        typer.Option(help="Sampler of a guided search: auto, nsga2, nsga3, tpe, gp or random."),
    ] = None,
    warm_start: Annotated[
        Path | None,
        typer.Option(help="Folder of an earlier run whose front a guided search begins with."),
    ] = None,
    deadline: Annotated[
        str | None, typer.Option(help='Time until the target must be reached, such as "7 d".')
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(help='Money that may be spent, such as "2 MUSD" or "50 USD/hour".'),
    ] = None,
    power: Annotated[
        str | None, typer.Option(help='Power that the site can supply, such as "200 kW".')
    ] = None,
    confidence: Annotated[
        str | None,
        typer.Option(help="Probability with which every limit must hold, such as 0.9 or 90%."),
    ] = None,
    json: Json = False,
    open: Open = False,
) -> int:
    """Search studies and write their reports."""
    options = Options(
        out, engine, executor, address, points, seed, resume, share(within), sampler, warm_start,
        deadline, budget, power, confidence,
    )  # fmt: skip
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
    from dse.report.answer import paragraphs
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
    for sentences in paragraphs(done.document):
        say("")
        for sentence in sentences:
            say(sentence)
    say("")
    if done.earlier:
        say(
            "The report that was there is of another study or version; it is kept in "
            f"{done.earlier}."
        )
    say(f"Report: {done.page}")
    return done
