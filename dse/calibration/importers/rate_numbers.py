"""The numbers of the rates of a log, as one decimal mark makes them.

``15.250`` may be 15.25 or 15250: the other rates decide, else the other numbers of the log, else
the caller has to. What is no number, ``1.2.3 it/s``, is told apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dse.calibration.importers.rate_in_line import WrittenRate
from dse.catalog import decimal_mark
from dse.errors import StudyError
from dse.units import LARGEST, SMALLEST


def mark_of_all(
    rows: Sequence[tuple[int, list[WrittenRate]]], others: Iterable[str], path: str
) -> str:
    """The decimal mark of all numbers of a unit, as they tell, or other numbers of the log.

    Raises StudyError where some have a comma and some a point, and where nothing tells.
    """
    numbers = [(line, one.number) for line, said in rows for one in said]
    sure = [(line, written, mark) for line, written in numbers
            if (mark := decimal_mark.mark_of(written))]  # fmt: skip
    for line, written, mark in sure:
        if mark != sure[0][2]:
            problem = f"'{written}' has another decimal mark than '{sure[0][1]}' before it"
            remedy = "write all rates in the same way, or give --decimal . or --decimal ,"
            raise StudyError(path, line, 1, problem, remedy)
    if sure:
        return sure[0][2]
    told = decimal_mark.usual(others)
    for line, written in numbers:
        if not told and not written.isdigit() and all(
            decimal_mark.well_formed(written, mark) for mark in decimal_mark.MARKS
        ):  # fmt: skip
            one, other = (
                f"{decimal_mark.value(written, mark):.10g}" for mark in decimal_mark.MARKS
            )
            problem = f"'{written}' may be {one} or {other}, and no other number of the log tells"
            remedy = "give --decimal . for the first, --decimal , for the second"
            raise StudyError(path, line, 1, problem, remedy)
    return told or decimal_mark.POINT


def check_certain(rows: Sequence[tuple[int, list[WrittenRate]]], path: str) -> None:
    """Refuse rates below zero, and numbers of which it is not certain that they are the rate."""
    for line, said in rows:
        for one in said:
            if one.negative:
                problem = f"'{one.quote}' is negative"
                raise StudyError(path, line, 1, problem, "write for example 1250.5")
            if one.doubt:
                raise StudyError(path, line, 1, f"'{one.quote}' {one.doubt}", one.remedy)


def values_of(
    rows: Sequence[tuple[int, list[WrittenRate]]], mark: str
) -> list[tuple[int, list[tuple[float, WrittenRate]]]]:
    """(line, [(rate, as it is written)]): what can be one of each line; the first counts."""
    found = []
    for line, said in rows:
        values = [(decimal_mark.value(one.number, mark) * one.times, one) for one in said
                  if decimal_mark.well_formed(one.number, mark)]  # fmt: skip
        fit = [value for value in values if SMALLEST <= value[0] <= LARGEST]
        found += [(line, fit)] if fit else []
    return found


def no_numbers(row: tuple[int, list[WrittenRate]], mark: str) -> list[tuple[int, str]]:
    """The line, and what is no number in it."""
    line, said = row
    return [(line, one.number) for one in said if not decimal_mark.well_formed(one.number, mark)]


def not_a_number(junk: tuple[int, str], path: str, decimal: str) -> StudyError:
    """The error of a log that has a unit, but no number before or behind it."""
    line, written = junk
    how = f" with the decimal mark {decimal}" if decimal else ""
    remedy = "leave --decimal out" if decimal else "write for example 1250.5"
    return StudyError(path, line, 1, f"'{written}' is not a number{how}", remedy)
