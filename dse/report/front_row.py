"""A point of a finished run by its number on the front, as people count: from 1."""

from __future__ import annotations

from dse.errors import ArgumentError
from dse.report.design_point import Point
from dse.report.document import RunDocument


def point_at(document: RunDocument, row: int, option: str = "--row") -> Point:
    """The point in a row of the front. Raises :class:`ArgumentError` where there is none."""
    count = len(document.front)
    if not 1 <= row <= count:
        problem = f"the front of {document.study.name} has rows 1 to {count}, not {row}"
        raise ArgumentError(option, problem, "see the column # of the report, or row in front.csv")
    return document.front[row - 1]
