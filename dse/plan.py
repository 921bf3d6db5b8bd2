"""How a study is searched, and a search carried out, from the study file to the report."""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.errors import NoFeasiblePoint, OutputError, StudyError
from dse.search_options import SearchOptions

if TYPE_CHECKING:
    from dse.pricing.problem import Problem
    from dse.report.document import RunDocument
    from dse.search.executors import Executor, Executors
    from dse.search.guided import Archive, Guide
    from dse.search.run import Outcome, Progress
    from dse.search.runlog import RunLog

POINTS = "points.csv"  # beside the report of a guided search: all that it priced


class Listener:
    """Who is told of a run while it goes on; this one passes nothing on."""

    def say(self, line: str) -> None:
        """Take a line for the user."""

    def progress(self) -> AbstractContextManager[Progress]:
        """Take how many points are done, and of how many, while a search goes on."""
        return nullcontext(lambda *_: None)


@dataclass(frozen=True)
class Plan:
    """A study and how it is searched: by its file, where the command line does not say otherwise.

    engine, reason: as chosen. kind, address: of the executor. sampler: of a guided search. folder:
    of the report. options: as they were given.
    """

    problem: Problem
    engine: str
    reason: str
    kind: str
    address: str | None
    budget: int
    seed: int
    sampler: str
    folder: Path
    options: SearchOptions

    @property
    def name(self) -> str:
        """The study's name."""
        return self.problem.study.name

    def executor(self, executors: Executors) -> Executor | None:
        """The executor of the search; None of a guided one, which runs in this process."""
        exhaustive = self.engine == "exhaustive"
        return executors.get(self.kind, self.address) if exhaustive else None

    def search(
        self, where: Executor | None, guide: Guide, log: RunLog | None, progress: Progress
    ) -> Outcome:
        """Search the study, and write nothing but the log."""
        from dse.search.run import run

        return run(self.problem, self.engine, where, log, progress, self.budget, self.seed,
                   self.reason, guide)  # fmt: skip

    def check_folder(self) -> None:
        """Raise :class:`StudyError` where its report cannot be written."""
        from dse.calibration.files import check_writable
        from dse.report.document_files import FLEET
        from dse.report.write import check_free_of

        check_writable(self.folder)
        check_free_of(FLEET, self.folder)


def plan_of(problem: Problem, options: SearchOptions) -> Plan:
    """How a study is searched. Raises ArgumentError for one that this search does not heed."""
    from dse.search.engine_choice import choose_engine

    search, place = problem.study.search, problem.study.executor
    engine, reason = choose_engine(problem, options.engine or search.engine)
    options.check_engine(engine)
    sampler = options.sampler or search.sampler
    budget = search.budget if options.points is None else options.points
    if engine == "guided":
        objectives = len(problem.study.objectives)
        reason = f"{reason}; {_sampler_line(sampler, budget, objectives)}"
    return Plan(
        problem,
        engine,
        reason,
        options.executor or ("ray" if options.address else place.kind),
        options.address or place.address,
        budget,
        search.seed if options.seed is None else options.seed,
        sampler,
        Path(options.out or f"reports/{problem.study.name}"),
        options,
    )


def _sampler_line(sampler: str, budget: int, objectives: int = 2) -> str:
    """Which sampler proposes points, and why, to be read after why the search is guided."""
    from dse.search.guided import NAMES, choose_sampler

    known, why = choose_sampler(sampler, budget, objectives)
    return f"points are proposed by {NAMES[known]}: {why}"


@dataclass(frozen=True)
class Done:
    """A finished run: its document, its page, and where the report it did not overwrite is."""

    document: RunDocument
    page: Path
    earlier: Path | None

    @property
    def kept(self) -> tuple[str, ...]:
        """A line about the report that it did not overwrite, where there is one."""
        if self.earlier is None:
            return ()
        return (
            "The report that was there is of another study or version; it is kept in "
            f"{self.earlier}.",
        )


def carried_out(plan: Plan, command: str, started: float, listener: Listener | None = None) -> Done:
    """Search a study and write its report, unless a run to be resumed was finished before.

    command: that asked for it. started: of time.perf_counter.
    """
    from dse.search.executors import Executors

    plan.check_folder()
    listener = listener or Listener()
    for line in plan.problem.study.told:
        listener.say(f"note: {line}")
    listener.say(f"{plan.name}: {plan.engine} search, {plan.reason}")
    done = _finished(plan) if plan.options.resume else None
    if done is None:
        with closing(Executors(listener.say)) as executors:
            return _searched(plan, executors, command, started, listener)
    listener.say("this search was finished before; its report is unchanged")
    return done


