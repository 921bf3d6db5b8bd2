"""The command line as a user has it: another process, in a folder of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

DEADLINE_S = 240.0  # generous: only a hang reaches it


def dse(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run ``dse ARGUMENTS`` in ``cwd``; whatever is in the environment for us is not for it."""
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
    """The same in the background."""
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
