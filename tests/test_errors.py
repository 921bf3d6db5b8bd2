"""Errors of arguments: in the words of the command line, and in those of Python."""

from __future__ import annotations

import pytest

from dse.errors import ArgumentError, DseError, MeasurementError, OutputError, StudyError


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
    ],
)
def test_measuring_and_writing_speak_of_options_on_the_command_line_only(
    kind: type[DseError], line: str, python: str
) -> None:
    error = kind(line)
    assert error.on_command_line() == line
    assert str(error) == python


def test_other_errors_are_worded_alike() -> None:
    for error in (DseError("give --out"), StudyError("mine.yaml", 3, 1, "wrong", "drop it")):
        assert error.on_command_line() == str(error)
