"""Runs on a Ray cluster of three nodes in network namespaces, whose nodes come, go and die."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from benchmarks.lab.network import network, unavailable
from benchmarks.lab.ray_nodes import RayCluster, ray_cluster
from tests.commands.command import DEADLINE_S, dse, said
from tests.pricing.studies import LARGE, written
from tests.processes import command, disturbed, stopped, text, until

REASON = unavailable()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.evidence,
    pytest.mark.skipif(bool(REASON), reason=REASON),
]

LOG = "run.log.jsonl"
MODELS = Path(__file__).parents[2] / "models"
RATE_BYTES_PER_S = 125e6
# By default a minute may pass before a node that falls silent is given up, half of one before a
# client gives up its server, and as long until the head tells a client that its server is dead.
SOON = {
    "RAY_CLIENT_SERVER_CHECK_CHANNEL_TIMEOUT_S": "5",
    "RAY_CLIENT_RECONNECT_GRACE_PERIOD": "5",
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_timeout_ms": "2000",
    "RAY_health_check_failure_threshold": "3",
}


def study(folder: Path) -> None:
    """The study in a folder, with files of its own that only its driver is to need."""
    for name in ("layers", "work"):
        (folder / name).mkdir()
        shutil.copy(MODELS / "workloads" / name / "resnet50.csv", folder / name)
    network = (MODELS / "workloads" / "resnet50.yaml").read_text().replace(": resnet50", ": mine")
    (folder / "mine.yaml").write_text(network.replace("mine.csv", "resnet50.csv"))
    shutil.copy(MODELS / "calibrations" / "a100-node.yaml", folder / "profile.yaml")
    (folder / "prices.csv").write_text("item,price,date\nhost,9000 USD,2026-11-02\n")
    own = "workload: ./mine.yaml\nprices: [prices.csv]\ncalibration: [./profile.yaml]\n"
    written(folder, LARGE.replace("workload: resnet50\n", own))


def slow(cluster: RayCluster, host: int) -> None:
    """All processes of a node, and those that they will start, come last."""
    for pid in cluster.processes(host):
        with suppress(ProcessLookupError):
            os.setpriority(os.PRIO_PROCESS, pid, 19)


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """front.csv of the study, run in one process."""
    folder = tmp_path_factory.mktemp("whole")
    study(folder)
    assert dse("run", "study.yaml", "--out", "here", cwd=folder).returncode == 0
    return (folder / "here" / "front.csv").read_bytes()


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    """Nodes on hosts 0 and 1 of three, to begin with."""
    with network(3, RATE_BYTES_PER_S) as lab, ray_cluster(lab, (0, 1), SOON) as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the study."""
    study(tmp_path)
    return tmp_path


