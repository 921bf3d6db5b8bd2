"""What every runner of ``dse calibrate run`` is given: what to measure, for how long, and where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dse.calibration.runners.budget import Progress
    from dse.calibration.runners.hosts import Hosts


@dataclass(frozen=True)
class Request:
    """A measurement as the user asks for it; None leaves the choice to the runner.

    A runner uses the fields of the options that it takes. budget_s: seconds of wall clock, starts
    included. name: of the experiment and its profile. ranks: counts of ranks, or of workers.
    ``progress(done, total, text)`` is called before every run. mpi: see find_launcher. hosts: None
    is this machine alone. link, link_bytes_per_s: the network between the hosts, by name and in one
    direction per host. address: of a Ray cluster; None starts Ray here. servers: numbers of
    parameter servers. device: what is to compute, or holds what is summed: cpu or cuda. workload:
    of which a block is to be timed, by its name or path. operations: to measure besides allreduce.
    """

    budget_s: float
    name: str = "this-machine"
    ranks: Sequence[int] | None = None
    progress: Progress | None = None
    mpi: str | None = None
    hosts: Hosts | None = None
    link: str | None = None
    link_bytes_per_s: float | None = None
    address: str | None = None
    servers: Sequence[int] | None = None
    device: str | None = None
    workload: str | None = None
    operations: tuple[str, ...] = ()
