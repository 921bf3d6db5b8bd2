"""What every runner of ``dse calibrate run`` is given: what to measure, for how long, and where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dse.calibration.runners.budget import Progress
    from dse.calibration.runners.hosts import Hosts


@dataclass(frozen=True)
class Where:
    """Where and with what to measure; each runner uses the fields of the options that it takes.

    mpi: see find_launcher; None: whichever is there. hosts: None is this machine alone. link,
    link_bytes_per_s: the network between the hosts, by name and in one direction per host.
    address: of a Ray cluster; None starts Ray here. servers: numbers of parameter servers; None
    leaves them to the runner. device: what is to compute, cpu or cuda; None is cpu. workload: of
    which a block is to be timed, by its name or path; None is none.
    """

    mpi: str | None = None
    hosts: Hosts | None = None
    link: str | None = None
    link_bytes_per_s: float | None = None
    address: str | None = None
    servers: tuple[int, ...] | None = None
    device: str | None = None
    workload: str | None = None

    @property
    def options(self) -> tuple[str, ...]:
        """The command-line options behind the fields that are not None."""
        said = {
            "--mpi": self.mpi,
            "--hostfile": self.hosts,
            "--interface": self.hosts.interface if self.hosts else None,
            "--link": self.link,
            "--link-bandwidth": self.link_bytes_per_s,
            "--address": self.address,
            "--servers": self.servers,
            "--device": self.device,
            "--workload": self.workload,
        }
        return tuple(option for option, value in said.items() if value is not None)


@dataclass(frozen=True)
class Request:
    """A measurement as the user asks for it.

    budget_s: seconds of wall clock. name: of the experiment and its profile. ranks, sizes_bytes:
    counts of ranks and bytes of a rank's message; None leaves them to the runner.
    ``progress(done, total, text)`` is called before every run.
    """

    budget_s: float
    name: str = "this-machine"
    ranks: Sequence[int] | None = None
    sizes_bytes: Sequence[int] | None = None
    progress: Progress | None = None
    where: Where = field(default_factory=Where)
