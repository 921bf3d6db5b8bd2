"""The hosts to start ranks on: read from a file, checked, and told to the launcher."""

from __future__ import annotations

import ipaddress
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from dse.calibration.runners.mpi_library import MPICH
from dse.errors import ArgumentError, MeasurementError, StudyError

EXAMPLE = "write for example: node1 slots=4"
CONNECT_S = 10  # for ssh to reach a host
ANSWER_S = 20.0  # for a host to answer at all
NICS = Path("/sys/class/net")
# What Open MPI and Hydra are told to use in place of ssh.
AGENTS = ("PRTE_MCA_plm_ssh_agent", "OMPI_MCA_plm_ssh_agent", "HYDRA_LAUNCHER_EXEC")
SSH = ("ssh", "-o", "BatchMode=yes", "-o", f"ConnectTimeout={CONNECT_S}")

_NAME = re.compile(r"^(?:[A-Za-z_][\w.-]*@)?[A-Za-z0-9][\w.:-]*$")


@dataclass(frozen=True)
class Hosts:
    """Hosts, by their names, that take ``ranks_per_node`` ranks each, filled one after the other.

    interface: the network interfaces or subnets that TCP keeps to, as Open MPI's
    btl_tcp_if_include; None leaves the choice to the library.
    """

    hosts: tuple[str, ...]
    ranks_per_node: int
    interface: str | None = None

    @property
    def ranks(self) -> int:
        """How many ranks the hosts take."""
        return len(self.hosts) * self.ranks_per_node

    def filled_by(self, ranks: int) -> int:
        """How many hosts so many ranks fill. Raises MeasurementError where they do not fit."""
        if ranks > self.ranks:
            room = f"{len(self.hosts)} nodes of {self.ranks_per_node} ranks"
            raise MeasurementError(f"{ranks} ranks do not fit on {room}; give fewer --ranks")
        return -(-ranks // self.ranks_per_node)

    def options(self, library: str) -> list[str]:
        """The options that name the hosts to Open MPI's mpirun, or to MPICH's mpiexec."""
        names = ",".join(f"{host}:{self.ranks_per_node}" for host in self.hosts)
        if library == MPICH:
            interface = ["-iface", self.interface] if self.interface else []
            return ["-hosts", names, "-ppn", str(self.ranks_per_node), *interface]
        options = ["--host", names, "--map-by", "slot", "--bind-to", "none"]
        if self.interface:
            # Only these two components know interfaces; others would take another network.
            kept = {"pml": "ob1", "btl": "self,sm,tcp", "btl_tcp_if_include": self.interface}
            options += [word for pair in kept.items() for word in ("--mca", *pair)]
            options += ["--prtemca", "prte_if_include", self.interface]
        return options


def read_hosts(
    path: str | Path, ranks_per_node: int | None = None, interface: str | None = None
) -> Hosts:
    """Read a host file of Open MPI: ``name slots=N`` a line, ``#`` begins a comment.

    A host without slots has one; a host that is listed again gets as many more. ranks_per_node: on
    every host; None takes the slots, which must then be the same on all. Raises StudyError with the
    place of what is wrong.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as cause:
        why = cause.strerror if isinstance(cause, OSError) else "is not a text file"
        raise StudyError(str(path), 0, 0, f"cannot be read: {why}", EXAMPLE) from None
    slots: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        name, *words = line.partition("#")[0].split() or [""]
        if name:
            slots[name] = slots.get(name, 0) + _slots(str(path), number, line, name, words)
    if not slots:
        raise StudyError(str(path), 0, 0, "names no host", EXAMPLE)
    if ranks_per_node is not None and ranks_per_node < 1:
        problem = f"{ranks_per_node} is not a number of ranks"
        raise ArgumentError("--ranks-per-node", problem, "give 1 or more")
    small, least = min(slots.items(), key=lambda host: host[1])
    if ranks_per_node is None and least < max(slots.values()):
        problem = f"the hosts have different numbers of slots ({small} has {least})"
        raise ArgumentError(str(path), problem, "give --ranks-per-node")
    each = ranks_per_node or least
    if each > least:
        problem = f"{small} has slots for {least} ranks, not for {each}"
        raise ArgumentError(str(path), problem, "give fewer --ranks-per-node, or more slots")
    if interface is not None:
        _check_interface(interface)
    return Hosts(tuple(slots), each, interface)


def check_reachable(hosts: Hosts, environment: Mapping[str, str] | None = None) -> None:
    """Run ``true`` on every other host as the launcher would; MeasurementError names those where
    it fails, after ANSWER_S seconds at the latest."""
    agent = _agent(os.environ if environment is None else environment)
    others = [host for host in hosts.hosts if host not in _here()]
    if others and shutil.which(agent[0]) is None:
        problem = f"{agent[0]}, which starts ranks on {others[0]}, was not found"
        raise MeasurementError(f"{problem}; install it, or put it on the PATH")
    with ThreadPoolExecutor(max_workers=32) as pool:
        said = list(pool.map(lambda name: _why_not(agent, name), others))
    failed = [f"{name} ({why})" for name, why in zip(others, said, strict=True) if why]
    if failed:
        more = f" and {len(failed) - 1} more" if len(failed) > 1 else ""
        raise MeasurementError(
            f"cannot start ranks on {failed[0]}{more}; try: ssh {others[0]} true"
        )


def lead_to(name: str) -> tuple[str, ...]:
    """The words before a command that run it on a host, as the launcher would; none for this."""
    return () if name in _here() else (*_agent(os.environ), name)


def _agent(variables: Mapping[str, str]) -> list[str]:
    agent = next((variables[name] for name in AGENTS if variables.get(name)), None)
    return agent.split() if agent else list(SSH)


def _here() -> set[str]:
    return {"localhost", "127.0.0.1", "::1", socket.gethostname(), socket.getfqdn()}


def _why_not(agent: list[str], host: str) -> str:
    """Why nothing can be run on the host; empty where it can."""
    try:
        done = subprocess.run(
            [*agent, host, "true"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=ANSWER_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"no answer in {ANSWER_S:g} s"
    except OSError as cause:
        return f"{agent[0]}: {cause.strerror}"
    if done.returncode == 0:
        return ""
    return (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]


def _slots(path: str, number: int, line: str, name: str, words: list[str]) -> int:
    """The slots of one line; StudyError where it is wrong."""
    if not _NAME.match(name):
        column = line.index(name) + 1
        raise StudyError(path, number, column, f"'{name}' is not a host's name", EXAMPLE)
    count = 1
    for word in words:
        column = line.index(word, line.index(name) + len(name)) + 1
        key, _, value = word.partition("=")
        if key not in ("slots", "max_slots", "max-slots"):
            raise StudyError(path, number, column, f"'{word}' is not known", EXAMPLE)
        if not value.isascii() or not value.isdigit() or int(value) < 1:
            problem = f"'{word}': the number of slots must be 1 or more"
            raise StudyError(path, number, column, problem, EXAMPLE)
        count = int(value) if key == "slots" else count
    return count


def _check_interface(interface: str) -> None:
    """StudyError unless each of the names is an interface of this host, or a subnet."""
    known = sorted(card.name for card in NICS.glob("*"))
    for name in interface.split(","):
        if name in known or not known:
            continue
        try:
            ipaddress.ip_network(name, strict=False)
        except ValueError:
            problem, remedy = f"this host has no '{name}'", f"it has {', '.join(known)}"
            raise ArgumentError("--interface", problem, remedy) from None
