"""How a study is searched, and a search carried out, from the study file to the report."""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.commands.options import Options
from dse.errors import NoFeasiblePoint, OutputError, StudyError

if TYPE_CHECKING:
    from dse.pricing.problem import Problem
    from dse.report.document import RunDocument
    from dse.search.executors import Executors
    from dse.search.guided import Archive, Guide
    from dse.search.run import Progress
    from dse.search.runlog import RunLog

POINTS = "points.csv"  # beside the report of a guided search: all that it priced


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
    def points(self) -> int:
        """How many points are priced, at most."""
        whole = self.problem.points
        if self.engine == "exhaustive":
            return self.problem.space.size
        return self.budget if whole is None else min(self.budget, whole)


def planned(study: str, options: Options) -> Plan:
    """Read a study and choose its engine."""
    from dse.pricing import load

    return plan_of(load.load(study, options.questions), options)


def plan_of(problem: Problem, options: Options) -> Plan:
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
        options.out or Path("reports") / problem.study.name,
        options.within,
        sampler,
        options.warm_start,
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


def finished(plan: Plan) -> Done | None:
    """The report that is there, if it is what this plan would come to and nothing is half done.

    A guided search is not asked, since its report does not tell its budget, nor one --within a
    share.
    """
    from dse.report.document_files import RUN_LOG, read_document
    from dse.report.inputs import inputs
    from dse.report.write import FILES, ON_REQUEST, PAGE

    half_done = (plan.folder / RUN_LOG).exists()
    whole = all((plan.folder / name).is_file() for name in FILES if name not in ON_REQUEST)
    if plan.engine != "exhaustive" or plan.within is not None or half_done or not whole:
        return None
    with suppress(StudyError):
        found = read_document(plan.folder)
        wanted = (inputs(plan.problem), "exhaustive", plan.seed)
        if (found.inputs, found.engine, found.seed) == wanted:
            return Done(found, plan.folder / PAGE, None)
    return None


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
    from dse.report import assembly, runners_up
    from dse.report.document_files import RUN_LOG
    from dse.report.write import earlier_report, write_report
    from dse.search import run as searching
    from dse.search.fingerprint import fingerprint
    from dse.search.runlog import RunLog

    exhaustive = plan.engine == "exhaustive"  # a guided search runs in this process
    where = executors.get(plan.kind, plan.address) if exhaustive else None
    guide, warm = _warm_guide(plan.problem, plan.sampler, plan.warm_start)
    search = fingerprint(plan.problem, plan.engine, {} if exhaustive else _choices(plan, guide))
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
        paths = profile_paths(plan.problem)
        found = assembly.build(outcome, command, plan.seed, total_s, paths)
        if plan.within is not None:
            found = replace(found, runners_up=runners_up.runners_up(outcome, plan.within))
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


def how_to_continue(folder: Path) -> str:
    """What a user may do after a search was stopped."""
    return f"{folder} keeps what is done; continue with --resume"


@contextmanager
def _kept_for_resume(log: RunLog) -> Iterator[None]:
    """A run that was stopped leaves its log; one that is complete has no use for it."""
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(how_to_continue(log.path.parent)) from None
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
