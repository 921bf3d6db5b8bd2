"""A guided run that is killed, and goes on: the command line as a user has it."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.commands.command import DEADLINE_S, dse, start
from tests.pricing import studies

pytestmark = pytest.mark.evidence
RUN = ("run", "study.yaml", "--engine", "guided", "--points", "600", "--out", "out")


def finished(folder: Path, *options: str) -> str:
    done = dse(*RUN, *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def kill_after(process: subprocess.Popen[str], log: Path, lines: int) -> None:
    """Kill it as soon as its log has so many lines."""
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline and process.poll() is None:
        if log.is_file() and log.read_bytes().count(b"\n") >= lines:
            break
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=DEADLINE_S)


def test_a_killed_run_ends_as_one_that_was_not(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    for folder in (whole, killed):
        folder.mkdir()
        studies.written(folder, studies.CONTINUOUS)
    finished(whole)
    log = killed / "out" / "run.log.jsonl"
    options: tuple[str, ...] = ()
    for lines in (3, 6):  # also one that had been resumed
        kill_after(start(*RUN, *options, cwd=killed), log, lines)
        options = ("--resume",)
    units = log.read_bytes().splitlines(keepends=True)
    assert len(units) >= 6
    log.write_bytes(b"".join([*units[:-1], units[-1][: random.Random(0).randrange(9, 99)]]))
    assert "resuming: " in finished(killed, "--resume")
    for name in ("front.csv", "points.csv"):
        assert (killed / "out" / name).read_bytes() == (whole / "out" / name).read_bytes()
    fronts = [json.loads((f / "out" / "run.json").read_text())["front"] for f in (whole, killed)]
    assert fronts[0] == fronts[1]
