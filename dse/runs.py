"""Whole runs from Python: what the commands run, calibrate and report do, without printing."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from dse.errors import ArgumentError, DseError, StudyError
from dse.plan import Done, Listener, Plan, carried_out, how_to_continue, plan_of
from dse.search_options import SearchOptions
from dse.text_source import is_fleet

if TYPE_CHECKING:
    from dse.api import Study
    from dse.calibration import Profile

File: TypeAlias = str | PathLike[str]


def run(
    study: File | Mapping[str, Any] | Study, out: File | None = None, **options: Any
) -> dict[str, Any]:
    """Search a study and write its report; returns the document that is run.json.

    study: as :func:`dse.load_study` takes it, or what that returns. The report goes to ``out``,
    else to reports/STUDY. options: the fields of :class:`dse.search_options.SearchOptions`, which
    are the options of ``dse run``; what is left out is left to the study. Raises StudyError,
    NoFeasiblePoint or OutputError.

    >>> document = run("ps-vs-allreduce", out="my-report")
    >>> document["recommended"]["speedup"] > 1
    True
    """
    from dse.api import Study, load_study
    from dse.pricing.load import asking
    from dse.report.json_form import plain

    started = time.perf_counter()
    asked = SearchOptions(out=out, **options)
    loaded = study if isinstance(study, Study) else load_study(study)
    plan = plan_of(asking(loaded.problem, asked.questions), asked)
    given = str(study) if isinstance(study, str | PathLike) else loaded.problem.study.path
    return plain(run_plan(plan, f"dse.run({given!r})", started).document)


def run_studies(
    studies: Sequence[File], out: File | None = None, **options: Any
) -> list[dict[str, Any]]:
    """Search studies one after the other, on one executor; a folder stands for those in it.

    Returns the document of each. A study that fails does not keep the others from being searched:
    its document holds nothing but its path under ``study``, ``error`` and ``exit_status``. Reports
    go to folders in ``out``, else in reports. options: those of :func:`run`; an
    ArgumentError is raised before anything is searched.

    >>> documents = run_studies(["ps-vs-allreduce", "no-such-study"], out="my-report")
    >>> ["error" in document for document in documents]
    [False, True]
    """
    if isinstance(studies, str | PathLike):
        problem = f"'{studies}' is one study, or one folder"
        raise ArgumentError("studies", problem, f"give a list, [{str(studies)!r}]")
    names = list(map(_path, studies))
    asked = SearchOptions(out=out, **options)
    files = study_files(names)
    found = results(files, asked, f"dse.run_studies({names!r})", Listener())
    return [result.as_json(str) for result in in_order(found, files)]


def _path(study: object) -> str:
    """The path or name of a study. Raises ArgumentError for anything else."""
    if isinstance(study, str | PathLike):
        return str(study)
    problem = f"{type(study).__name__} is no path"
    raise ArgumentError("studies", problem, "give paths or names; dse.run takes a study")


def run_plan(plan: Plan, command: str, started: float, listener: Listener | None = None) -> Done:
    """Carry out a plan. started: of time.perf_counter."""
    from dse.search.executors import Executors

    plan.check_folder()
    listener = listener or Listener()
    with closing(Executors(listener.say)) as executors:
        return carried_out(plan, executors, command, started, listener)


@dataclass(frozen=True)
class Result:
    """What came of one of several studies: its report, or why there is none."""

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


def in_order(results: Iterable[Result], studies: Sequence[str]) -> list[Result]:
    """Results in the order in which their studies were given."""
    return sorted(results, key=lambda result: studies.index(result.study))


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


def results(
    studies: Sequence[str], options: SearchOptions, command: str, listener: Listener
) -> Iterator[Result]:
    """What comes of each study: first of those that cannot be planned, so that mistakes are told
    before time is spent. ``options.out`` is the folder of the reports' folders."""
    from dse.search.executors import Executors

    plans = list(_plans(studies, options))
    yield from (Result(study, plan) for study, plan in plans if isinstance(plan, DseError))
    with closing(Executors(listener.say)) as executors:
        for number, (study, plan) in enumerate(plans, 1):
            if isinstance(plan, DseError):
                continue
            which, started = f"[{number}/{len(plans)}] ", time.perf_counter()
            try:
                done = carried_out(plan, executors, command, started, listener, which)
                for line in (f"Report: {done.page}", *done.kept):
                    listener.say(line)
                result = Result(study, done)
            except DseError as error:
                result = Result(study, error)
            except KeyboardInterrupt:  # of what is finished nothing is searched again
                raise KeyboardInterrupt(how_to_continue(plan.folder)) from None
            yield result


def _plans(studies: Sequence[str], options: SearchOptions) -> Iterator[tuple[str, Plan | DseError]]:
    """Every study's plan, or what is wrong with it."""
    from dse.pricing.load import load

    taken: dict[str, str] = {}
    for study in studies:
        try:
            plan = plan_of(load(study, options.questions), options)
            if plan.name in taken:
                remedy = "rename one of them: its name is that of its report"
                problem = f"study '{plan.name}' has the same name as {taken[plan.name]}"
                raise plan.problem.study.source.error(("study",), problem, remedy)
            plan = replace(plan, folder=Path(options.out or "reports") / plan.name)
            plan.check_folder()
        except DseError as error:
            yield study, error
            continue
        taken[plan.name] = study
        yield study, plan


def calibrate(
    out: File = "calibrations",
    budget_s: float = 60.0,
    ranks: Sequence[int] | None = None,
    name: str = "this-machine",
    runner: str | None = None,
    *,
    mpi: str | None = None,
    hostfile: File | None = None,
    ranks_per_node: int | None = None,
    interface: str | None = None,
    link: str | None = None,
    link_bandwidth: str | None = None,
    address: str | None = None,
    servers: Sequence[int] | None = None,
    device: str | None = None,
    workload: str | None = None,
) -> Profile:
    """Measure with real ranks, fit a profile, write and return it.

    Arguments are the options of ``dse calibrate run``; which runner takes which of them is in
    docs/calibration.md. ranks: None is 2, 3, 4, 8, or what the hosts have room for. runner: None
    measures allreduce over MPI. Raises ArgumentError for one that cannot be or that the runner does
    not take, MeasurementError where no measurement can be made, OutputError.

    >>> profile = calibrate(budget_s=20, ranks=(2, 3))  # doctest: +SKIP
    >>> profile.error("ring")  # median, relative, on rank counts it was not fitted on
    ... # doctest: +SKIP
    """
    from dse.calibration import calibrate_here, read_profile
    from dse.calibration.runners import registry
    from dse.calibration.session import whereabouts

    where = whereabouts(
        registry.find_runner(runner), mpi=mpi,
        hostfile=None if hostfile is None else Path(hostfile),
        ranks_per_node=ranks_per_node, interface=interface, link=link,
        link_bandwidth=link_bandwidth, address=address, servers=servers, device=device,
        workload=workload,
    )  # fmt: skip
    found = calibrate_here(Path(out), budget_s, ranks, name, where=where, runner=runner)
    return read_profile(found[1])


def rebuild_report(folder: File) -> Path:
    """Write the report of a finished run again, from its run.json; returns the page's path.

    >>> document = run("ps-vs-allreduce", out="my-report")
    >>> rebuild_report("my-report").name
    'report.html'
    """
    from dse.report.document_files import read_document
    from dse.report.write import write_report

    return write_report(read_document(Path(folder)), Path(folder))
