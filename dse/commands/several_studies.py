"""Several studies in one go: one executor, one progress display, one table at the end."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from dse.commands.options import Options
from dse.commands.plan import Done, Plan, finished, how_to_continue, planned, searched
from dse.commands.progress import shown_progress
from dse.commands.terminal import console
from dse.console_table import Column, console_table, numbers
from dse.errors import DseError, StudyError
from dse.text_source import is_fleet

if TYPE_CHECKING:
    from dse.search.executors import Executors
    from dse.search.run import Progress

STUDIES = "studies.csv"  # beside the reports of several: a line each

Tell: TypeAlias = Callable[[str, DseError], object]  # of a study, why there is no report of it


@dataclass(frozen=True)
class Result:
    """What came of one study: its report, or why there is none. elapsed_s: its share of time."""

    study: str
    done: Done | None
    error: DseError | None
    elapsed_s: float


def study_files(given: Sequence[str]) -> list[str]:
    """The studies meant: a folder stands for the .yaml and .yml files in it, by name.

    Fleet studies are left out: `dse fleet` answers them.
    """
    found: list[str] = []
    for name in given:
        path = Path(name)
        if not os.path.isdir(path):
            found.append(name)
            continue
        inside = sorted(
            file
            for file in path.iterdir()
            if file.suffix in (".yaml", ".yml") and not is_fleet(file)
        )
        if not inside:
            remedy = "name a folder with study files"
            raise StudyError(name, 0, 0, "no .yaml file is in this folder", remedy)
        found += [str(file) for file in inside]
    return list(dict.fromkeys(found))


def run_studies(
    studies: Sequence[str], options: Options, command: str, quiet: bool, show_json: bool
) -> int:
    """Search all studies, write their reports, print a table; returns the exit status.

    ``options.out`` is the folder of the reports' folders. A study that fails does not keep the
    others from being searched; its error is one line on stderr, and in the table.
    """
    results = _results(studies, options, command, quiet, _tell)
    table = _write_table(results, options, DseError.on_command_line)
    if show_json:
        print(json.dumps([_as_json(r, DseError.on_command_line) for r in results], indent=1))
    else:
        _print_table(results)
        if table is not None:
            print(f"\nTable: {table}")
    return min((r.error.exit_status for r in results if r.error), default=0)


def documents(studies: Sequence[str], options: Options, command: str) -> list[dict[str, Any]]:
    """The same, printing nothing; returns what ``dse run --json`` prints of several."""
    results = _results(studies, options, command, True, lambda *_: None)
    _write_table(results, options, str)
    return [_as_json(result, str) for result in results]


def _results(
    studies: Sequence[str], options: Options, command: str, quiet: bool, tell: Tell
) -> list[Result]:
    from dse.search.executors import Executors

    say = (lambda *_: None) if quiet else print
    plans = list(_plans(studies, options))
    for study, plan in plans:
        if isinstance(plan, DseError):
            tell(study, plan)
    whole = sum(plan.points for _, plan in plans if isinstance(plan, Plan))
    results: list[Result] = []
    with closing(Executors(say)) as executors, shown_progress(quiet) as progress:
        before = 0
        for number, (study, plan) in enumerate(plans, 1):
            if isinstance(plan, DseError):
                results.append(Result(study, None, plan, 0.0))
                continue
            say(f"[{number}/{len(plans)}] {plan.name}: {plan.engine} search, {plan.reason}")
            for line in plan.problem.study.told:
                say(f"note: {line}")
            part = _part(progress, before, whole)
            try:
                result = _one(study, plan, executors, options.resume, command, part, say)
            except KeyboardInterrupt:  # of what is finished nothing is searched again
                raise KeyboardInterrupt(how_to_continue(plan.folder)) from None
            if result.error:
                tell(study, result.error)
            results.append(result)
            before += plan.points
            progress(before, whole)
    return results


def _plans(studies: Sequence[str], options: Options) -> Iterator[tuple[str, Plan | DseError]]:
    """Every study's plan, or what is wrong with it."""
    from dse.calibration.files import check_writable
    from dse.report.document_files import FLEET
    from dse.report.write import check_free_of

    taken: dict[str, str] = {}
    for study in studies:
        try:
            plan = planned(study, options)
            folder = (options.out or Path("reports")) / plan.name
            if plan.name in taken:
                remedy = "rename one of them: its name is that of its report"
                problem = f"study '{plan.name}' has the same name as {taken[plan.name]}"
                raise plan.problem.study.source.error(("study",), problem, remedy)
            check_writable(folder)
            check_free_of(FLEET, folder)
        except DseError as error:
            yield study, error
            continue
        taken[plan.name] = study
        yield study, replace(plan, folder=folder)