@contextmanager
def begun(cluster: RayCluster, folder: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """The study's run on the cluster, driven from host 0, its report in ``here``."""
    program = [sys.executable, "-m", "dse", "run", "study.yaml", "--out", "here"]
    with subprocess.Popen(
        cluster.driver(*program, *(options or ("--address", cluster.address))),
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as run:  # fmt: skip
        try:
            yield run
        finally:
            run.kill()


def ended(run: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
    """What a run that was begun came to."""
    out, err = run.communicate(timeout=DEADLINE_S)
    return subprocess.CompletedProcess(run.args, run.returncode, out, err)


def at_work(cluster: RayCluster, host: int) -> list[int]:
    """The workers of a node that search units at the moment."""
    return [pid for pid in cluster.processes(host) if "search_units" in command(pid)]


def hold(cluster: RayCluster, host: int) -> int:
    """A worker of that node that ran, stopped in the midst of its units; 0 where none is."""
    for pid in at_work(cluster, host):
        if stopped(pid):
            continue
        os.kill(pid, signal.SIGSTOP)
        if pid in at_work(cluster, host):
            return pid
        os.kill(pid, signal.SIGCONT)
    return 0


def held_at_work(cluster: RayCluster, host: int, run: subprocess.Popen[str]) -> int:
    """A worker of that node, stopped in the midst of its units: the run cannot end without them.

    Until there is one the other nodes' workers are held too, lest they do all the work before.
    """
    others: list[int] = []

    def caught() -> int:
        assert run.poll() is None, ended(run)
        found = hold(cluster, host)
        if not found:
            others.extend(hold(cluster, other) for other in cluster.hosts if other != host)
        return found

    try:
        return until(caught)
    finally:
        for pid in filter(None, others):
            os.kill(pid, signal.SIGCONT)


def document(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "here" / "run.json").read_text())
    return found


def assert_whole(run: subprocess.Popen[str], folder: Path, front: bytes) -> int:
    """The run came to its end with the front; how many units the report says were repeated."""
    done = ended(run)
    assert (done.returncode, said(done)) == (0, [])
    assert (folder / "here" / "front.csv").read_bytes() == front
    assert not (folder / "here" / LOG).exists()
    found = document(folder)
    assert found["executor"] == "ray"
    repeated: int = found["work"]["repeated"]
    words = f"{repeated:,} done again because a worker or node was lost"
    assert (words in (folder / "here" / "report.html").read_text()) is (repeated > 0)
    return repeated


def test_a_worker_is_killed_and_a_slow_node_added(
    cluster: RayCluster, folder: Path, front: bytes
) -> None:
    """The driver rests while the node starts, and all workers but the new node's, once at work."""
    with begun(cluster, folder) as run:
        held = [held_at_work(cluster, 0, run)]
        os.kill(held_at_work(cluster, 1, run), signal.SIGKILL)
        run.send_signal(signal.SIGSTOP)
        cluster.add(2)
        slow(cluster, 2)
        run.send_signal(signal.SIGCONT)
        held += [held_at_work(cluster, host, run) for host in (1, 2)]  # so it was given units
        for pid in held:
            os.kill(pid, signal.SIGCONT)
        assert assert_whole(run, folder, front) >= 1


def test_a_node_is_stopped(cluster: RayCluster, folder: Path, front: bytes) -> None:
    """What the study names is gone by then: no node that takes over its work reads it."""
    with begun(cluster, folder) as run:
        held_at_work(cluster, 2, run)
        for name in ("study.yaml", "mine.yaml", "profile.yaml", "prices.csv"):
            (folder / name).rename(folder / f"{name}.gone")
        cluster.stop(2)
        assert assert_whole(run, folder, front) >= 1


def test_a_node_falls_silent(cluster: RayCluster, folder: Path, front: bytes) -> None:
    """Its cable is cut, then it is killed: nobody hears of its end."""
    with begun(cluster, folder) as run:
        held_at_work(cluster, 1, run)
        cluster.cut(1)
        cluster.kill(1)
        assert assert_whole(run, folder, front) >= 1


def client_servers(cluster: RayCluster) -> list[int]:
    """The servers that the head has started for Ray clients."""
    return [pid for pid in cluster.processes(0) if "--mode=specific-server" in command(pid)]


def test_the_server_of_a_ray_client_dies_at_birth(
    cluster: RayCluster, folder: Path, front: bytes
) -> None:
    """As it does now and then by itself; the cluster is asked for another."""
    place = f"ray://{cluster.lab.address(0)}:10001"

    def kill(found: list[int]) -> None:
        os.kill(found[0], signal.SIGKILL)

    with (
        disturbed(lambda: client_servers(cluster), kill),
        begun(cluster, folder, "--address", place) as run,
    ):
        assert_whole(run, folder, front)


@pytest.mark.parametrize("client", [False, True], ids=("joined", "ray-client"))
def test_the_head_is_lost(client: bool, cluster: RayCluster, folder: Path, front: bytes) -> None:
    if 2 not in cluster.hosts:
        cluster.add(*(host for host in (0, 2) if host not in cluster.hosts))
    place = f"{cluster.lab.address(0)}:10001" if client else cluster.address
    options = ("--address", f"ray://{place}" if client else place)
    with begun(cluster, folder, *options) as run:
        held_at_work(cluster, 2, run)
        until(lambda: '"unit":' in text(folder / "here" / LOG))
        cluster.kill_head()
        done = ended(run)
    assert len(said(done)) == 1, done.stderr
    line = said(done)[0]
    assert done.returncode == 2
    assert line.startswith(f"dse: the head of the Ray cluster at {place} is lost; ")
    assert "--resume" in line
    assert {path.name for path in (folder / "here").iterdir()} == {LOG}
    cluster.close()
    shutil.copytree(folder, folder / "again")
    resumed = dse("run", "study.yaml", "--out", "here", "--resume", cwd=folder / "again")
    assert resumed.returncode == 0, resumed.stderr
    assert "resuming: " in resumed.stdout
    assert (folder / "again" / "here" / "front.csv").read_bytes() == front
    if not client:
        cluster.add(0, 2)  # another cluster
        with begun(cluster, folder, *options, "--resume") as run:
            assert_whole(run, folder, front)
        assert document(folder)["work"]["resumed"] >= 1
