"""N hosts as network namespaces, each on a link of a shaped rate to one switch.

::

    host 0 --eth0==port0--+
    host 1 --eth0==port1--+-- bridge (the switch, in a namespace of its own)
    host i --eth0==porti--+

A token bucket (tc-tbf) on eth0 shapes what a host sends, one on its port what it receives, so a
link is full duplex and flows into one host share its rate. Rates can be shaped, delays cannot.
Everything lives in namespaces whose names hold the process id: nothing outside is touched, two labs
do not meet, and what a killed run left behind is found and removed by the next.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dse.errors import MeasurementError

PREFIX = "dselab"
NAMESPACES = Path("/run/netns")
SUBNET = "10.217.0"
INTERFACE = "eth0"
# One segment handed to the link at once: small, because a token bucket must hold a whole one, and
# lets its size through at once after every pause, which no real link does.
SEGMENT_BYTES = 9000
HEADER_BYTES = 300
# The timer that wakes the bucket comes late by up to this; tokens beyond the bucket's size are lost
# meanwhile, and the link would be slower than it was set to.
TIMER_SLACK_S = 150e-6
QUEUE_BYTES = 2**20  # a port of a switch with a deep buffer: no drops among a few flows
MTU_BYTES = 9000
MAX_HOSTS = 64


@dataclass(frozen=True)
class Lab:
    """A built network. rate_bytes_per_s: of every link, in each direction."""

    token: str
    hosts: int
    rate_bytes_per_s: float

    def namespace(self, host: int) -> str:
        """The name of the network namespace of that host."""
        return f"{self.token}-h{host}"

    def address(self, host: int) -> str:
        """The IPv4 address of that host."""
        return f"{SUBNET}.{host + 1}"

    def name(self, host: int) -> str:
        """The host name that programs inside see."""
        return f"lab{host}"

    def prefix(self, host: int) -> list[str]:
        """What to put before a command so that it runs on that host, under its host name."""
        script = f'hostname {self.name(host)}; exec "$@"'
        enter = ["nsenter", f"--net={NAMESPACES / self.namespace(host)}"]
        return [*enter, "unshare", "--uts", "sh", "-c", script, "lab"]


def hosts_command_prefix(lab: Lab, host: int) -> list[str]:
    """What to put before a command so that it runs on ``host``."""
    return lab.prefix(host)


def unavailable() -> str:
    """Why no lab can be built here, in a few words; empty if it can."""
    missing = [tool for tool in ("ip", "tc", "nsenter", "unshare") if shutil.which(tool) is None]
    if missing:
        return f"the emulated cluster needs {', '.join(missing)}"
    if os.geteuid() != 0:
        return "the emulated cluster needs root (network namespaces)"
    try:
        with network(1, 1e7):
            return ""
    except MeasurementError as cause:
        return f"network namespaces or tbf are not allowed here: {cause}"


@contextmanager
def network(hosts: int, rate_bytes_per_s: float) -> Iterator[Lab]:
    """Build the network, hand it over, and remove it with every process left inside.

    Raises MeasurementError if a command fails; nothing is left behind then either.
    """
    if not 1 <= hosts <= MAX_HOSTS:
        raise MeasurementError(f"a lab has 1 to {MAX_HOSTS} hosts, not {hosts}")
    remove_stale()
    token = _token(os.getpid())
    lab = Lab(token, hosts, rate_bytes_per_s)
    try:
        _build(lab)
        yield lab
    finally:
        _remove(token)


def remove_stale() -> None:
    """Remove the networks of processes that no longer live."""
    tokens = {path.name.rpartition("-")[0] for path in NAMESPACES.glob(f"{PREFIX}.*-*")}
    for token in tokens:
        pid = token.split(".")[1]
        if not Path(f"/proc/{pid}").exists():
            _remove(token)


def _token(pid: int) -> str:
    """A name that no other network of this or another process has."""
    serial = 0
    while list(NAMESPACES.glob(f"{PREFIX}.{pid}.{serial}-*")):
        serial += 1
    return f"{PREFIX}.{pid}.{serial}"


def _build(lab: Lab) -> None:
    switch = f"{lab.token}-switch"
    _run("ip", "netns", "add", switch)
    _run("ip", "-n", switch, "link", "add", "bridge", "type", "bridge")
    _run("ip", "-n", switch, "link", "set", "bridge", "mtu", str(MTU_BYTES), "up")
    for host in range(lab.hosts):
        space, port = lab.namespace(host), f"port{host}"
        size = ["mtu", str(MTU_BYTES), "gso_max_size", str(SEGMENT_BYTES)]
        _run("ip", "netns", "add", space)
        _run("ip", "-n", switch, "link", "add", port, "mtu", str(MTU_BYTES), "type", "veth",
             "peer", "name", INTERFACE, "netns", space)  # fmt: skip
        _run("ip", "-n", switch, "link", "set", port, "master", "bridge", "up", *size)
        _run("ip", "-n", space, "link", "set", INTERFACE, "up", *size)
        _run("ip", "-n", space, "link", "set", "lo", "up")
        _run("ip", "-n", space, "address", "add", f"{lab.address(host)}/24", "dev", INTERFACE)
        # Loss based, as servers mostly are, and the one that every namespace may choose.
        _run(*lab.prefix(host), "sh", "-c",
             "echo reno > /proc/sys/net/ipv4/tcp_congestion_control")  # fmt: skip
        for place, device in ((space, INTERFACE), (switch, port)):
            bits = round(8 * lab.rate_bytes_per_s)
            _run("tc", "-n", place, "qdisc", "replace", "dev", device, "root", "tbf",
                 "rate", f"{bits}bit", "burst", str(bucket_bytes(lab.rate_bytes_per_s)),
                 "limit", str(QUEUE_BYTES))  # fmt: skip


def bucket_bytes(rate_bytes_per_s: float) -> int:
    """The size of the token bucket: a segment, and what a late timer would lose."""
    return SEGMENT_BYTES + HEADER_BYTES + round(TIMER_SLACK_S * rate_bytes_per_s)


def _remove(token: str) -> None:
    """End what runs inside the namespaces of ``token``, then remove them."""
    names = sorted(path.name for path in NAMESPACES.glob(f"{token}-*"))
    for name in names:
        _end_processes(name)
    for name in names:
        subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


def _end_processes(name: str, patience_s: float = 5.0) -> None:
    """Kill every process of a namespace, and wait until they are gone."""
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        done = subprocess.run(["ip", "netns", "pids", name], capture_output=True, check=False)
        pids = [int(word) for word in done.stdout.split() if int(word) != os.getpid()]
        if not pids:
            return
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        time.sleep(0.02)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise MeasurementError(f"'{' '.join(command[:8])}' failed: {said[-1] if said else ''}")
