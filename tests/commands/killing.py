"""Kills a run again and again, at random moments, and goes on with it: nothing may be lost.

By hand: python -m tests.commands.killing ADDRESS STUDY SEED KILLS [OPTION...]
ADDRESS is "" without a cluster.
"""

from __future__ import annotations

import os
import random
import select
import signal
import sys
from contextlib import redirect_stdout
from importlib import import_module
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import dse
from dse.calibration.runners.ray_session import authenticate
from dse.commands.main import main as command
from dse.pricing.load import load
from dse.search import exhaustive
from tests.pricing.studies import written

ENOUGH_S = 240.0  # only a hang reaches it
EARLY_S = 0.5  # a run begins to search in that time
REPORT_S = 1.5  # what is left after the last unit takes about half of it
LOOK_S = 0.002  # between looks at the log
LOG = "run.log.jsonl"


def started(*arguments: str) -> int:
    """The pid of a new process that runs ``dse ARGUMENTS``; what it prints is dropped."""
    pid = os.fork()
    if pid:
        return pid
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    sys.argv = ["dse", *arguments]
    status = 70
    try:
        command()
    except SystemExit as end:
        status = int(end.code or 0)
    finally:
        os._exit(status)


def reported() -> None:
    """A small study, run here: what a report reads and compiles, no run does anew either."""
    with TemporaryDirectory() as place, redirect_stdout(StringIO()):
        study = written(Path(place))
        dse.run(study, out=Path(place) / "out", executor="local")


def ended(pid: int, within_s: float) -> bool:
    """Whether a process ends by itself in that time."""
    watched = os.pidfd_open(pid)
    try:
        return bool(select.select([watched], [], [], within_s)[0])
    finally:
        os.close(watched)


def logged(log: Path) -> int:
    """How many units are in the log; 0 where there is none."""
    try:
        return log.read_bytes().count(b'"unit":')
    except FileNotFoundError:
        return 0


def survived(pid: int, log: Path, units: int, generator: random.Random) -> bool:
    """Whether a run comes to its end before a random moment, which this waits for.

    One in five is early, whatever the run does then. The others are as likely after any of the
    units that are left to do, at once or a little later, and in the midst of writing the report;
    of those that only have a report left to write, half come to their end.
    """
    if generator.random() < 0.2:
        return ended(pid, generator.uniform(0.0, EARLY_S))
    before = logged(log)
    if before == units and generator.random() < 0.5:
        return ended(pid, ENOUGH_S)
    further = generator.randint(0, max(0, units - before))
    while logged(log) < before + further:
        if ended(pid, LOOK_S):
            return True
    return ended(pid, generator.uniform(0.0, REPORT_S if before + further == units else 0.02))


def completed(pid: int) -> None:
    """Wait for a run's end, which must be a good one."""
    assert ended(pid, ENOUGH_S), "the run hangs"
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert status == 0, f"the run ended with {status}"


def main(address: str, study: str, seed: str, kills: str, *options: str) -> None:
    """Print how the runs went; raise where one of them lost something."""
    needed = ["dse.commands.app", "dse.report.write", "dse.search.run"]
    if address:
        authenticate(address)
        needed.append("ray")
        options = (*options, "--executor", "ray", "--address", address)
    for name in needed:
        import_module(name)  # once, so that no run does it anew
    reported()
    folder = Path(study).parent
    os.chdir(folder)
    here, there = folder / "whole", folder / "killed"
    completed(started("run", study, "--out", str(here), *options))
    units = exhaustive.units(load(study).space)
    expected = (here / "front.csv").read_bytes()
    generator = random.Random(int(seed))
    runs, done = 0, []
    while len(done) < int(kills):
        pid = started("run", study, "--resume", "--out", str(there), *options)
        if survived(pid, there / LOG, units, generator):
            completed(pid)
        else:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            done.append(logged(there / LOG))
            if len(done) < int(kills):
                continue
            completed(started("run", study, "--resume", "--out", str(there), *options))
        runs += 1
        assert (there / "front.csv").read_bytes() == expected, f"another front after {done}"
        assert not (there / LOG).exists()
        for path in there.iterdir():
            assert not path.name.startswith("."), f"{path} is left"
            path.unlink()
    print(f"seed {seed}: {len(done)} kills in {runs} runs of {units} units; "
          f"of them in the log at each: {' '.join(map(str, done))}")  # fmt: skip


if __name__ == "__main__":
    main(*sys.argv[1:])
