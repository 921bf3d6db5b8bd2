"""What the commands do with a study, from its file to its report."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.errors import DseError, NoFeasiblePoint, StudyError
from dse.progress import shown_progress
from dse.session_guided import keep_points, sampler_line, warm_guide
from dse.spelling import meant

if TYPE_CHECKING:
    from dse.search.executors import Executors
    from dse.search.problem import Problem
    from dse.search.run import Progress
    from dse.search.runlog import RunLog
    from dse.study import Value

ENGINES = ("auto", "exhaustive", "guided")
EXECUTORS = ("auto", "local", "ray")
SAMPLERS = ("auto", "nsga2", "nsga3", "tpe", "gp", "random")
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
    within: float | None = None
    sampler: str | None = None
    warm_start: Path | None = None


@dataclass(frozen=True)
class Plan:
    """A study and how it is searched: by its file, where the command line does not say otherwise.

    engine, reason: as chosen. kind, address: of the executor. folder: of the report.
    within: a share; points so little behind the front are listed, too. sampler, warm_start: of a
    guided search.
    """

    problem: Problem
    engine: str
    reason: str
    kind: str
    address: str | None
    budget: int
    seed: int
    folder: Path
    within: float | None = None
    sampler: str = "auto"
    warm_start: Path | None = None

    @property
    def name(self) -> str:
        """The study's name."""
        return self.problem.study.name

    @property
    def choices(self) -> dict[str, Any]:
        """What a guided search follows from besides its study."""
        if self.engine != "guided":
            return {}
        warm = None if self.warm_start is None else str(self.warm_start)
        return {"seed": self.seed, "budget": self.budget, "sampler": self.sampler,
                "warm start": warm}  # fmt: skip

    @property
    def points(self) -> int:
        """How many points are priced, at most."""
        return self.budget if self.engine == "guided" else self.problem.space.size


def planned(study: str, options: Options) -> Plan:
    """Read a study and choose its engine."""
    from dse.search import load
    from dse.search import run as searching

    _one_of(options.engine, ENGINES, "--engine")
    _one_of(options.executor, EXECUTORS, "--executor")
    _one_of(options.sampler, SAMPLERS, "--sampler")
    problem = load.load(study)
    asked, place = problem.study.search, problem.study.executor
    engine, reason = searching.choose_engine(problem, options.engine or asked.engine)
    if options.within is not None and engine != "exhaustive":
        raise DseError(f"--within needs the exhaustive engine, and this search is {engine}")
    sampler = options.sampler or asked.sampler
    budget = asked.budget if options.budget is None else options.budget
    if engine == "guided":
        objectives = len(problem.study.objectives)
        reason = f"{reason}; {sampler_line(sampler, budget, objectives)}"
    return Plan(
        problem,
        engine,
        reason,
        options.executor or ("ray" if options.address else place.kind),
        options.address or place.address,
        budget,
        asked.seed if options.seed is None else options.seed,
        options.out or Path("reports") / problem.study.name,
        options.within,
        sampler,
        options.warm_start,
    )


def share(text: str | None) -> float | None:
    """``5%`` or ``0.05`` as a number; None stays None."""
    if text is None:
        return None
    number, percent = text.strip().removesuffix("%"), text.strip().endswith("%")
    try:
        found = float(number) / (100 if percent else 1)
    except ValueError:
        found = float("nan")
    if not 0 < found < 1:
        raise StudyError("--within", 0, 0, f"'{text}' is no share", "write a percentage, as 5%")
    return found


def run_study(
    study: str, options: Options, command: str = "", quiet: bool = False, show_json: bool = False
) -> dict[str, Any]:
    """Search a study, write its report, print the answer; returns the run document."""
    from dse.report.answer import answer
    from dse.search.executors import Executors

    started = time.perf_counter()
    plan = planned(study, options)
    say = (lambda *_: None) if quiet else print
    say(f"{plan.name}: {plan.engine} search, {plan.reason}")
    with closing(Executors()) as executors:
        done = searched(
            plan, executors, options.resume, command, shown_progress(quiet), say, started
        )
    if show_json:
        print(json.dumps(done.document, indent=1))
    say("")
    for sentence in answer(done.document):
        say(sentence)
    if done.earlier:
        say(
            "The report that was there is of another study or version; it is kept in "
            f"{done.earlier}."
        )
    say(f"Report: {done.page}")
    return done.document


@dataclass(frozen=True)
class Done:
    """A finished run: its document, its page, and where the report it did not overwrite is."""

    document: dict[str, Any]
    page: Path
    earlier: Path | None


def searched(
    plan: Plan,
    executors: Executors,
    resume: bool,
    command: str,
    shown: AbstractContextManager[Progress],
    say: Callable[[str], object],
    started: float,
) -> Done:
    """Carry out a plan, from the log to the report. started: of time.perf_counter."""
    from dse.report import document, runners_up
    from dse.report.write import check_writable, earlier_report, write_report
    from dse.search import run as searching
    from dse.search.identity import identity
    from dse.search.runlog import RunLog

    check_writable(plan.folder)
    where = executors.get(plan.kind, plan.address)
    guide, warm = warm_guide(plan.problem, plan.sampler, plan.warm_start)
    search = identity(plan.problem, plan.engine, plan.choices)
    log = RunLog(plan.folder / RUN_LOG, search, resume)
    with _kept_for_resume(log):
        for line in (*_of_the_log(log, resume), *filter(None, [warm])):
            say(line)
        with shown as progress:
            outcome = searching.run(
                plan.problem,
                plan.engine,
                where,
                log,
                progress,
                plan.budget,
                plan.seed,
                plan.reason,
                guide,
            )
        total_s = time.perf_counter() - started
        paths = _profile_paths(plan.problem)
        found = document.build(outcome, command, plan.seed, total_s, paths)
        if plan.within is not None:
            found["near"] = runners_up.runners_up(outcome, plan.within)
        earlier = earlier_report(plan.folder, found)
        page = write_report(found, plan.folder)
        keep_points(outcome.archive, plan.problem, plan.folder)
    return Done(found, page, earlier)


def _of_the_log(log: RunLog, resume: bool) -> Iterator[str]:
    """What a user must know of the log that was there."""
    if log.done:
        yield f"resuming: {len(log.done)} units of work are done"
    elif resume:
        yield "nothing to resume: starting afresh"
    if log.damaged:
        yield f"{log.damaged} damaged lines of the log are passed over: their units are done again"
    if log.kept:
        yield f"an interrupted run was here: starting afresh; its log is kept in {log.kept}"


@contextmanager
def _kept_for_resume(log: RunLog) -> Iterator[None]:
    """A run that was stopped leaves its log; one that is complete has no use for it."""
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt("go on with --resume") from None
    except NoFeasiblePoint:
        log.discard()
        raise
    finally:
        log.close()
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
