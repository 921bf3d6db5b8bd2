"""The table of runners: each row can be called, takes its own options, and is in the docs."""

from __future__ import annotations

import inspect
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

from dse.calibration.library_part import AUTO
from dse.calibration.runners import registry
from dse.calibration.runners.registry import RUNNERS, Runner, command_for, find_runner, help_text
from dse.calibration.runners.started_rank import MPIRUN, SRUN, TORCHRUN
from dse.commands.calibrate.run import run as command
from dse.errors import StudyError
from tests.calibration import library_profiles, server_profiles

DOCS = Path(__file__).parents[3] / "docs" / "calibration.md"
LAUNCHERS = (MPIRUN, SRUN, TORCHRUN)
EVERY = pytest.mark.parametrize("runner", RUNNERS, ids=lambda one: one.name)


def parameters(function: str) -> list[str]:
    """The names of the parameters of 'module:function', which must be annotated to be told."""
    module, name = function.split(":")
    found = getattr(import_module(module, registry.__package__), name)
    return list(inspect.get_annotations(found))


@EVERY
def test_the_functions_of_a_row_have_the_one_signature(runner: Runner) -> None:
    assert parameters(runner.function) == ["request", "return"]
    assert bool(runner.rank_function) == bool(runner.launchers)
    if runner.rank_function:
        assert parameters(runner.rank_function) == ["request", "me", "return"]
    assert set(runner.launchers) <= set(LAUNCHERS)


@EVERY
def test_the_options_of_a_row_are_options_of_the_command(runner: Runner) -> None:
    known = {f"--{name.replace('_', '-')}" for name in inspect.signature(command).parameters}
    assert set(runner.options) <= known
    assert len(set(runner.options)) == len(runner.options)


@EVERY
def test_the_help_and_the_docs_name_every_runner(runner: Runner) -> None:
    assert f"{runner.name}: {runner.what}" in help_text()
    options = " ".join(f"`{option}`" for option in runner.options)
    row = f"| `{runner.name}` | {runner.what} | {options} | {', '.join(runner.launchers)} |"
    assert row.replace("|  |", "| |") in DOCS.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize(
    ("launcher", "usual"), [(None, "mpi"), (MPIRUN, "mpi"), (SRUN, "mpi"), (TORCHRUN, "torch")]
)
def test_without_a_name_the_launcher_decides(launcher: str | None, usual: str) -> None:
    assert find_runner(None, launcher).name == usual


@EVERY
@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_runner_measures_as_ranks_or_says_which_do(runner: Runner, launcher: str) -> None:
    if launcher in runner.launchers:
        assert find_runner(runner.name, launcher) is runner
        return
    with pytest.raises(StudyError, match=f"cannot measure with the ranks that {launcher} started"):
        find_runner(runner.name, launcher)


def test_a_report_names_the_runner_that_measures_a_profile_again() -> None:
    served = server_profiles.profile(ps={"grpc": server_profiles.part()}, transport="grpc")
    assert command_for(served) == "dse calibrate run --runner grpc"
    theirs = library_profiles.theirs()
    assert theirs.measured_algorithms == (AUTO,)
    for transport, said in (
        ("nccl", "dse calibrate run --runner torch"),
        ("gloo", "dse calibrate run --runner torch"),
        ("mpi", "dse calibrate run"),
    ):
        assert command_for(replace(theirs, transport=transport)) == said