def _one(
    study: str,
    plan: Plan,
    executors: Executors,
    resume: bool,
    command: str,
    progress: Progress,
    say: Callable[[str], object],
) -> Result:
    started = time.perf_counter()
    try:
        done = finished(plan) if resume else None
        if done:
            say("was done before")
        else:
            shown = _as_it_is(progress)
            done = searched(plan, executors, resume, command, shown, say, started)
            say(f"Report: {done.page}")
        if done.earlier:
            say(f"The report of another study that was there is kept in {done.earlier}.")
    except DseError as error:
        return Result(study, None, error, time.perf_counter() - started)
    return Result(study, done, None, time.perf_counter() - started)


def _part(progress: Progress, before: int, whole: int) -> Progress:
    """The progress of one study, shown as part of that of all."""
    return lambda done, _: progress(before + done, whole)


@contextmanager
def _as_it_is(progress: Progress) -> Iterator[Progress]:
    yield progress


def _tell(study: str, error: DseError) -> None:
    print(_line(study, error.on_command_line()), file=sys.stderr, flush=True)


def _line(study: str, error: str) -> str:
    return error if error.startswith(study) else f"{study}: {error}"


def _as_json(result: Result, worded: Callable[[DseError], str]) -> dict[str, Any]:
    """worded: an error in the words of the command line, or of Python."""
    from dse.report.json_form import plain

    if result.done:
        return plain(result.done.document)
    assert result.error is not None
    line = _line(result.study, worded(result.error))
    return {"study": {"path": result.study}, "error": line,
            "exit_status": result.error.exit_status}  # fmt: skip


def _write_table(
    results: Sequence[Result], options: Options, worded: Callable[[DseError], str]
) -> Path | None:
    """Write the table of all studies beside their reports; None where none of them has one."""
    from dse.report.studies_table import Answered, studies_csv
    from dse.report.table_files import write_text

    if not any(result.done for result in results):
        return None
    answers = [
        Answered(
            result.study,
            result.done.document if result.done else None,
            str(result.done.page.parent) if result.done else "",
            worded(result.error).removeprefix(f"{result.study}: ") if result.error else "",
        )
        for result in results
    ]
    path = (options.out or Path("reports")) / STUDIES
    write_text(studies_csv(answers), path)
    return path


def _print_table(results: Sequence[Result]) -> None:
    from dse.report import words

    columns = [
        *(Column(heading, folded=True) for heading in ("study", "recommended", "gain", "cost")),
        *numbers("points", "time"),
        Column("report", folded=True),
    ]
    rows: list[tuple[str, ...]] = []
    for result in results:
        if result.done is None:
            assert result.error is not None
            why = (
                result.error.on_command_line().removeprefix(f"{result.study}: ").partition("; ")[0]
            )
            rows.append((result.study, f"failed: {why}"))
            continue
        found = result.done.document
        best, senses = found.recommended, found.objectives.minimized
        rows.append(
            (
                found.study.name,
                words.describe(best, beside=found.baseline),
                words.show_gain(found, best),
                ", ".join(words.show_cost(found, best, sense) for sense in senses),
                words.count(found.counts.points),
                words.duration(result.elapsed_s),
                str(result.done.page),
            )
        )
    print()
    console().print(console_table(columns, rows, framed=False))
