"""`dse calibrate run --runner`: what is offered, what goes together, and ways other than MPI."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest

import dse
from dse.calibration import read_profile
from dse.calibration.experiment import Experiment
from dse.calibration.runners import registry
from dse.calibration.runners.registry import ALLREDUCE, RUNNERS, Request, Runner
from dse.commands import app
from dse.commands.app import run_command
from tests.calibration import synthetic
from tests.commands import command

# An option that not every runner takes, with a value that is right where it applies.
VALUES = {
    "--ranks": "2,3",
    "--mpi": "openmpi",
    "--hostfile": "hosts",
    "--ranks-per-node": "1",
    "--interface": "lo",
    "--link": "10gbe",
    "--link-bandwidth": "10 Gbps",
    "--address": "host:6379",
    "--servers": "1,2",
    "--device": "cpu",
    "--workload": "bert-base-s128",
    "--operations": "all_gather,alltoall",
}
ASKED: list[Request] = []


def measured(asked: Request) -> Experiment:
    """A runner as a newcomer would write it, but that nothing runs."""
    ASKED.append(asked)
    return synthetic.experiment()


MADE_UP = Runner(
    "made-up", "allreduce on paper", ALLREDUCE, ("--ranks", "--link"), f"{__name__}:measured"
)


def run_here(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *options: str
) -> tuple[int, str, str]:
    """`dse calibrate run OPTIONS` in this process: exit status, stdout, stderr."""
    monkeypatch.setattr(sys, "argv", ["dse", "calibrate", "run", *options])
    status = run_command()
    said = capsys.readouterr()
    return status or 0, said.out, said.err


def test_every_option_that_some_runner_takes_is_tried_here() -> None:
    assert {option for one in RUNNERS for option in one.options} == set(VALUES)


@pytest.mark.parametrize(
    ("runner", "option"),
    [(one, option) for one in RUNNERS for option in VALUES if option not in one.options],
    ids=lambda part: part.name if isinstance(part, Runner) else part,
)
def test_an_option_of_other_runners_is_refused_in_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    runner: Runner,
    option: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    options = ["--runner", runner.name, option, VALUES[option]]
    status, out, err = run_here(monkeypatch, capsys, *options)
    assert (status, out) == (2, "")
    begin = f"dse: {option}: does not apply to --runner {runner.name}; leave it out, or give "
    (line,) = err.splitlines()
    assert line.startswith(f"{begin}--runner ")
    named = line.removeprefix(f"{begin}--runner ").replace(" or ", ", ").split(", ")
    assert named == [one.name for one in RUNNERS if option in one.options]
    assert list(tmp_path.iterdir()) == []


def test_python_measures_with_any_runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "RUNNERS", (*RUNNERS, MADE_UP))
    found = dse.calibrate(tmp_path, 3, (2, 3), "paper", "made-up", link="string")
    assert found.name == "paper"
    asked = ASKED.pop()
    assert (asked.ranks, asked.link) == ((2, 3), "string")


def test_a_runner_of_one_more_row_is_offered_and_measures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(registry, "RUNNERS", (*RUNNERS, MADE_UP))
    monkeypatch.setattr(app, "_command", app._command.__wrapped__)  # else made before, without it
    monkeypatch.chdir(tmp_path)
    _, shown, _ = run_here(monkeypatch, capsys, "--help")
    assert "made-up: allreduce on paper" in " ".join(shown.split())

    made_up = ["--runner", "made-up", "--link", "string", "--budget", "3"]
    status, told, err = run_here(monkeypatch, capsys, *made_up, "--name", "paper")
    assert (status, err) == (0, "")
    assert told.startswith("measuring allreduce on paper on this machine for 3 s\n")
    asked = ASKED.pop()
    assert (asked.budget_s, asked.name, asked.ranks, asked.link) == (
        3,
        "paper",
        None,
        "string",
    )
    assert read_profile(tmp_path / "calibrations" / "paper.yaml").fits

    status, _, err = run_here(monkeypatch, capsys, "--runner", "made-up", "--device", "cpu")
    assert status == 2
    assert "--device: does not apply to --runner made-up; leave it out, or give" in err
    status, _, err = run_here(monkeypatch, capsys, "--runner", "torch", "--mpi", "openmpi")
    assert status == 2
    assert ASKED == []


def test_a_study_that_sums_alone_measures_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(registry, "RUNNERS", (*RUNNERS, MADE_UP))
    monkeypatch.chdir(tmp_path)
    Path("study.yaml").write_text(
        "study: own\nworkload: llama3-8b\nstack: megatron\nsequence_parallel: false\n"
        "space: {node: dgx-h100, gpus: 16, tensor_parallel: 8, zero: 0, global_batch: 64}\n"
        "objectives: {maximize: tokens_per_s, minimize: capital}\n",
        encoding="utf-8",
    )
    status, _, err = run_here(monkeypatch, capsys, "--runner", "made-up", "--for", "study.yaml")
    assert (status, err) == (0, "")
    assert ASKED.pop().operations == ()


@pytest.mark.evidence
@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
def test_gloo_ranks_give_a_profile_that_predicts(tmp_path: Path) -> None:
    options = ["--runner", "torch", "--budget", "12", "--name", "gloo", "--ranks", "2,3"]
    done = command.dse_process("calibrate", "run", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    asked = ["--ranks", "3", "--bytes", "64KiB", "--json"]
    told = command.dse("calibrate", "predict", "gloo", *asked, cwd=tmp_path)
    (point,) = json.loads(told.stdout)
    assert point["in_range"]
    assert 0 < point["low"] < point["seconds"] < point["high"]
