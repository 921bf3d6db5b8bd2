"""What the commands do with a study, from its file to its report."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.errors import NoFeasiblePoint, StudyError
from dse.progress import shown_progress
from dse.spelling import meant

if TYPE_CHECKING:
    from dse.search.problem import Problem
    from dse.search.runlog import RunLog
    from dse.study import Value

ENGINES = ("auto", "exhaustive", "guided")
EXECUTORS = ("auto", "local", "ray")
RUN_LOG = "run.log.jsonl"


@dataclass(frozen=True)
class Options:
    """What the command line may override; None leaves it to the study."""

    out: Path | None = None
    engine: str | None = None
    executor: str | None = None
    address: str | None = None
    budget: int | None = None
    seed: int | None = None
    resume: bool = False


def run_study(
    study: str, options: Options, command: str = "", quiet: bool = False, show_json: bool = False
) -> dict[str, Any]:
    """Search a study, write its report, print the answer; returns the run document."""
    from dse.report import document, words
    from dse.report.write import check_writable, earlier_report, write_report
    from dse.search import load
    from dse.search import run as searching
    from dse.search.executors import executor
    from dse.search.runlog import RunLog

    started = time.perf_counter()
    _one_of(options.engine, ENGINES, "--engine")
    _one_of(options.executor, EXECUTORS, "--executor")
    problem = load.load(study)
    asked, place = problem.study.search, problem.study.executor
    engine = options.engine or asked.engine
    kind = options.executor or ("ray" if options.address else place.kind)
    seed = asked.seed if options.seed is None else options.seed
    budget = asked.budget if options.budget is None else options.budget
    folder = options.out or Path("reports") / problem.study.name
    say = (lambda *_: None) if quiet else print
    chosen, reason = searching.choose_engine(problem, engine)
    say(f"{problem.study.name}: {chosen} search, {reason}")
    check_writable(folder)
    with closing(executor(kind, options.address or place.address)) as where:
        log = None
        if chosen == "exhaustive":
            header = searching.header(problem, document.calibration_hash(problem))
            log = RunLog(folder / RUN_LOG, header, options.resume)
            if log.done:
                say(f"resuming: {len(log.done)} units of work are done")
        if options.resume and not (log and log.done):
            say("nothing to resume: starting afresh")
        with _kept_for_resume(log):
            with shown_progress(quiet) as progress:
                outcome = searching.run(problem, engine, where, log, progress, budget, seed)
            total_s = time.perf_counter() - started
            found = document.build(outcome, command, seed, total_s, _profile_paths(problem))
            earlier = earlier_report(folder, found)
            page = write_report(found, folder)
    if show_json:
        print(json.dumps(found, indent=1))
    say("")
    for sentence in words.answer(found):
        say(sentence)
    if earlier:
        say(f"The report that was there is of another study or version; it is kept in {earlier}.")
    say(f"Report: {page}")
    return found


@contextmanager
def _kept_for_resume(log: RunLog | None) -> Iterator[None]:
    """A run that was stopped leaves its log; one that is complete has no use for it."""
    try:
        yield
    except KeyboardInterrupt:
        # A guided search is a function of its seed: run again, it makes the same choices.
        how = "go on with --resume" if log else "the same command searches the same points again"
        raise KeyboardInterrupt(how) from None
    except NoFeasiblePoint:
        if log:
            log.discard()
        raise
    finally:
        if log:
            log.close()
    if log:
        log.discard()


def _profile_paths(problem: Problem) -> dict[str, Path]:
    """Name of each profile that prices something, and its file."""
    from dse.search.load import profile_path

    return {
        name: profile_path(problem.study, name, position)
        for position, name in enumerate(problem.study.calibration)
        if name in problem.profiles
    }


def check_study(study: str, as_json: bool) -> None:
    """Print what a study would search, without searching."""
    from dse.report import check
    from dse.search import load

    problem = load.load(study)
    print(json.dumps(check.checked(problem)) if as_json else "\n".join(check.lines(problem)))


def explain_point(study: str, assignments: Sequence[str], as_json: bool) -> None:
    """Print every term of one point: the baseline with some axes set otherwise."""
    from dse.report.points import describe
    from dse.search import feasibility, load
    from dse.search.cautions import why_unpriced
    from dse.study.assign import assigned

    problem = load.load(study)
    values: dict[str, Value | None] = dict(problem.study.baseline.values)
    given = set[str]()
    for text in assignments:
        axis, value = assigned(problem.study, text, load.known_names())
        if axis in given:
            raise StudyError("--set", 0, 0, f"'{axis}' is set twice", "give it once")
        given.add(axis)
        values[axis] = value
    values = problem.applicable(values)
    point = describe(problem, values)
    checks = feasibility.checks(problem.point(values), problem.study)
    point["why_unpriced"] = why_unpriced(problem, values)
    point["constraints"] = {reason: bool(mask.all()) for reason, mask in checks}
    if as_json:
        print(json.dumps(point, indent=1))
        return
    from dse.report.explain import lines

    print("\n".join(lines(point)))


def _one_of(value: str | None, allowed: Sequence[str], option: str) -> None:
    if value is not None and value not in allowed:
        remedy = meant(value, allowed, f"use {', '.join(allowed)}")
        raise StudyError(option, 0, 0, f"'{value}' is not known", remedy)
