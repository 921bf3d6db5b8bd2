"""The command line as a user has it: in this process, or in another one."""

from __future__ import annotations

import contextlib
import gc
import io
import os
import re
import subprocess
import sys
from pathlib import Path
from unittest import mock

from dse.commands.main import main

DEADLINE_S = 240.0  # generous: only a hang reaches it


def dse(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """What ``dse ARGUMENTS`` says, writes and ends with in ``cwd``, run in this process.

    Imports are what a short command takes most time for, and here they are done. A test of
    signals, limits, Ray or what is imported wants :func:`dse_process`; test_main.py holds both
    to the same result.
    """
    words = ["dse", *map(str, arguments)]
    out, err = io.StringIO(), io.StringIO()
    collecting = gc.get_threshold()
    with (
        contextlib.chdir(cwd),
        mock.patch.dict(os.environ, environment(), clear=True),
        mock.patch.object(sys, "argv", words),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as end:
            status = int(end.code or 0)
        finally:
            gc.set_threshold(*collecting)
    return subprocess.CompletedProcess(words, status, out.getvalue(), err.getvalue())


def dse_process(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The same in another process; whatever is in the environment for us is not for it."""
    return subprocess.run(
        [sys.executable, "-m", "dse", *map(str, arguments)],
        cwd=cwd,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )


def start(*arguments: str | Path, cwd: Path) -> subprocess.Popen[str]:
    """The same in the background, in another process."""
    return subprocess.Popen(
        [sys.executable, "-m", "dse", *map(str, arguments)],
        cwd=cwd,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def environment() -> dict[str, str]:
    """Ours without what would steer dse, and with a wide terminal."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("DSE_")}
    return {**kept, "COLUMNS": "200"}


def files(folder: Path) -> dict[str, bytes]:
    """Everything under a folder, by relative path; folders as empty."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b""
        for path in sorted(folder.rglob("*"))
    }


def refused(done: subprocess.CompletedProcess[str], status: int = 2) -> str:
    """The one line on stderr of a command that refused, without traceback or answer."""
    assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    assert done.stderr.endswith("\n")
    (line,) = said(done)
    return line


def said(done: subprocess.CompletedProcess[str]) -> list[str]:
    """The lines on stderr but those of the progress, which come where a run takes its time."""
    return [line for line in done.stderr.splitlines() if not re.match(r"  [\d,]+ of [\d,]+ ", line)]
