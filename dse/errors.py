"""Errors a user can meet. Each carries the exit status with which the command line ends."""

from __future__ import annotations

import re

_OPTION = re.compile(r"(?<![\w'-])--([a-z]+(?:-[a-z]+)*)")
# Options that errors of measuring and writing name -> arguments of dse.calibrate and dse.run.
_ARGUMENTS = {"--budget": "budget_s", "--out": "out", "--ranks": "ranks", "--resume": "resume",
              "--runner": "runner"}  # fmt: skip


class DseError(Exception):
    """Base of every error that is reported as one line, never as a traceback."""

    exit_status = 2

    def on_command_line(self) -> str:
        """The error in the words of the command line."""
        return str(self)


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


class ArgumentError(StudyError):
    """An argument is wrong: which one, what is wrong, what would be right.

    Made in the words of the command line: ``--link-bandwidth``, also within problem and remedy.
    ``str(error)`` and the attributes have those of Python: ``link_bandwidth``. argument: its name
    in Python, where that is another than the option's.
    """

    def __init__(self, option: str, problem: str, remedy: str = "", argument: str = "") -> None:
        self._on_command_line = str(StudyError(option, 0, 0, problem, remedy))
        place = argument or _as_arguments(option)
        super().__init__(place, 0, 0, _as_arguments(problem), _as_arguments(remedy))

    def on_command_line(self) -> str:
        """The error in the words of the command line."""
        return self._on_command_line


def _as_arguments(text: str) -> str:
    """The options that a text names, as arguments."""
    return _OPTION.sub(lambda option: option[1].replace("-", "_"), text)


class NoFeasiblePoint(DseError):
    """No design point meets every constraint."""

    exit_status = 3


class _OptionError(DseError):
    """An error that may name options, made in the words of the command line.

    ``str(error)`` has the arguments of Python in place of those of :data:`_ARGUMENTS`; options of
    other programs, such as srun's, stay.
    """

    def __init__(self, message: str) -> None:
        self._on_command_line = message
        super().__init__(_OPTION.sub(lambda found: _ARGUMENTS.get(found[0], found[0]), message))

    def on_command_line(self) -> str:
        """The error in the words of the command line."""
        return self._on_command_line


class MeasurementError(_OptionError):
    """A measurement could not be made, or its result is wrong."""


class OutsideCalibration(DseError):
    """A prediction was asked for where the profile says nothing."""


class OutputError(_OptionError):
    """A result could not be written; what was there before is untouched."""
