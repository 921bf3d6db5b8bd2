"""`dse calibrate run --runner`: other ways to measure than MPI."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from tests.commands import command


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--runner", "tarch"], "'tarch' is not known; use mpi, torch, ray"),
        (["--address", "host:6379"], "is of a Ray cluster; give --runner ray"),
        (["--runner", "torch", "--mpi", "mpich"], "is of the MPI runner, not of torch"),
    ],
)
def test_options_that_do_not_belong_together(tmp_path: Path, options: list[str], line: str) -> None:
    done = command.dse("calibrate", "run", *options, cwd=tmp_path)
    assert done.returncode == 2
    assert line in done.stderr
    assert list(tmp_path.iterdir()) == []


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
