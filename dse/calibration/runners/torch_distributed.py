"""Runs real torch.distributed ranks: gloo between CPUs, NCCL between GPUs, within a time budget.

The ranks are processes of this host, or of several through a prefix per host (``ssh -T host``,
``ip netns exec name``); or this process is one of them already, started by torchrun or srun.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dse.calibration.experiment import Experiment, busy_core_seconds, this_machine
from dse.calibration.runners.budget import (
    LEAST_GROUP_S,
    TORCH_START_S,
    Budget,
    Progress,
    affordable_groups,
    limit_s,
    run_costs,
    run_text,
)
from dse.calibration.runners.placement import Placement
from dse.calibration.runners.plan import MeasurePlan, allreduce_plan, counts_up_to
from dse.calibration.runners.processes import PASS_ON, Record, run_processes, worker_command
from dse.calibration.runners.records import experiment
from dse.calibration.runners.request import Request
from dse.calibration.runners.started_rank import Started
from dse.calibration.runners.torch_plan import LOCAL_SHARE, Fleet, need_torch
from dse.errors import MeasurementError

WORKER = "dse.calibration.runners.torch_worker"
# Where launchers say what this process is: torchrun, then Slurm, then Open MPI.
RANK = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK")
RANKS = ("WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE")
LOCAL_RANK = ("LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK")
LOCAL_RANKS = ("LOCAL_WORLD_SIZE", "SLURM_NTASKS_PER_NODE", "OMPI_COMM_WORLD_LOCAL_SIZE")


@dataclass(frozen=True)
class Host:
    """A host to start ranks on: what to put before a command so that it runs there.

    address: at which the other hosts reach it; only the first host's is needed.
    """

    prefix: tuple[str, ...] = ()
    address: str = "127.0.0.1"


@dataclass(frozen=True)
class Launched:
    """This process as one of ``ranks`` that a launcher started, and where rank 0 listens."""

    rank: int
    ranks: int
    local_rank: int
    ranks_per_node: int
    address: str
    port: int


def run(request: Request) -> Experiment:
    """The runner 'torch': allreduce by gloo or NCCL on this machine."""
    return measure_torch(
        allreduce_plan(request.ranks, request.sizes_bytes),
        request.budget_s,
        request.name,
        request.progress,
        link=request.where.link,
        link_bytes_per_s=request.where.link_bytes_per_s,
    )


def run_as_rank(request: Request, me: Started) -> Experiment | None:
    """The runner 'torch' among ranks that a launcher started; by default at all counts up to them.

    Where rank 0 listens must be in the environment: see :func:`ranks_from_environment`.
    """
    plan = allreduce_plan(request.ranks, request.sizes_bytes, counts_up_to(me.ranks))
    where = request.where
    return measure_as_rank(
        plan, request.budget_s, request.name, request.progress, where.link, where.link_bytes_per_s
    )


def measure_torch(
    plan: MeasurePlan,
    budget_s: float,
    name: str = "this-machine",
    progress: Progress | None = None,
    hosts: Sequence[Host] = (Host(),),
    ranks_per_node: int | None = None,
    link: str | None = None,
    link_bytes_per_s: float | None = None,
    device: str = "auto",
    interface: str | None = None,
) -> Experiment:
    """Measure ``plan`` within ``budget_s`` seconds of wall clock, starts included.

    Every run starts as many ranks as the largest count needs, and measures all counts among the
    first of them. There are as many runs as the budget allows, because two starts of the same thing
    differ more than its repetitions do. Hosts are filled with ``ranks_per_node`` ranks each, in
    order. The plan's algorithms are left aside: gloo and NCCL have their own. link,
    link_bytes_per_s: the network between the hosts. interface: the one through which gloo connects;
    by default the one that leads to the first host.
    Raises MeasurementError; no process survives an exception.
    """
    need_torch()
    began = time.monotonic()
    nodes, machine, busy_before = len(hosts), this_machine(), busy_core_seconds()
    each = ranks_per_node or -(-max(plan.ranks) // nodes)
    place = Placement(each, nodes, link or ("network" if nodes > 1 else None), link_bytes_per_s)
    place.nodes_of(max(plan.ranks))
    fleet = Fleet(place, hosts[0].address, device)
    counts, runs = affordable_groups(plan, budget_s)
    seconds = budget_s - TORCH_START_S
    task = fleet.task(plan, counts, runs, seconds, machine.cores)
    command = worker_command(WORKER, {"GLOO_SOCKET_IFNAME": interface} if interface else {})
    ranks = list(range(max(counts)))
    shares = [ranks[first : first + each] for first in ranks[::each]]
    tell = progress or (lambda *_: None)

    def heard(record: Record) -> None:
        if record["kind"] == PASS_ON:
            done, text = record["run"] - 1, ", ".join(map(str, counts))
            tell(done, runs, f"{text} ranks, run {done + 1} of {runs}")

    records = run_processes(
        [[*host.prefix, *command] for host in hosts[: len(shares)]],
        [{**task, "mine": here} for here in shares],
        limit_s(seconds),
        heard,
    )
    tell(runs, runs, "done")
    samples = fleet.samples(records)
    before = busy_before if nodes == 1 else None
    return experiment(name, machine, budget_s, began, before, records, samples)


def ranks_from_environment(environment: Mapping[str, str] | None = None) -> Launched | None:
    """The ranks that torchrun, srun or mpirun started, this one among them; None without one.

    srun and mpirun say nothing of where rank 0 is: MASTER_ADDR and MASTER_PORT must be set.
    """
    env = os.environ if environment is None else environment

    def number(names: Sequence[str], default: int | None = None) -> int | None:
        text = next((env[name] for name in names if name in env), "")
        return int(text) if text.isdigit() else default

    rank, ranks, port = number(RANK), number(RANKS), number(("MASTER_PORT",))
    if rank is None or ranks is None or ranks < 2:
        return None
    if not env.get("MASTER_ADDR") or port is None:
        raise MeasurementError(
            f"this is rank {rank} of {ranks}, and the address of rank 0 is not known; set "
            "MASTER_ADDR to its host and MASTER_PORT to a free port there"
        )
    local = number(LOCAL_RANKS, ranks) or ranks
    local_rank = number(LOCAL_RANK, rank % local) or 0
    return Launched(rank, ranks, local_rank, local, env["MASTER_ADDR"], port)


def measure_as_rank(
    plan: MeasurePlan,
    budget_s: float,
    name: str = "this-machine",
    progress: Progress | None = None,
    link: str | None = None,
    link_bytes_per_s: float | None = None,
    device: str = "auto",
) -> Experiment | None:
    """Measure as one of the ranks that a launcher started; the Experiment on rank 0 alone.

    The rank counts of the plan that there are ranks for, and all ranks; as often as fits, each
    time in new process groups. Every rank must call this with the same arguments.
    Raises MeasurementError.
    """
    began = time.monotonic()
    me = ranks_from_environment()
    if me is None:
        problem = "this process was not started by a launcher"
        raise MeasurementError(f"{problem}; start it with torchrun or srun")
    need_torch()
    from dse.calibration.runners import timing, torch_worker

    nodes = -(-me.ranks // me.ranks_per_node)
    link = link or ("network" if nodes > 1 else None)
    fleet = Fleet(Placement(me.ranks_per_node, nodes, link, link_bytes_per_s), me.address, device)
    usable = replace(plan, ranks=(*(c for c in plan.ranks if c < me.ranks), me.ranks))
    counts, runs = affordable_groups(usable, budget_s, start_s=0.0)
    if me.ranks not in counts:
        counts[-1] = me.ranks  # every rank must take part
    machine = this_machine()
    task = fleet.task(plan, counts, 1, 0.0, machine.cores)
    task |= {"timeout_s": limit_s(budget_s), "rank": me.rank, "local_rank": me.local_rank}
    os.environ |= {"MASTER_ADDR": me.address, "MASTER_PORT": str(me.port)}
    records = []
    told = progress if me.rank == 0 else None
    budget = Budget([tuple(counts)], runs, budget_s, run_costs(), run_text(runs), told, began)
    try:
        store = torch_worker.launcher_store(task)
        for run, _, left_s in budget.turns():
            if run == 1:  # also where importing torch took all the time
                left_s = max(left_s, LEAST_GROUP_S * len(counts))
            share = {"seconds": left_s, "local_seconds": LOCAL_SHARE * left_s * (run == 1)}
            records += torch_worker.measure({**task, **share, "run": run}, store)
    except (timing.WrongSum, RuntimeError, OSError) as cause:
        said = (str(cause).splitlines() or [type(cause).__name__])[0]
        raise MeasurementError(f"rank {me.rank} of {me.ranks}: {said}") from None
    if me.rank:
        return None
    notes = (f"one start of {me.ranks} ranks by a launcher: a run is a new process group",)
    samples = fleet.samples(records)
    return experiment(name, machine, budget_s, began, None, records, samples, notes)
