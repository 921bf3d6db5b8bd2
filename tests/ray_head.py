"""A Ray cluster in processes of its own, started as its documentation says, token and all."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from dse.calibration.runners.processes import end_session


def free_ports() -> tuple[int, int]:
    """Two that nobody listens at."""
    with socket.socket() as first, socket.socket() as second:
        first.bind(("127.0.0.1", 0))
        second.bind(("127.0.0.1", 0))
        return first.getsockname()[1], second.getsockname()[1]


@contextmanager
def a_head(cpus: int) -> Iterator[Callable[..., str]]:
    """A Ray head; what this yields runs code beside it, as :func:`beside_a_head` does."""
    port, clients = free_ports()
    folder = tempfile.mkdtemp(prefix="r")  # short: Ray puts sockets there
    start = [str(Path(sys.executable).parent / "ray"), "start", "--head", "--block",
             f"--port={port}", f"--num-cpus={cpus}", "--include-dashboard=false",
             f"--ray-client-server-port={clients}", f"--temp-dir={folder}"]  # fmt: skip
    environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0", "PYTHONUNBUFFERED": "1"}
    environment.pop("RAY_AUTH_MODE", None)

    def beside(code: str, *arguments: str, limit_s: float = 120.0) -> str:
        done = subprocess.run(
            [sys.executable, "-c", code, f"127.0.0.1:{port}", *arguments],
            capture_output=True, text=True, env=environment, timeout=limit_s, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    # --block keeps the cluster in the head's session: stopping it cannot touch anybody else's Ray.
    head = subprocess.Popen(
        start, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment,
        start_new_session=True,
    )  # fmt: skip
    try:
        assert head.stdout is not None
        assert any("Ray runtime started" in line for line in head.stdout)
        yield beside
    finally:
        end_session(head, 60.0)  # told alone, the head ends its servers in order, and soon
        shutil.rmtree(folder, ignore_errors=True)


def beside_a_head(code: str, *arguments: str, cpus: int, limit_s: float = 120.0) -> str:
    """What this Python code prints while a Ray head runs; sys.argv: its address, ``arguments``."""
    with a_head(cpus) as beside:
        return beside(code, *arguments, limit_s=limit_s)
