"""A Ray cluster across the lab: every host a node, as on machines of their own.

The hosts share one file system and one table of processes. So every node has a temporary folder of
its own, and the cluster a token of its own: a head takes up the token that ``ray start`` once left
in the user's home, a node that joins does not, and would be turned away. Whoever asks for the
raylet of this machine is given the head's: drivers belong on host 0.
"""

from __future__ import annotations

import dataclasses
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.lab.measure import LINK
from benchmarks.lab.network import Lab
from benchmarks.lab.others import emulated
from benchmarks.lab.waiting import until
from dse.calibration.experiment import Experiment, read_experiment
from dse.calibration.runners.plan import MeasurePlan
from dse.calibration.runners.processes import (
    end_session,
    run_processes,
    session_members,
    terminable,
    worker_command,
)
from dse.errors import MeasurementError

HEAD = 0
PORT = 6379
CPUS = 1
STORE_BYTES = 100_000_000  # of a node's objects; Ray wants at least 75 MiB
START_S = 60.0
DRIVER_S = 30.0  # that joining and leaving a cluster may take
DYING_S = 10.0
STARTED = "Ray runtime started"


class RayCluster:
    """Ray nodes on hosts of ``lab``; the head is on host 0. Made by :func:`ray_cluster`."""

    def __init__(self, lab: Lab, folder: Path, settings: Mapping[str, str]) -> None:
        self.lab = lab
        self.address = f"{lab.address(HEAD)}:{PORT}"
        self.variables = {
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(32),
            "RAY_USAGE_STATS_ENABLED": "0",
            **settings,
        }
        self._folder = folder
        self._nodes: dict[int, subprocess.Popen[str]] = {}

    @property
    def hosts(self) -> list[int]:
        """Where nodes are."""
        return sorted(self._nodes)

    def driver(self, *command: str) -> list[str]:
        """The command as it runs on host 0, with the cluster's token."""
        pairs = [f"{name}={value}" for name, value in self.variables.items()]
        return [*self.lab.prefix(HEAD), "env", *pairs, *command]

    def add(self, *hosts: int) -> None:
        """Start a node on each host, and wait until the cluster has them all."""
        for host in hosts:
            self._start(host)
            if host == HEAD:
                self._await_start(HEAD)  # the others would give it 20 s only
        for host in hosts:
            self._await_start(host)
        self._await_members()

    def stop(self, host: int) -> None:
        """End the node of that host in order, and wait until the cluster knows."""
        self._end([self._removable(host)])
        del self._nodes[host]
        self._await_members()

    def kill(self, host: int) -> None:
        """Kill all processes of the node; the cluster finds out in its own time, about 15 s."""
        node = self._removable(host)
        node.kill()
        self._end([node])
        del self._nodes[host]

    def cut(self, host: int) -> None:
        """Pull the host's cable, for good; nothing that its processes send is heard from then."""
        port = ["link", "set", f"port{host}", "down"]
        subprocess.run(["ip", "-n", f"{self.lab.token}-switch", *port], check=True)

    def kill_head(self) -> None:
        """Kill all processes of the head: the cluster is lost, and the nodes left are of no use."""
        node = self._nodes.pop(HEAD)
        node.kill()
        self._end([node])

    def processes(self, host: int) -> list[int]:
        """The processes of the node: its raylet, its agents, and its workers."""
        return session_members(self._nodes[host].pid)

    def run(self, task: dict[str, Any], limit_s: float) -> None:
        """Have host 0 do a task of ray_driver. Raises MeasurementError where that fails."""
        command = worker_command("benchmarks.lab.ray_driver", self.variables)
        task = {"address": self.address, **task}
        run_processes([[*self.lab.prefix(HEAD), *command]], [task], limit_s)

    def close(self) -> None:
        """End all nodes; others may be added then, a head first."""
        self._end([self._nodes[host] for host in reversed(self.hosts)])
        self._nodes.clear()

    def _start(self, host: int) -> None:
        if host in self._nodes:
            raise MeasurementError(f"host {host} has a Ray node already")
        folder = self._folder / str(host)
        folder.mkdir(exist_ok=True)
        head = ("--head", f"--port={PORT}", "--include-dashboard=false")
        options = (
            *(head if host == HEAD else (f"--address={self.address}",)),
            f"--node-ip-address={self.lab.address(host)}",
            f"--num-cpus={CPUS}",
            f"--object-store-memory={STORE_BYTES}",
            f"--temp-dir={folder}",
            "--block",
        )
        ray = str(Path(sys.executable).with_name("ray"))
        others = {k: v for k, v in os.environ.items() if not k.startswith("RAY_")}
        with self._log(host).open("w") as log:
            self._nodes[host] = subprocess.Popen(
                [*self.lab.prefix(host), ray, "start", *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                text=True,
                env={**others, **self.variables, "PYTHONUNBUFFERED": "1"},
                start_new_session=True,
            )

    def _log(self, host: int) -> Path:
        return self._folder / f"{host}.log"

    def _await_start(self, host: int) -> None:
        node, log = self._nodes[host], self._log(host)

        def started() -> bool:
            ended = node.poll() is not None
            said = log.read_text(errors="replace")
            if ended:
                last = (said.strip().splitlines() or ["it said nothing"])[-1]
                raise MeasurementError(f"the Ray node of host {host} did not start: {last}")
            return STARTED in said

        until(started, START_S, f"the Ray node of host {host} starts")

    def _await_members(self) -> None:
        """Ask the cluster until its nodes are those of the hosts."""
        members = [self.lab.address(host) for host in self.hosts]
        self.run({"members": members, "limit_s": START_S}, START_S + DRIVER_S)

    def _removable(self, host: int) -> subprocess.Popen[str]:
        if host == HEAD:
            raise MeasurementError("host 0 has the head: without it there is no Ray cluster")
        if host not in self._nodes:
            raise MeasurementError(f"host {host} has no Ray node")
        return self._nodes[host]

    def _end(self, nodes: Sequence[subprocess.Popen[str]]) -> None:
        """Ask all to end at once, then make sure of each and of what it started."""
        for node in nodes:
            if node.poll() is None:
                node.terminate()
        for node in nodes:
            end_session(node)
        until(
            lambda: not any(session_members(node.pid) for node in nodes),
            DYING_S,
            "the killed processes of Ray nodes are gone",
        )


@contextmanager
def ray_cluster(
    lab: Lab, hosts: Sequence[int] | None = None, settings: Mapping[str, str] | None = None
) -> Iterator[RayCluster]:
    """A Ray cluster with a node of one CPU on every host, or on ``hosts``, of which 0 must be one.

    settings: Ray's own, as environment variables of nodes and drivers. All nodes are there when it
    is handed over, and gone afterwards, whatever happens. Raises MeasurementError where a node does
    not start or join.
    """
    chosen = list(range(lab.hosts) if hosts is None else hosts)
    if not chosen or chosen[0] != HEAD:
        raise MeasurementError("the first node of a Ray cluster in the lab is that of host 0")
    with (  # a short name: Ray puts sockets there
        terminable(),
        tempfile.TemporaryDirectory(prefix="lab", ignore_cleanup_errors=True) as folder,
    ):
        cluster = RayCluster(lab, Path(folder), settings or {})
        try:
            cluster.add(*chosen)
            yield cluster
        finally:
            cluster.close()


def measure_ray_inside(lab: Lab, plan: MeasurePlan, budget_s: float) -> Experiment:
    """Start Ray on all hosts and measure allreduce of gloo ranks that it places there, one each."""
    with ray_cluster(lab) as cluster:
        return measure_ray_on(cluster, plan, budget_s)


def measure_ray_on(cluster: RayCluster, plan: MeasurePlan, budget_s: float) -> Experiment:
    """Measure allreduce of gloo ranks that a running cluster places, one on each host."""
    request = {
        "budget_s": budget_s,
        "name": "ray",
        "link": LINK,
        "link_bytes_per_s": cluster.lab.rate_bytes_per_s,
        "device": "cpu",
    }
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "ray.json")
        task = {"plan": dataclasses.asdict(plan), "request": request, "out": str(out)}
        cluster.run(task, 3 * budget_s + START_S + DRIVER_S)
        return emulated(read_experiment(out))
