"""Runs real torch.distributed ranks: gloo between CPUs, NCCL between GPUs, within a time budget.

The ranks are processes of this host, or of several through a prefix per host (``ssh -T host``,
``ip netns exec name``); or this process is one of them already, started by torchrun or srun.
"""

from __future__ import annotations

import importlib.util
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dse.calibration.experiment import Experiment, Measurement, busy_core_seconds, this_machine
from dse.calibration.runners.budget import (
    LEAST_GROUP_S,
    TORCH_START_S,
    Budget,
    affordable_groups,
    limit_s,
)
from dse.calibration.runners.plan import (
    MIN_REPETITIONS,
    MeasurePlan,
    Placement,
    allreduce_plan,
    counts_up_to,
)
from dse.calibration.runners.processes import (
    HERE,
    PASS_ON,
    Host,
    Record,
    run_processes,
    worker_command,
)
from dse.calibration.runners.records import experiment, fields_of
from dse.calibration.runners.registry import Request
from dse.calibration.runners.started_rank import Started
from dse.errors import MeasurementError

INSTALL = (
    "run: pip install torch (for CPUs alone: "
    "'pip install torch --index-url https://download.pytorch.org/whl/cpu')"
)
LOCAL_SHARE = 0.1  # of the first start, for what one rank does alone


@dataclass(frozen=True)
class Fleet:
    """Where the ranks are, and what they use.

    address: of rank 0 as every host reaches it. device: cpu, cuda or auto.
    """

    place: Placement
    address: str = "127.0.0.1"
    device: str = "auto"

    def task(
        self, plan: MeasurePlan, counts: Sequence[int], runs: int, seconds: float, cores: int
    ) -> dict[str, Any]:
        """The worker's task for ``runs`` runs of all rank counts, without the ranks of its host.

        A ping-pong is measured at the smallest rank count only. cores: of a host; a rank count
        gets time by its ranks per core.
        """
        least = min(counts)
        groups = [
            {
                "ranks": count,
                "stride": self.place.stride(count),
                "weight": max(1.0, self.place.on_each(count) / cores),
                "primitives": [p for p in plan.primitives if p != "ping-pong" or count == least],
            }
            for count in counts
        ]
        return {
            "ranks": max(counts),
            "local_ranks": self.place.on_each(max(counts)),
            "address": self.address,
            "device": self.device,
            "timeout_s": limit_s(seconds),
            "runs": runs,
            "groups": groups,
            "sizes": list(plan.sizes_bytes),
            "seconds": seconds,
            "min_repetitions": MIN_REPETITIONS,
            "local_seconds": LOCAL_SHARE * seconds / runs if plan.local else 0.0,
        }

    def samples(self, records: Sequence[Mapping[str, Any]]) -> list[Measurement]:
        """The measurements among the records of rank 0."""
        start = next(record for record in records if record["kind"] == "start")
        found = []
        for record in records:
            if record["kind"] != "sample":
                continue
            about = self.place.about(record["ranks"])
            if about["nodes"] == 1:
                about["link"] = "loopback" if start["transport"] == "gloo" else "intra-node"
            about |= {key: start[key] for key in ("transport", "version", "device")}
            found.append(
                Measurement(library="torch", **fields_of(Measurement, {**record, **about}))
            )
        return found


def run_text(counts: Sequence[int], run: int, runs: int) -> str:
    """The text printed before each run of all rank counts at once."""
    return f"{', '.join(map(str, counts))} ranks, run {run} of {runs}"


def need_torch() -> None:
    """Raise MeasurementError unless this Python has torch."""
    if importlib.util.find_spec("torch") is None:
        raise MeasurementError(f"torch is not installed; {INSTALL}")


WORKER = "dse.calibration.runners.torch_worker"


def run(request: Request) -> Experiment:
    """The runner 'torch': allreduce by gloo or NCCL on this machine."""
    plan = allreduce_plan(request.ranks, operations=request.operations)
    return measure_torch(plan, request)


