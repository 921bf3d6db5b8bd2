"""Ray gives what this process gives."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from dse.errors import DseError
from dse.search import exhaustive
from dse.search.executors import LocalExecutor, RayExecutor, executor
from dse.search.load import load
from dse.search.run import run
from tests.search import studies


def test_auto_is_this_process_unless_a_cluster_is_named() -> None:
    assert isinstance(executor("auto", None), LocalExecutor)
    assert isinstance(executor("local", "ray://somewhere:1"), LocalExecutor)


@pytest.mark.slow
def test_ray_finds_the_same_front(tmp_path: Path) -> None:
    problem = load(studies.written(tmp_path))
    expected = run(problem, "exhaustive", None, None, lambda *_: None, 0, 0)
    cluster = RayExecutor(None)
    try:
        found = run(problem, "exhaustive", cluster, None, lambda *_: None, 0, 0)
    finally:
        cluster.close()
    assert found.executor == "ray"
    assert found.front == expected.front
    assert found.tally.rejected == expected.tally.rejected


@pytest.mark.slow
def test_a_running_cluster_is_joined_by_its_address(tmp_path: Path) -> None:
    """A head started as its documentation says, token and all, in processes of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ray = str(Path(sys.executable).parent / "ray")
    folder = tempfile.mkdtemp(prefix="r")  # short: Ray puts sockets there
    start = [ray, "start", "--head", "--block", f"--port={port}", "--num-cpus=1",
             "--include-dashboard=false", f"--temp-dir={folder}"]  # fmt: skip
    code = (
        "import sys; from dse.search.executors import RayExecutor; "
        "from dse.search.load import load; from dse.search.run import run; "
        "where = RayExecutor(sys.argv[2]); "
        "found = run(load(sys.argv[1]), 'exhaustive', where, None, lambda *_: None, 0, 0); "
        "where.close(); print(len(found.front), found.tally.feasible)"
    )
    study = studies.written(tmp_path)
    environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0", "PYTHONUNBUFFERED": "1"}
    environment.pop("RAY_AUTH_MODE", None)
    # --block keeps the cluster in our process group: stopping it cannot touch anybody else's Ray.
    head = subprocess.Popen(
        start, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment,
        start_new_session=True,
    )  # fmt: skip
    try:
        assert head.stdout is not None
        assert any("Ray runtime started" in line for line in head.stdout)
        done = subprocess.run(
            [sys.executable, "-c", code, str(study), f"127.0.0.1:{port}"],
            capture_output=True, text=True, env=environment, timeout=120,
        )  # fmt: skip
    finally:
        os.killpg(head.pid, signal.SIGTERM)
        head.communicate(timeout=60)
        shutil.rmtree(folder, ignore_errors=True)
    assert done.returncode == 0, done.stderr
    expected = run(load(study), "exhaustive", None, None, lambda *_: None, 0, 0)
    assert done.stdout.split() == [str(len(expected.front)), str(expected.tally.feasible)]


@pytest.mark.slow
def test_no_cluster_at_the_address_is_one_line() -> None:
    with pytest.raises(DseError, match=r"no Ray on 127\.0\.0\.1:1"):
        RayExecutor("127.0.0.1:1")


def test_units_cover_the_space_once(tmp_path: Path) -> None:
    problem = load(studies.written(tmp_path))
    units = exhaustive.chunks(problem, 100)
    assert sum(box.size for unit in units for box in unit) == problem.space.size
    assert len(units) > 5
