"""dse: which training cluster, and which way of training on it, buys most speed for the money.

The same as the command line, from Python. Units are SI; errors are :class:`dse.errors.DseError`.

>>> import dse
>>> study = dse.load_study("ps-vs-allreduce")
>>> found = dse.evaluate(study, [{"aggregation": "ps-grpc"}, {"aggregation": "ring-nccl"}])
>>> bool(found["speedup"][1] > found["speedup"][0])
True
"""

from __future__ import annotations

from os import PathLike

from dse.version import __version__

TYPE_CHECKING = False  # as typing has it, which takes a while to import
if TYPE_CHECKING:  # importing dse costs nothing: each function imports what it needs
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import Any, TypeAlias

    import numpy as np
    from numpy.typing import NDArray

    from dse.calibration import Profile
    from dse.pricing.problem import Problem

__all__ = [
    "__version__",
    "calibrate",
    "evaluate",
    "load_study",
    "rebuild_report",
    "run",
    "run_studies",
]

File: TypeAlias = str | PathLike[str]


def load_study(study: File) -> Problem:
    """A study, checked, with its names, prices and calibration profiles resolved.

    ``study`` is a path, or the name of a study that comes with dse. Raises StudyError with the
    place of what is wrong.

    >>> load_study("ps-vs-allreduce").workload.name
    'vgg16'
    """
    from pathlib import Path

    from dse.pricing import load

    return load.load(Path(study))


def evaluate(
    study: Problem, points: Sequence[Mapping[str, Any]]
) -> dict[str, NDArray[np.float64 | np.bool_]]:
    """Price design points, all of them in few array operations.

    A point maps axes to values as a study file writes them (``"25 Gbps"``, ``8``); axes it leaves
    out have the baseline's value. Returns every quantity a constraint may name, and
    ``extrapolated``, each of shape (points,); NaN is what the catalogue does not know.
    Raises StudyError for an axis or value that does not exist.

    >>> found = evaluate(load_study("ps-vs-allreduce"), [{"gpus": n} for n in (16, 32)])
    >>> found["capital"].shape, float(found["speedup"][0])
    ((2,), 1.0)
    """
    import numpy as np

    from dse.pricing import load
    from dse.study import QUANTITIES
    from dse.study.assign import assigned

    names = load.known_names()
    whole = [
        {
            **study.study.baseline.values,
            **dict(assigned(study.study, f"{axis}={value}", names) for axis, value in one.items()),
        }
        for one in points
    ]
    found: dict[str, NDArray[np.float64 | np.bool_]] = {
        name: np.full(len(whole), np.nan) for name in QUANTITIES
    }
    found["extrapolated"] = np.zeros(len(whole), dtype=bool)
    for where, evaluation in study.rows(whole):
        for name in QUANTITIES:
            found[name][where] = evaluation[name]
        found["extrapolated"][where] = ~evaluation.in_range
    return found


def run(
    study: File,
    out: File | None = None,
    engine: str | None = None,
    executor: str | None = None,
    address: str | None = None,
    budget: int | None = None,
    seed: int | None = None,
    resume: bool = False,
) -> dict[str, Any]:
    """Search a study and write its report; returns the document that is run.json.

    Arguments are the options of ``dse run``; what is None is left to the study. The report goes
    to ``out``, else to reports/STUDY. Raises StudyError, NoFeasiblePoint or OutputError.

    >>> document = run("ps-vs-allreduce", out="my-report")
    >>> document["recommended"]["speedup"] > 1
    True
    """
    from pathlib import Path

    from dse.commands.options import Options
    from dse.commands.run import run_study
    from dse.report.json_form import plain

    folder = None if out is None else Path(out)
    options = Options(folder, engine, executor, address, budget, seed, resume)
    found = run_study(str(study), options, command=f"dse.run({str(study)!r})", quiet=True)
    return plain(found)


def run_studies(
    studies: Sequence[File],
    out: File | None = None,
    engine: str | None = None,
    executor: str | None = None,
    address: str | None = None,
    budget: int | None = None,
    seed: int | None = None,
    resume: bool = False,
) -> list[dict[str, Any]]:
    """Search studies one after the other, on one executor; a folder stands for those in it.

    Returns the document of each. A study that fails does not keep the others from being searched:
    its document holds nothing but its path under ``study``, ``error`` and ``exit_status``. Reports
    go to folders in ``out``, else in reports. Other arguments are those of :func:`run`.

    >>> documents = run_studies(["ps-vs-allreduce", "no-such-study"], out="my-report")
    >>> ["error" in document for document in documents]
    [False, True]
    """
    from pathlib import Path

    from dse.commands.options import Options
    from dse.commands.several_studies import documents, study_files

    names = [str(study) for study in studies]
    folder = None if out is None else Path(out)
    options = Options(folder, engine, executor, address, budget, seed, resume)
    return documents(study_files(names), options, command=f"dse.run_studies({names!r})")


def calibrate(
    out: File = "calibrations",
    budget_s: float = 60.0,
    ranks: Sequence[int] = (2, 3, 4, 8),
    name: str = "this-machine",
) -> Profile:
    """Measure allreduce with real MPI ranks on this machine, fit a profile, write and return it.

    Raises MeasurementError where no measurement can be made.

    >>> profile = calibrate(budget_s=20, ranks=(2, 3))  # doctest: +SKIP
    >>> profile.error("ring")  # median, relative, on rank counts it was not fitted on
    ... # doctest: +SKIP
    """
    from pathlib import Path

    from dse.calibration import calibrate_here, read_profile

    return read_profile(calibrate_here(Path(out), budget_s, ranks, name)[1])


def rebuild_report(folder: File) -> Path:
    """Write the report of a finished run again, from its run.json; returns the page's path.

    >>> document = run("ps-vs-allreduce", out="my-report")
    >>> rebuild_report("my-report").name
    'report.html'
    """
    from pathlib import Path

    from dse.report.document_files import read_document
    from dse.report.write import write_report

    return write_report(read_document(Path(folder)), Path(folder))
