"""How a study is searched, and a search carried out, from the study file to the report."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.errors import NoFeasiblePoint
from dse.search_options import SearchOptions

if TYPE_CHECKING:
    from dse.pricing.problem import Problem
    from dse.report.document import RunDocument
    from dse.search.executors import Executor
    from dse.search.guided import Archive
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

    engine, reason: as chosen. kind, address: of the executor. folder:
    of the report. options: as they were given.
    """

    problem: Problem
    engine: str
    reason: str
    kind: str
    address: str | None
    budget: int
    seed: int
    folder: Path
    options: SearchOptions

    def executor(
        self, say: Callable[[str], None] = lambda _: None
    ) -> AbstractContextManager[Executor | None]:
        """Opens the executor of the search; None of a guided one, which runs in this process."""
        if self.engine == "guided":
            return nullcontext()
        from dse.search.executors import opened

        return closing(opened(self.kind, self.address, say))

    def search(self, where: Executor | None, log: RunLog | None, progress: Progress) -> Outcome:
        """Search the study, and write nothing but the log."""
        from dse.search.run import run

        return run(self.problem, self.engine, where, log, progress, self.budget, self.seed,
                   self.reason)  # fmt: skip

    @property
    def choices(self) -> dict[str, Any]:
        """What a guided search follows from besides its study; empty of another."""
        from importlib import metadata

        if self.engine != "guided":
            return {}
        packages = {name: metadata.version(name) for name in ("optuna", "scipy", "moocore")}
        return {"seed": self.seed, "budget": self.budget, **packages}

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
    budget = search.budget if options.points is None else options.points
    return Plan(
        problem,
        engine,
        reason,
        options.executor or ("ray" if options.address else place.kind),
        options.address or place.address,
        budget,
        search.seed if options.seed is None else options.seed,
        Path(options.out or f"reports/{problem.study.name}"),
        options,
    )


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
    """Search a study and write its report.

    command: that asked for it. started: of time.perf_counter.
    """
    from dse.report import assembly
    from dse.report.document_files import RUN_LOG
    from dse.report.write import earlier_report, write_report
    from dse.search.fingerprint import fingerprint
    from dse.search.runlog import RunLog

    plan.check_folder()
    listener = listener or Listener()
    for line in plan.problem.study.told:
        listener.say(f"note: {line}")
    listener.say(f"{plan.problem.study.name}: {plan.engine} search, {plan.reason}")
    resume = plan.options.resume
    with plan.executor(listener.say) as where:
        search = fingerprint(plan.problem, plan.engine, plan.choices)
        log = RunLog(plan.folder / RUN_LOG, search, resume)
        with _kept_for_resume(log):
            for line in _of_the_log(log, resume):
                listener.say(line)
            with listener.progress() as progress:
                outcome = plan.search(where, log, progress)
            total_s = time.perf_counter() - started
            paths = profile_paths(plan.problem)
            found = assembly.build(outcome, command, plan.seed, total_s, paths)
            earlier = earlier_report(plan.folder, found)
            page = write_report(found, plan.folder)
            _keep_points(outcome.archive, plan.problem, plan.folder)
    return Done(found, page, earlier)


def _keep_points(archive: Archive | None, problem: Problem, folder: Path) -> None:
    """Write every point that a guided search priced beside its report.

    A table of an earlier guided run goes when another engine has run here since.
    """
    from dse.calibration.files import write_text
    from dse.search.guided.export import points_csv
    from dse.search.run import labels_of

    path = folder / POINTS
    if archive is None:
        path.unlink(missing_ok=True)
        return
    labels = [labels_of(problem, archive.values(at)) for at in range(len(archive))]
    write_text(path, points_csv(archive, labels))


def _of_the_log(log: RunLog, resume: bool) -> Iterator[str]:
    """What a user must know of the log that was there."""
    if log.done:
        yield f"resuming: {len(log.done)} units of work are done"
    elif resume:
        yield "nothing to resume: starting afresh"
    if log.elsewhere:
        yield f"some were priced on a processor of another kind, {log.elsewhere}"
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
