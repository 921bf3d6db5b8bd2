"""Several studies in one go: one executor, and one table at the end."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dse.commands.options import Options
from dse.commands.plan import Done, Plan, finished, how_to_continue, planned, searched
from dse.commands.progress import shown_progress
from dse.commands.terminal import console
from dse.console_table import Column, console_table
from dse.errors import DseError, StudyError
from dse.text_source import is_fleet


@dataclass(frozen=True)
class Result:
    """What came of one study: its report, or why there is none."""

    study: str
    found: Done | DseError

    def error(self, worded: Callable[[DseError], str]) -> str:
        """Why there is no report, after the name of the study; empty where there is one. worded: an
        error in the words of the command line, or of Python."""
        if isinstance(self.found, Done):
            return ""
        text = worded(self.found)
        return text if text.startswith(self.study) else f"{self.study}: {text}"

    def as_json(self, worded: Callable[[DseError], str]) -> dict[str, Any]:
        """The document of the run, or the error."""
        from dse.report.json_form import plain

        if isinstance(self.found, Done):
            return plain(self.found.document)
        return {"study": {"path": self.study}, "error": self.error(worded),
                "exit_status": self.found.exit_status}  # fmt: skip


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
    results = []
    for result in _results(studies, options, command, quiet):
        if error := result.error(DseError.on_command_line):
            print(error, file=sys.stderr, flush=True)
        results.append(result)
    results.sort(key=lambda result: studies.index(result.study))
    if show_json:
        print(json.dumps([r.as_json(DseError.on_command_line) for r in results], indent=1))
    else:
        _print_table(results)
    failed = (r.found.exit_status for r in results if isinstance(r.found, DseError))
    return min(failed, default=0)


def documents(studies: Sequence[str], options: Options, command: str) -> list[dict[str, Any]]:
    """The same, printing nothing; returns what ``dse run --json`` prints of several."""
    results = sorted(_results(studies, options, command, quiet=True),
                     key=lambda result: studies.index(result.study))  # fmt: skip
    return [result.as_json(str) for result in results]


def _results(
    studies: Sequence[str], options: Options, command: str, quiet: bool
) -> Iterator[Result]:
    """What comes of each study: first of those that cannot be planned, so that mistakes are told
    before time is spent."""
    from dse.search.executors import Executors

    say: Callable[[str], None] = (lambda _: None) if quiet else print
    plans = list(_plans(studies, options))
    yield from (Result(study, plan) for study, plan in plans if isinstance(plan, DseError))
    with closing(Executors(say)) as executors:
        for number, (study, plan) in enumerate(plans, 1):
            if isinstance(plan, DseError):
                continue
            say(f"[{number}/{len(plans)}] {plan.name}: {plan.engine} search, {plan.reason}")
            for line in plan.problem.study.told:
                say(f"note: {line}")
            try:
                done = finished(plan) if options.resume else None
                if done:
                    say("was done before")
                else:
                    shown, started = shown_progress(quiet), time.perf_counter()
                    done = searched(plan, executors, options.resume, command, shown, say, started)
                    say(f"Report: {done.page}")
                if done.earlier:
                    say(f"The report of another study that was there is kept in {done.earlier}.")
                result = Result(study, done)
            except DseError as error:
                result = Result(study, error)
            except KeyboardInterrupt:  # of what is finished nothing is searched again
                raise KeyboardInterrupt(how_to_continue(plan.folder)) from None
            yield result


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


def _print_table(results: Sequence[Result]) -> None:
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
