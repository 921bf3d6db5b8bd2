"""Allreduce of real MPI ranks across the lab, kept as measurement files in ``results/``."""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from benchmarks.lab.network import Lab, network
from benchmarks.lab.openmpi import mpirun_inside, on_hosts
from dse.calibration.experiment import (
    Experiment,
    busy_core_seconds,
    read_experiment,
    this_machine,
    usable_cores,
    write_experiment,
)
from dse.calibration.runners.mpi import task_of
from dse.calibration.runners.mpi_library import run_ranks
from dse.calibration.runners.plan import MeasurePlan
from dse.calibration.runners.records import experiment, samples_of

RESULTS = Path(__file__).parent / "results"
LINK = "lab"
MBPS = 1e6 / 8  # bytes/s
SIZES = (1024, 4096, 16384, 65536, *(2**k for k in range(17, 23)))
LARGE = 2**24
DISTURBED = 0.1  # of the cores in use by others, before or after a start
LOOK_S = 0.4  # how long to look whether others use the cores
SOURCE = "measured by benchmarks.lab on this project's development machine"
NOTES = (
    "hosts are network namespaces on one machine; tbf shapes every link in both directions",
    "no delay is emulated: the latency is that of the kernel and of ranks that share cores",
)


@dataclass(frozen=True)
class Start:
    """One start of the ranks: where, on which link, and for how long."""

    mbps: float
    hosts: int
    ranks_per_host: int
    seconds: float

    @property
    def ranks(self) -> int:
        return self.hosts * self.ranks_per_host

    def sizes(self) -> tuple[int, ...]:
        """The largest size only where its repetitions take seconds rather than minutes."""
        large = (LARGE,) if self.mbps >= 400 and self.hosts <= 4 else ()
        return (*SIZES, *large)


def one_pass(seconds: float = 1.0) -> list[Start]:
    """Every start of one pass; ``seconds`` scales all shares of time (1: about 10 minutes)."""
    one_each = product(((200.0, 30.0), (400.0, 24.0), (100.0, 44.0)), (2, 3, 4, 6, 8))
    two_each = product(((200.0, 30.0), (400.0, 24.0)), (2, 3, 4))
    return [
        Start(mbps, hosts, ranks, seconds * share_s * (0.4 + 0.1 * hosts * ranks))
        for ranks, places in ((1, one_each), (2, two_each))
        for (mbps, share_s), hosts in places
    ]


def path_of(start: Start, folder: Path = RESULTS, kind: str = "mpi") -> Path:
    """The measurement file that holds the samples of this start."""
    return folder / f"{kind}-{start.mbps:g}mbps.json"


def measure_start(lab: Lab, start: Start, run: int) -> Experiment:
    """Start the ranks once; the samples as run number ``run``."""
    began = time.monotonic()
    plan = MeasurePlan(ranks=(start.ranks,), sizes_bytes=start.sizes(), local=False)
    task = task_of(plan, plan.ranks, start.seconds, this_machine().cores, local=False)
    with mpirun_inside(lab) as (mpirun, options):
        extra = [*options, *on_hosts(lab, range(start.hosts), start.ranks_per_host)]
        records = run_ranks(mpirun, start.ranks, task, start.seconds, extra=extra)
    samples = samples_of(records, run, LINK, lab.rate_bytes_per_s)
    name = path_of(start).stem
    found = experiment(name, this_machine(), 0.0, began, None, records, samples, NOTES)
    return dataclasses.replace(found, source=SOURCE, shared_cores=True)


def used_by_others() -> float:
    """The share of the cores that is in use while nothing of ours runs."""
    began, before = time.monotonic(), busy_core_seconds()[0]
    time.sleep(LOOK_S)
    used = busy_core_seconds()[0] - before
    return used / (time.monotonic() - began) / usable_cores()


def merge(path: Path, new: Experiment) -> Experiment:
    """The file at ``path`` with the samples of ``new`` added, and written."""
    if path.exists():
        old = read_experiment(path)
        new = dataclasses.replace(
            old, samples=old.samples + new.samples, wall_s=round(old.wall_s + new.wall_s, 2)
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_experiment(new, path)
    return new


def next_run(start: Start, folder: Path = RESULTS, kind: str = "mpi") -> int:
    """The number of the next run of this start: one more than its file holds."""
    path = path_of(start, folder, kind)
    if not path.exists():
        return 1
    mine = [s.run for s in read_experiment(path).samples
            if (s.nodes, s.ranks_per_node) == (start.hosts, start.ranks_per_host)]  # fmt: skip
    return max(mine, default=0) + 1


def measure(start: Start, folder: Path = RESULTS) -> Experiment:
    """Build the lab, measure one start, add it to its file unless disturbed, remove the lab."""
    before = used_by_others()
    with network(start.hosts, start.mbps * MBPS) as lab:
        found = measure_start(lab, start, next_run(start, folder))
    if max(before, used_by_others()) <= DISTURBED:
        merge(path_of(start, folder), found)
    return found
