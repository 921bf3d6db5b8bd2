"""Errors a user can meet. Each carries the exit status with which the command line ends."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

# The options of dse (a test compares): those of other programs, such as mpirun's, keep their names.
OPTIONS = frozenset((
    "accumulation", "address", "against", "algorithm", "all", "axes", "budget", "bytes",
    "collective", "confidence", "deadline", "device", "engine", "executor", "expect", "fleet",
    "for", "force", "format", "gpus", "hostfile", "install-completion", "interface", "json",
    "library", "link", "link-bandwidth", "long", "max-nodes", "max-ranks-per-node", "measured",
    "minimize", "mpi", "name", "network", "nodes", "on", "operations", "out", "pdf", "points",
    "port", "power", "precision", "prices", "quality", "ranks", "ranks-per-node", "resume",
    "row", "runner", "samples", "seed", "select", "sequence", "servers", "set", "show-completion",
    "stack", "study", "system", "tokens", "version", "workload", "yaml",
))  # fmt: skip
# What stands in quotes, or before =, is a user's or another program's.
_OPTION = re.compile(r"(?<!\w)'[^']*'(?!\w)|(?<![\w'-])--([a-z]+(?:-[a-z]+)*)(?![\w=-])")


_LONGEST_WORD, _LONGEST = 120, 800  # characters of a message that somebody is to read
MOST_TOLD = 10  # mistakes of one file


def printable(text: str) -> str:
    """``text`` without characters that could steer a terminal; unusual blanks become usual ones."""
    return "".join(map(_shown, text))


def _shown(char: str) -> str:
    if char.isprintable() or char in "\t\n\r":
        return char
    return " " if char.isspace() else "?"


def one_line(text: str) -> str:
    """``text`` as one line that a terminal can show, shortened where nobody would read on."""
    words = (_shortened(word, _LONGEST_WORD) for word in printable(text).split())
    return _shortened(" ".join(words), _LONGEST)


def _shortened(text: str, most: int) -> str:
    """The two ends of a text that is longer than ``most``."""
    return text if len(text) <= most else f"{text[: most * 2 // 3]}...{text[-most // 4 :]}"


class DseError(Exception):
    """Base of every error that is reported as one line, never as a traceback."""

    exit_status = 2
    _on_command_line = ""

    def __reduce__(self) -> tuple[Any, ...]:
        """Errors travel between processes as they are, whatever their class is made from."""
        return _blank, (type(self), self.args), self.__dict__

    def on_command_line(self) -> str:
        """The error in the words of the command line."""
        return self._on_command_line or str(self)


def _blank(kind: type[DseError], args: tuple[Any, ...]) -> DseError:
    return kind.__new__(kind, *args)


class StudyError(DseError):
    """A file from the user is wrong: where, what is wrong, what would be right.

    ``str(error)`` is the one line ``file:line:column: problem; remedy``.
    Lines and columns count from 1; 0 means the place is not known and is left out. Where several
    things are wrong, the attributes are those of the first, ``mistakes`` are all of them, and
    ``str(error)`` has a line for each of the first ten.
    """

    def __init__(self, file: str, line: int, column: int, problem: str, remedy: str = "") -> None:
        self.file, self.line, self.column = file, line, column
        self.problem, self.remedy = problem, remedy
        place = f"{file}:{line}:{column}" if line else file
        said = f"{one_line(problem)}{'; ' if remedy else ''}{one_line(remedy)}"
        super().__init__(f"{' '.join(printable(place).split())}: {said}")
        self.mistakes: tuple[StudyError, ...] = (self,)


def together(mistakes: Sequence[StudyError]) -> StudyError:
    """One error that stands for several, in their order, of which there is at least one."""
    first = mistakes[0]
    if len(mistakes) == 1:
        return first
    found = StudyError(first.file, first.line, first.column, first.problem, first.remedy)
    found.mistakes = tuple(mistakes)
    more = len(mistakes) - MOST_TOLD
    rest, remedy = f"{more} more mistake{'s' if more > 1 else ''}", "correct these first"
    where = str(StudyError(first.file, 0, 0, rest, remedy)) if first.line else f"{rest}; {remedy}"
    last = [where] if more > 0 else []
    told = mistakes[:MOST_TOLD]
    found.args = ("\n".join([*map(str, told), *last]),)
    found._on_command_line = "\n".join([*(one.on_command_line() for one in told), *last])
    return found


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


def _as_arguments(text: str, others: Mapping[str, str] | None = None) -> str:
    """The options that a text names, as arguments. others: by option, where the name is another."""

    def argument(found: re.Match[str]) -> str:
        option = found[1]
        if option not in OPTIONS:
            return found[0]
        return (others or {}).get(option, option.replace("-", "_"))

    return _OPTION.sub(argument, text)


class NoFeasiblePoint(DseError):
    """No design point meets every constraint."""

    exit_status = 3


class _OptionError(DseError):
    """An error that may name options, made in the words of the command line.

    ``str(error)`` has the arguments of Python in place of them.
    """

    _other_names: ClassVar[Mapping[str, str]] = {}

    def __init__(self, message: str) -> None:
        self._on_command_line = message
        super().__init__(_as_arguments(message, self._other_names))


class ClusterError(_OptionError):
    """A Ray cluster cannot be reached, or failed."""


class MeasurementError(_OptionError):
    """A measurement could not be made, or its result is wrong."""

    _other_names: ClassVar[Mapping[str, str]] = {"budget": "budget_s"}


class OutsideCalibration(_OptionError):
    """A prediction was asked for where the profile says nothing."""


class OutputError(_OptionError):
    """A result could not be written; what was there before is untouched."""
