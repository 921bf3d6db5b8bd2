"""Many jobs at once, as arrays, one group of them for every class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dse.catalog import Fact
from dse.fleet.document import LogSummary
from dse.model.arrays import Array
from dse.model.pai import Hardware, Jobs


@dataclass(frozen=True)
class Group:
    """The jobs of one class.

    architecture: one of ``dse.model.pai.ARCHITECTURES``. jobs: every array of shape (jobs,).
    gpu_hours: shape (jobs,), what each job holds of the fleet; where nobody has told, its cNodes,
    as if all ran equally long. state_bytes: weights, tables and optimizer state of a replica,
    shape (jobs,), 0 where not known. names: of the jobs, or empty.
    """

    architecture: str
    jobs: Jobs
    gpu_hours: Array
    state_bytes: Array
    names: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """The number of jobs."""
        return len(self.gpu_hours)

    @property
    def cnodes(self) -> Array:
        """cNodes of each job, shape (jobs,)."""
        return np.asarray(self.jobs.cnodes, dtype=np.float64)

    @property
    def run_hours(self) -> Array:
        """The hours that each job ran, up to one common factor where GPU-hours are not known."""
        return self.gpu_hours / self.cnodes


@dataclass(frozen=True)
class Population:
    """A fleet's jobs.

    base: the hardware on which drawn jobs have the shares they were drawn with; None for a table,
    whose FLOPs and bytes hold on any. hours_given: whether GPU-hours were told, state_given:
    whether state_bytes were. facts: what a drawn population rests on. path: the file. log: what a
    scheduler's log told.
    """

    name: str
    title: str
    path: str
    groups: tuple[Group, ...]
    base: Hardware | None
    hours_given: bool
    state_given: bool
    log: LogSummary | None = None
    facts: tuple[Fact, ...] = ()

    @property
    def size(self) -> int:
        """The number of jobs in all."""
        return sum(group.size for group in self.groups)