def _finished(plan: Plan) -> Done | None:
    """The report that is there, if it is what this plan would come to and nothing is half done.

    A guided search is not asked, since its report does not tell its budget, nor one --within a
    share.
    """
    from dse.report.document_files import RUN_LOG, read_document
    from dse.report.inputs import inputs
    from dse.report.write import FILES, ON_REQUEST, PAGE

    half_done = (plan.folder / RUN_LOG).exists()
    whole = all((plan.folder / name).is_file() for name in FILES if name not in ON_REQUEST)
    if plan.engine != "exhaustive" or plan.options.within is not None or half_done or not whole:
        return None
    with suppress(StudyError):
        found = read_document(plan.folder)
        wanted = (inputs(plan.problem), "exhaustive", plan.seed)
        if (found.inputs, found.engine, found.seed) == wanted:
            return Done(found, plan.folder / PAGE, None)
    return None


def _searched(
    plan: Plan, executors: Executors, command: str, started: float, listener: Listener
) -> Done:
    """Carry out a plan, from the log to the report."""
    from dse.report import assembly, runners_up
    from dse.report.document_files import RUN_LOG
    from dse.report.write import earlier_report, write_report
    from dse.search.fingerprint import fingerprint
    from dse.search.runlog import RunLog

    where, options = plan.executor(executors), plan.options
    guide, warm = _warm_guide(plan.problem, plan.sampler, options.warm_start)
    guided = _choices(plan, guide) if plan.engine == "guided" else {}
    search = fingerprint(plan.problem, plan.engine, guided)
    log = RunLog(plan.folder / RUN_LOG, search, options.resume)
    with _kept_for_resume(log):
        for line in (*_of_the_log(log, options.resume), *filter(None, [warm])):
            listener.say(line)
        with listener.progress() as progress:
            outcome = plan.search(where, guide, log, progress)
        total_s = time.perf_counter() - started
        paths = profile_paths(plan.problem)
        found = assembly.build(outcome, command, plan.seed, total_s, paths)
        if options.within is not None:
            found = replace(found, runners_up=runners_up.runners_up(outcome, options.within))
        earlier = earlier_report(plan.folder, found)
        page = write_report(found, plan.folder)
        _keep_points(outcome.archive, plan.problem, plan.folder)
    return Done(found, page, earlier)


def _warm_guide(problem: Problem, sampler: str, folder: Path | None) -> tuple[Guide, str]:
    """How a search begins, and a line about it (empty without a folder of an earlier run)."""
    from dse.pricing import load
    from dse.report.document_files import read_document
    from dse.search.guided import Guide, Points, warm

    if folder is None:
        return Guide(sampler), ""
    document = read_document(folder)
    configs = [point.config for point in document.front]
    points, dropped = warm.mapped(Points(problem.study), configs, load.known_names())
    line = f"warm start: {len(points)} points of the front in {folder} are priced first"
    if dropped:
        line += f"; {dropped} have values that this study does not have"
    return Guide(sampler, tuple(points)), line


def _keep_points(archive: Archive | None, problem: Problem, folder: Path) -> None:
    """Write every point that a guided search priced beside its report.

    A table of an earlier guided run goes when another engine has run here since.
    """
    from dse.search.guided import table
    from dse.search.run import labels_of

    path = folder / POINTS
    try:
        if archive is None:
            path.unlink(missing_ok=True)
            return
        labels = [labels_of(problem, archive.space.values(point)) for point in archive.points]
        handle, temporary = tempfile.mkstemp(prefix=f".{POINTS}-", dir=folder)
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(table.points_csv(archive, labels))
        Path(temporary).chmod(0o644)
        os.replace(temporary, path)
    except OSError as cause:
        raise OutputError(f"{path}: cannot be written: {cause.strerror}") from cause


def _choices(plan: Plan, guide: Guide) -> dict[str, Any]:
    """What a guided search follows from besides its study."""
    from importlib import metadata

    begun = hashlib.sha256(repr(guide.begin_with).encode()).hexdigest()[:12]
    return {
        "seed": plan.seed,
        "budget": plan.budget,
        "sampler": plan.sampler,
        "warm start": f"{len(guide.begin_with)} points ({begun})",
        **{name: metadata.version(name) for name in ("optuna", "scipy", "moocore")},
    }


def _of_the_log(log: RunLog, resume: bool) -> Iterator[str]:
    """What a user must know of the log that was there."""
    if log.done:
        yield f"resuming: {len(log.done)} units of work are done"
    elif resume:
        yield "nothing to resume: starting afresh"
    if log.damaged:
        yield f"{log.damaged} damaged lines of the log are skipped; their units are done again"
    if log.kept:
        yield f"an interrupted run was here: starting afresh; its log is kept in {log.kept}"


@contextmanager
def _kept_for_resume(log: RunLog) -> Iterator[None]:
    """A run that was stopped leaves its log; one that is complete has no use for it."""
    try:
        yield
    except KeyboardInterrupt:
        said = f"{log.path.parent} keeps what is done; continue with --resume"
        raise KeyboardInterrupt(said) from None
    except NoFeasiblePoint:
        log.discard()
        raise
    finally:
        log.close()
    log.discard()


def profile_paths(problem: Problem) -> dict[str, Path]:
    """Name of each profile that prices something, and its file."""
    from dse.pricing.load import profile_path

    return {
        name: profile_path(problem.study, name, position)
        for position, name in enumerate(problem.study.calibration)
        if name in problem.profiles
    }
