"""A guided run that is killed, and goes on: the command line as a user has it."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.pricing import studies

BUDGET = 600
DEADLINE_S = 120


def started(folder: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "dse", "run", "study.yaml", "--engine", "guided"]
    return subprocess.Popen(
        [*command, "--budget", str(BUDGET), "--out", "out", *options],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def finished(folder: Path, *options: str) -> str:
    process = started(folder, *options)
    said, _ = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 0, said
    return said


def kill_after(process: subprocess.Popen[str], log: Path, lines: int) -> None:
    """Kill it as soon as its log has so many lines."""
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline and process.poll() is None:
        if log.is_file() and log.read_bytes().count(b"\n") >= lines:
            break
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=DEADLINE_S)


@pytest.mark.slow
def test_another_front_to_begin_with_is_another_run(tmp_path: Path) -> None:
    studies.written(tmp_path, studies.CONTINUOUS)
    finished(tmp_path)
    (tmp_path / "out").rename(tmp_path / "early")
    options = ("--warm-start", "early")
    kill_after(started(tmp_path, *options), tmp_path / "out" / "run.log.jsonl", 4)
    early = tmp_path / "early" / "run.json"
    document = json.loads(early.read_text())
    early.write_text(json.dumps({**document, "front": document["front"][1:]}))
    process = started(tmp_path, *options, "--resume")
    said, _ = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 2, said
    assert f"warm start was {len(document['front'])} points" in said


@pytest.mark.slow
def test_a_killed_run_ends_as_one_that_was_not(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    for folder in (whole, killed):
        folder.mkdir()
        studies.written(folder, studies.CONTINUOUS)
    finished(whole)
    log = killed / "out" / "run.log.jsonl"
    options: tuple[str, ...] = ()
    for lines in (3, 6):  # also one that had been resumed
        kill_after(started(killed, *options), log, lines)
        options = ("--resume",)
    units = log.read_bytes().splitlines(keepends=True)
    assert len(units) >= 6
    log.write_bytes(b"".join([*units[:-1], units[-1][: random.Random(0).randrange(9, 99)]]))
    assert "resuming: " in finished(killed, "--resume")
    for name in ("front.csv", "points.csv"):
        assert (killed / "out" / name).read_bytes() == (whole / "out" / name).read_bytes()
    fronts = [json.loads((f / "out" / "run.json").read_text())["front"] for f in (whole, killed)]
    assert fronts[0] == fronts[1]
