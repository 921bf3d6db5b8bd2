"""Errors a user can meet. Each carries the exit status with which the command line ends."""

from __future__ import annotations


class DseError(Exception):
    """Base of every error that is reported as one line, never as a traceback."""

    exit_status = 2


class StudyError(DseError):
    """A file from the user is wrong: where, what is wrong, what would be right.

    ``str(error)`` is the one line ``file:line:column: problem; remedy``.
    Lines and columns count from 1; 0 means the place is not known and is left out.
    """

    def __init__(self, file: str, line: int, column: int, problem: str, remedy: str = "") -> None:
        self.file, self.line, self.column = file, line, column
        self.problem, self.remedy = problem, remedy
        place = f"{file}:{line}:{column}" if line else file
        super().__init__(" ".join(f"{place}: {problem}{'; ' if remedy else ''}{remedy}".split()))


class NoFeasiblePoint(DseError):
    """No design point meets every constraint."""

    exit_status = 3


class MeasurementError(DseError):
    """A measurement could not be made, or its result is wrong."""


class OutsideCalibration(DseError):
    """A prediction was asked for where the profile says nothing."""


class OutputError(DseError):
    """A result could not be written; what was there before is untouched."""