def run_as_rank(request: Request, me: Started) -> Experiment | None:
    """The runner 'torch' among ranks that a launcher started; by default at all counts up to them.

    Where rank 0 listens must be in MASTER_ADDR and MASTER_PORT: srun and mpirun do not say it.
    """
    plan = allreduce_plan(request.ranks, counts_up_to(me.ranks), request.operations)
    return measure_as_rank(plan, request, me)


def measure_torch(
    plan: MeasurePlan,
    request: Request,
    hosts: Sequence[Host] = (HERE,),
    ranks_per_node: int | None = None,
    interface: str | None = None,
) -> Experiment:
    """Measure ``plan``, which stands in place of the ranks of the request.

    Every run starts as many ranks as the largest count needs, and measures all counts among the
    first of them. There are as many runs as the budget allows, because two starts of the same thing
    differ more than its repetitions do. Hosts are filled with ``ranks_per_node`` ranks each, in
    order; only the first one's address is needed. The plan's algorithms are left aside: gloo and
    NCCL have their own. interface: the one through which gloo connects; by default the one that
    leads to the first host.
    Raises MeasurementError; no process survives an exception.
    """
    need_torch()
    began = time.monotonic()
    nodes, machine, busy_before = len(hosts), this_machine(), busy_core_seconds()
    each = ranks_per_node or -(-max(plan.ranks) // nodes)
    place = Placement(each, nodes, request.link, request.link_bytes_per_s)
    place.nodes_of(max(plan.ranks))
    fleet = Fleet(place, hosts[0].address, request.device or "auto")
    counts, runs = affordable_groups(plan, request.budget_s)
    seconds = request.budget_s - TORCH_START_S
    task = fleet.task(plan, counts, runs, seconds, machine.cores)
    command = worker_command(WORKER, {"GLOO_SOCKET_IFNAME": interface} if interface else {})
    ranks = list(range(max(counts)))
    shares = [ranks[first : first + each] for first in ranks[::each]]
    tell = request.progress or (lambda *_: None)

    def heard(record: Record) -> None:
        if record["kind"] == PASS_ON:
            tell(record["run"] - 1, runs, run_text(counts, record["run"], runs))

    records = run_processes(
        [[*host.prefix, *command] for host in hosts[: len(shares)]],
        [{**task, "mine": here} for here in shares],
        limit_s(seconds),
        heard,
    )
    tell(runs, runs, "done")
    samples = fleet.samples(records)
    before = busy_before if nodes == 1 else None
    return experiment(request.name, machine, request.budget_s, began, before, records, samples)


def measure_as_rank(plan: MeasurePlan, request: Request, me: Started) -> Experiment | None:
    """Measure as one of the ranks that a launcher started; the Experiment on rank 0 alone.

    The rank counts of the plan that there are ranks for, and all ranks; as often as fits, each
    time in new process groups. Every rank must call this with the same arguments.
    Raises MeasurementError.
    """
    began, budget_s = time.monotonic(), request.budget_s
    address = os.environ.get("MASTER_ADDR", "")
    if not address or not os.environ.get("MASTER_PORT", "").isdigit():
        raise MeasurementError(
            f"this is rank {me.rank} of {me.ranks}, and the address of rank 0 is not known; set "
            "MASTER_ADDR to its host and MASTER_PORT to a free port there"
        )
    need_torch()
    from dse.calibration.runners import timing, torch_worker

    nodes = -(-me.ranks // me.ranks_per_node)
    place = Placement(me.ranks_per_node, nodes, request.link, request.link_bytes_per_s)
    fleet = Fleet(place, address, request.device or "auto")
    usable = replace(plan, ranks=(*(c for c in plan.ranks if c < me.ranks), me.ranks))
    counts, runs = affordable_groups(usable, budget_s, start_s=0.0)
    if me.ranks not in counts:
        counts[-1] = me.ranks  # every rank must take part
    machine = this_machine()
    task = fleet.task(plan, counts, 1, 0.0, machine.cores)
    task |= {"timeout_s": limit_s(budget_s), "rank": me.rank, "local_rank": me.local_rank}
    records = []
    told = request.progress if me.rank == 0 else None
    budget = Budget(
        [tuple(counts)], runs, budget_s, lambda run, _: run_text(counts, run, runs), told, began
    )
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
    return experiment(request.name, machine, budget_s, began, None, records, samples, notes)
