"""A Ray cluster whose nodes are hosts of the emulated network; nothing of it is left."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.lab.measure import LINK, NOTES
from benchmarks.lab.network import NAMESPACES, Lab, network, unavailable
from benchmarks.lab.ray_nodes import RayCluster, measure_ray_on, ray_cluster
from dse.calibration.runners.plan import MeasurePlan
from tests.processes import command, left

RATE_BYTES_PER_S = 25e6
REASON = unavailable()
if REASON:
    pytest.skip(REASON, allow_module_level=True)


def inside(lab: Lab) -> list[int]:
    """Every process on the hosts."""
    found = []
    for host in range(lab.hosts):
        listing = ["ip", "netns", "pids", lab.namespace(host)]
        words = subprocess.run(listing, capture_output=True, text=True, check=True).stdout.split()
        found += [int(pid) for pid in words]
    return found


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with network(3, RATE_BYTES_PER_S) as built:
        yield built


@pytest.fixture(scope="module")
def cluster(lab: Lab) -> Iterator[RayCluster]:
    """Nodes on hosts 0 and 1, to begin with; none is left on any host at the end."""
    with ray_cluster(lab, hosts=(0, 1)) as running:
        yield running
    assert inside(lab) == []


def busy_hosts(cluster: RayCluster, actors: int) -> list[str]:
    """The names of the hosts on which so many actors of one CPU each find themselves."""
    program = (
        "import socket, sys, ray; ray.init(address=sys.argv[1], log_to_driver=False)\n"
        "class Actor:\n"
        "    def host(self): return socket.gethostname()\n"
        "kind = ray.remote(num_cpus=1)(Actor)\n"
        "there = [kind.remote() for _ in range(int(sys.argv[2]))]\n"
        "print(*ray.get([actor.host.remote() for actor in there]))"
    )
    started = cluster.driver(sys.executable, "-c", program, cluster.address, str(actors))
    done = subprocess.run(started, capture_output=True, text=True, timeout=120, check=True)
    return sorted(done.stdout.split())


def test_ranks_on_hosts_are_measured_and_their_sums_verified(cluster: RayCluster) -> None:
    pytest.importorskip("torch")
    plan = MeasurePlan(ranks=(2,), sizes_bytes=(4096, 65536), local=False)
    found = measure_ray_on(cluster, plan, 14.0)
    assert {(s.ranks, s.nodes, s.ranks_per_node) for s in found.samples} == {(2, 2, 1)}
    assert {(s.link, s.link_bytes_per_s) for s in found.samples} == {(LINK, RATE_BYTES_PER_S)}
    assert all(s.verified and s.transport == "gloo" for s in found.samples)
    assert found.shared_cores
    assert set(NOTES) < set(found.notes)
    # Were the ranks to talk by the loopback device, 64 KiB would be a hundred times faster.
    large = [s for s in found.samples if (s.collective, s.bytes) == ("allreduce", 65536)]
    assert large
    assert all(s.min_s and s.min_s > 0.5 * s.bytes / RATE_BYTES_PER_S for s in large)


def test_nodes_come_and_go(cluster: RayCluster) -> None:
    lab = cluster.lab
    cluster.add(2)
    assert cluster.hosts == [0, 1, 2]
    assert busy_hosts(cluster, 3) == [lab.name(host) for host in range(3)]
    gone = cluster.processes(1)
    assert any("raylet" in command(pid) for pid in gone)
    cluster.stop(1)
    assert left(gone) == []
    assert cluster.hosts == [0, 2]
    crashed = cluster.processes(2)
    cluster.kill(2)
    assert left(crashed) == []
    assert cluster.hosts == [0]


def test_a_terminated_program_takes_its_nodes_along() -> None:
    program = (
        "import sys\n"
        "from benchmarks.lab.network import network\n"
        "from benchmarks.lab.ray_nodes import ray_cluster\n"
        "with network(1, 25e6) as lab, ray_cluster(lab) as cluster:\n"
        "    print(lab.token, *cluster.processes(0), flush=True)\n"
        "    sys.stdin.read()\n"
    )
    started = subprocess.Popen(
        [sys.executable, "-c", program], cwd=Path(__file__).parents[2], text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert started.stdout is not None
    token, *pids = started.stdout.readline().split()
    assert pids
    started.send_signal(signal.SIGTERM)
    started.communicate(timeout=60)
    assert started.returncode == 128 + signal.SIGTERM
    assert left([int(pid) for pid in pids]) == []
    assert not list(NAMESPACES.glob(f"{token}-*"))
