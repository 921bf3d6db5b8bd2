"""A point of a finished run by its number on the front, as people count: from 1."""

from __future__ import annotations

from dataclasses import replace

from dse.errors import ArgumentError, StudyError
from dse.pricing.problem import Problem
from dse.report import origin
from dse.report.design_point import Explained, Point
from dse.report.document import RunDocument
from dse.report.points import by_name, explained

BILLED = ("baseline", "recommended", "cheapest_within_5_percent", "fastest")


def point_at(document: RunDocument, row: int, option: str = "--row") -> Point:
    """The point in a row of the front. Raises :class:`ArgumentError` where there is none."""
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
        self.note = ""
        self._problem: Problem | None = None
        try:
            problem = origin.problem_of(document)
        except StudyError as cause:
            self.note = _not_again(f"its study cannot be read again ({cause})")
            return
        if changed := origin.changed(document, problem):
            self.note = _not_again(f"{' and '.join(changed)} changed since")
            return
        self._problem = problem

    def explained(self, row: int | None, option: str = "--row") -> Explained:
        """All of a point; row: None is the recommended one. Raises :class:`ArgumentError` where
        there is no such row."""
        point = self.document.recommended if row is None else point_at(self.document, row, option)
        values = None
        if self._problem is not None and not point.numbers:  # labels of ranges are rounded
            values = origin.values_of(self._problem, point.config)
        if self._problem is None or values is None:
            return self._kept(point)
        found = explained(self._problem, values)
        return replace(found, ties=point.ties, tied=point.tied)

    def _kept(self, point: Point) -> Explained:
        """What the run says of a point."""
        bills = (
            self.document.bills[name]
            for name in BILLED
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


def _not_again(why: str) -> str:
    return f"The numbers are those of the run; {why}, so that no bill is made for other points."
