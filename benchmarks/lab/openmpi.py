"""Open MPI across the hosts of a lab: a launcher inside host 0, and how it reaches the others."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.lab.network import INTERFACE, NAMESPACES, Lab
from dse.calibration.runners.hosts import Hosts
from dse.calibration.runners.mpi_library import OPENMPI, Mpirun, find_launcher


@contextmanager
def mpirun_inside(lab: Lab) -> Iterator[tuple[Mpirun, list[str]]]:
    """An mpirun that starts on host 0, and the options with which it finds the others.

    Open MPI starts its daemons by a remote shell; here that is a script which enters the namespace
    of the host. The hosts need names of their own, else all ranks would talk by shared memory.
    """
    with tempfile.TemporaryDirectory(prefix="dselab") as folder:
        launcher, agent = Path(folder, "mpirun"), Path(folder, "agent")
        inside = shlex.join([*lab.prefix(0), find_launcher(OPENMPI).path])
        _script(launcher, f'exec {inside} "$@"')
        space = f"{NAMESPACES}/{lab.token}-h"
        _script(
            agent,
            'name="$1"; shift; command="$*"',
            f'exec nsenter --net="{space}${{name#lab}}" unshare --uts '
            'sh -c "hostname $name; $command"',
        )
        yield Mpirun(str(launcher)), agent_options(str(agent))


def agent_options(agent: str) -> list[str]:
    """Options of mpirun to reach hosts by ``agent``."""
    launch = {"plm": "ssh", "plm_ssh_agent": agent, "plm_ssh_no_tree_spawn": "1"}
    return [word for name, value in launch.items() for word in ("--prtemca", name, value)]


def on_hosts(lab: Lab, hosts: Sequence[int], ranks_per_host: int) -> list[str]:
    """Options of mpirun to put ``ranks_per_host`` ranks on each host, and to keep to the lab."""
    chosen = tuple(map(lab.name, hosts))
    return Hosts(chosen, ranks_per_host, INTERFACE).options(OPENMPI)


def _script(path: Path, *lines: str) -> None:
    path.write_text("\n".join(["#!/bin/sh", *lines]) + "\n")
    path.chmod(0o755)
