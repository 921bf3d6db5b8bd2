"""Errors of arguments: in the words of the command line, and in those of Python."""

from __future__ import annotations

import ast
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

import dse
from dse import errors
from dse.catalog import UnknownName
from dse.commands.app import app
from dse.errors import (
    OPTIONS,
    ArgumentError,
    ClusterError,
    DseError,
    MeasurementError,
    NoFeasiblePoint,
    OutputError,
    OutsideCalibration,
    StudyError,
    printable,
)

SPEAK_OF_OPTIONS = (ClusterError, MeasurementError, OutputError, OutsideCalibration)
# Of places in files, without options, and the base of all.
OTHERS = (StudyError, NoFeasiblePoint, DseError)


@pytest.mark.parametrize(
    ("error", "line", "python"),
    [
        (
            ArgumentError("--link-bandwidth", "does not apply to --runner torch", "leave it out"),
            "--link-bandwidth: does not apply to --runner torch; leave it out",
            "link_bandwidth: does not apply to runner torch; leave it out",
        ),
        (
            ArgumentError("--ranks, --servers", "too many", "give fewer"),
            "--ranks, --servers: too many; give fewer",
            "ranks, servers: too many; give fewer",
        ),
        (
            ArgumentError("--budget", "must be positive", "", "budget_s"),
            "--budget: must be positive",
            "budget_s: must be positive",
        ),
        (
            ArgumentError("--name", "'--x' is not a-name", "write this--so"),
            "--name: '--x' is not a-name; write this--so",
            "name: '--x' is not a-name; write this--so",
        ),
    ],
)
def test_an_argument_has_two_names(error: ArgumentError, line: str, python: str) -> None:
    assert error.on_command_line() == line
    assert str(error) == python
    assert python == f"{error.file}: {error.problem}{'; ' if error.remedy else ''}{error.remedy}"


@pytest.mark.parametrize(
    ("kind", "line", "python"),
    [
        (
            MeasurementError,
            "3 s is too short; give --budget 6 or more",
            "3 s is too short; give budget_s 6 or more",
        ),
        (
            OutputError,
            "x: is full; continue with --resume, or choose another --out",
            "x: is full; continue with resume, or choose another out",
        ),
        (MeasurementError, "use srun --mpi=pmix", "use srun --mpi=pmix"),
        (
            MeasurementError,
            "mpirun: adding the --allow-run-as-root option; --budget 6 is too little",
            "mpirun: adding the --allow-run-as-root option; budget_s 6 is too little",
        ),
        (ClusterError, "no Ray; leave --address out", "no Ray; leave address out"),
        (ClusterError, "no Ray; 'ray start --head'", "no Ray; 'ray start --head'"),
        (OutsideCalibration, "choose --algorithm from ring", "choose algorithm from ring"),
        (OutsideCalibration, "drop --link-bandwidth", "drop link_bandwidth"),
    ],
)
def test_errors_speak_of_options_on_the_command_line_only(
    kind: type[DseError], line: str, python: str
) -> None:
    error = kind(line)
    assert error.on_command_line() == line
    assert str(error) == python


def test_what_is_shown_steers_no_terminal() -> None:
    said = printable("a\x1b[31mb\x1fc\x85d\xa0e\u2003f\u202eg\th\ni\x00")
    assert said == "a?[31mb c d e f?g\th\ni?"


def _options(command: Any) -> Iterator[str]:
    for parameter in command.params:
        yield from (name[2:] for name in parameter.opts if name.startswith("--"))
    for below in getattr(command, "commands", {}).values():
        yield from _options(below)


def test_every_option_has_an_argument_in_every_error_that_may_name_it() -> None:
    options = set(_options(get_command(app)))
    assert options == OPTIONS
    text = " or ".join(f"--{name}" for name in sorted(options))
    for kind in SPEAK_OF_OPTIONS:
        assert kind(text).on_command_line() == text
        assert "--" not in str(kind(text))
    assert "--" not in str(ArgumentError("--ranks", text, text))
    exported = {
        kind for name in dse.__all__
        if isinstance(kind := getattr(dse, name), type) and issubclass(kind, errors.DseError)
    }  # fmt: skip
    assert exported == {*SPEAK_OF_OPTIONS, *OTHERS, ArgumentError}


def test_no_error_without_arguments_names_an_option() -> None:
    """Outside the commands, which only the command line reaches."""
    package = Path(dse.__file__).parent
    plain = {kind.__name__ for kind in OTHERS} - {"StudyError"}
    calls = 0
    for path in package.rglob("*.py"):
        if path.is_relative_to(package / "commands"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in plain:
                calls += 1
                assert "--" not in ast.unparse(node), path
    assert calls


def made() -> list[DseError]:
    """One of every kind."""
    several = errors.together([StudyError("a.yaml", n, 2, f"wrong {n}", "mend it") for n in (1, 2)])
    unknown = errors.together([several, ArgumentError("--row", "is 0", "give --row 1")])
    return [
        StudyError("a.yaml", 3, 4, "is wrong", "mend it"), ArgumentError("--row", "is 0"), several,
        unknown, UnknownName("accelerators", "h1000", ("h100-sxm",)), NoFeasiblePoint("none"),
        *(kind("give --budget") for kind in SPEAK_OF_OPTIONS),
    ]  # fmt: skip


@pytest.mark.parametrize("error", made(), ids=lambda error: type(error).__name__)
def test_errors_travel_between_processes(error: DseError) -> None:
    found = pickle.loads(pickle.dumps(error))
    assert type(found) is type(error)
    assert (str(found), found.on_command_line()) == (str(error), error.on_command_line())
    if isinstance(error, StudyError):
        assert (found.file, found.line, found.problem) == (error.file, error.line, error.problem)
        assert list(map(str, found.mistakes)) == list(map(str, error.mistakes))
