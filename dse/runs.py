"""Whole runs from Python: what the commands run, calibrate and report do, without printing."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from dse.plan import carried_out, plan_of
from dse.search_options import SearchOptions

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
    return plain(carried_out(plan, f"dse.run({given!r})", started).document)


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
