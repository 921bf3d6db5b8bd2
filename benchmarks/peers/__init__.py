"""Other tools that price training steps, each asked in an environment apart from dse's own.

`python -m benchmarks.peers` installs them, as pinned in the files beside this one, into a folder
that git ignores. One that cannot be installed or fails says why, and the others go on. `python -m
benchmarks.peers accuracy` asks all of them how fast published rows are (:mod:`.rates`).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
FOLDER = HERE.parents[1] / ".venv-peers"
INSTALL_S = 600.0
ANSWER_S = 300.0


class PeerMissing(Exception):
    """Why a peer has no numbers."""


@dataclass(frozen=True)
class Peer:
    """requirements: file of pinned packages. options: of pip, for them. script: asks the peer how
    many steps it prices a second. predict: asks it how long given steps take.
    """

    name: str
    requirements: Path
    options: tuple[str, ...]
    script: Path
    predict: Path


PEERS = (
    Peer(
        "llm-analysis",
        HERE / "llm-analysis.txt",
        ("--no-deps",),
        HERE / "run_llm_analysis.py",
        HERE / "predict_llm_analysis.py",
    ),
    Peer(
        "mlsysim",
        HERE / "mlsysim.txt",
        (),
        HERE / "run_mlsysim.py",
        HERE / "predict_mlsysim.py",
    ),
)


def install(peer: Peer, folder: Path = FOLDER) -> str:
    """Install a peer in its environment; "" or, in a line, why that failed, which is kept too."""
    home = folder / peer.name
    wanted = peer.requirements.read_text(encoding="utf-8")
    if (home / "installed").is_file() and _said(home / "installed") == wanted.strip():
        return ""
    home.mkdir(parents=True, exist_ok=True)
    pip = (str(_python(home)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    steps = (
        (sys.executable, "-m", "venv", str(home)),
        (*pip, *peer.options, "-r", str(peer.requirements)),
    )
    for command in steps:
        failed = _failed(command, INSTALL_S)
        if failed:
            (home / "failed").write_text(failed + "\n", encoding="utf-8")
            return failed
    (home / "failed").unlink(missing_ok=True)
    (home / "installed").write_text(wanted, encoding="utf-8")
    return ""


def ask(
    peer: Peer, question: Mapping[str, Any], seconds: float, repeats: int, folder: Path = FOLDER
) -> dict[str, Any]:
    """``version``, and ``ways``: name of a way to ask -> what :func:`.rate.rate` says of it.

    Raises PeerMissing.
    """
    return _answer(
        peer, peer.script, (json.dumps(question), str(seconds), str(repeats)), "", folder
    )


def predicted(
    peer: Peer, steps: Sequence[Mapping[str, Any]], folder: Path = FOLDER
) -> dict[str, Any]:
    """``version``, and ``ways``: how the peer was set -> samples/s of each step, None where it has
    no words for the step or says that it does not fit.

    Raises PeerMissing.
    """
    return _answer(peer, peer.predict, (), json.dumps(steps), folder)


def _answer(
    peer: Peer, script: Path, arguments: tuple[str, ...], told: str, folder: Path
) -> dict[str, Any]:
    """The JSON that a script prints last. told: its standard input. Raises PeerMissing."""
    home = folder / peer.name
    if not (home / "installed").is_file():
        why = _said(home / "failed")
        raise PeerMissing(f"could not be installed: {why}" if why else "not installed: make peers")
    command = (str(_python(home)), str(script), *arguments)
    alone = {**os.environ, "OMP_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            command, input=told, capture_output=True, text=True, timeout=ANSWER_S, env=alone
        )
    except (OSError, subprocess.TimeoutExpired) as cause:
        raise PeerMissing(f"failed: {cause}") from cause
    if done.returncode:
        raise PeerMissing(f"failed: {_last(done.stderr)}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _python(home: Path) -> Path:
    return home / "bin" / "python"


def _failed(command: tuple[str, ...], timeout_s: float) -> str:
    """Runs a command; "" or the line that says why it failed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s)
    except (OSError, subprocess.TimeoutExpired) as cause:
        return str(cause)
    return _last(done.stderr) if done.returncode else ""


def _last(text: str) -> str:
    """The last line that is an error, or the last line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")]
    return (errors or lines or ["it said nothing"])[-1]


def _said(path: Path) -> str:
    return path.read_text(encoding="utf-8").strip() if path.is_file() else ""
