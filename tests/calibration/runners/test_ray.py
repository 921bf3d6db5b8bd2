"""Torch ranks as actors of a real local Ray; the actors are gone whatever happens."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dse.calibration.runners import ray_worker
from dse.calibration.runners.plan import MeasurePlan
from dse.calibration.runners.ray_cluster import measure_ray
from dse.errors import DseError, MeasurementError
from tests.calibration.runners.test_torch import gone

pytestmark = pytest.mark.slow
SIZES = (64, 512)
PLAN = MeasurePlan(ranks=(2, 3), sizes_bytes=SIZES)


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    """One Ray for all tests here: a user's own session is used, and kept."""
    pytest.importorskip("torch")
    from dse.ray_session import ray_session

    with ray_session(None) as module:
        yield module


def test_actors_are_measured_and_verified(ray: Any) -> None:
    told: list[tuple[int, int, str]] = []
    found = measure_ray(PLAN, 15.0, "cluster", lambda *step: told.append(step))
    assert all(sample.verified for sample in found.samples)
    assert {(s.transport, s.library, s.nodes) for s in found.samples} == {("gloo", "torch", 1)}
    cells = {(s.collective, s.ranks, s.bytes) for s in found.samples}
    both = {(kind, n, m) for kind in ("allreduce", "exchange") for n in (2, 3) for m in SIZES}
    assert cells == both | {("ping-pong", 2, m) for m in SIZES}
    assert found.machine is not None
    assert found.machine.cores >= 1
    assert f"Ray {ray.__version__}" in found.notes[0]
    assert (told[0][0], told[-1][0]) == (0, told[-1][1])
    assert ray.is_initialized()


def rank_processes(doing: str) -> list[int]:
    """The actors that run that method: Ray makes it their command line."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "cmdline").read_text().startswith(f"ray::RankActor.{doing}"):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def test_an_actor_that_dies_is_an_error_and_none_is_left(ray: Any) -> None:
    assert ray.is_initialized()
    seen: list[int] = []

    def kill_one() -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            measuring = rank_processes("measure")
            if len(measuring) == 3:
                seen.extend(measuring)
                os.kill(measuring[1], signal.SIGKILL)
                return
            time.sleep(0.05)

    watcher = threading.Thread(target=kill_one)
    watcher.start()
    with pytest.raises(MeasurementError, match=r"rank \d of 3: its Ray actor died"):
        measure_ray(PLAN, 120.0)
    watcher.join()
    assert len(seen) == 3
    assert all(gone(pid) for pid in seen)  # Ray ends them, in its own time


def test_more_than_the_cluster_has_is_refused(ray: Any) -> None:
    assert ray.is_initialized()
    with pytest.raises(MeasurementError, match="has 1 nodes, not 2"):
        measure_ray(PLAN, 60.0, nodes=2)
    with pytest.raises(MeasurementError, match="do not fit on 1 nodes"):
        measure_ray(PLAN, 60.0, nodes=1, ranks_per_node=2)


def test_nodes_without_torch_are_told_what_to_install(
    ray: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An actor that says so, as one on a node without torch does."""
    assert ray.is_initialized()

    class Bare(ray_worker.RankActor):
        def about(self) -> dict[str, Any]:
            return {"torch": False}

    monkeypatch.setattr("dse.calibration.runners.ray_cluster.RankActor", Bare)
    with pytest.raises(MeasurementError, match="pip install torch"):
        measure_ray(PLAN, 60.0)


def test_no_cluster_at_the_address_is_one_line() -> None:
    with pytest.raises(DseError, match=r"no Ray on 127\.0\.0\.1:1"):
        measure_ray(PLAN, 60.0, address="127.0.0.1:1")


def test_a_running_cluster_is_joined_by_its_address() -> None:
    """A head of its own; the package is sent to its workers."""
    pytest.importorskip("torch")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = tempfile.mkdtemp(prefix="r")  # short: Ray puts sockets there
    start = [str(Path(sys.executable).parent / "ray"), "start", "--head", "--block",
             f"--port={port}", "--num-cpus=2", "--include-dashboard=false",
             f"--temp-dir={folder}"]  # fmt: skip
    code = (
        "import sys; from dse.calibration.runners.plan import MeasurePlan; "
        "from dse.calibration.runners.ray_cluster import measure_ray; "
        "found = measure_ray(MeasurePlan(ranks=(2,), sizes_bytes=(64,)), 14.0, "
        "address=sys.argv[1]); print(len(found.samples), found.samples[0].transport)"
    )
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
            [sys.executable, "-c", code, f"127.0.0.1:{port}"],
            capture_output=True, text=True, env=environment, timeout=120,
        )  # fmt: skip
    finally:
        os.killpg(head.pid, signal.SIGTERM)
        head.communicate(timeout=60)
        shutil.rmtree(folder, ignore_errors=True)
    assert done.returncode == 0, done.stderr
    count, transport = done.stdout.split()
    assert int(count) >= 3
    assert transport == "gloo"
