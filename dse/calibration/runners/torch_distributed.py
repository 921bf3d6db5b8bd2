"""Runs real torch.distributed ranks: gloo between CPUs, NCCL between GPUs, within a time budget.

The ranks are processes of this host, or of several through a prefix per host (``ssh -T host``,
``ip netns exec name``); or this process is one of them already, started by torchrun or srun. Or
they are Ray actors, so that any Ray cluster can be calibrated without MPI: a placement group keeps
one bundle of CPUs (or GPUs) per node, and the actors in it run the code of the torch worker. The
nodes need Ray and torch; this package is sent to them.
"""

from __future__ import annotations

import importlib.util
import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from dse.calibration.experiment import (
    Experiment,
    Machine,
    Measurement,
    busy_core_seconds,
    this_machine,
)
from dse.calibration.runners.plan import (
    MIN_REPETITIONS,
    TORCH_START_S,
    MeasurePlan,
    about,
    affordable,
    allreduce_plan,
    limit_s,
    run_texts,
    shared,
    started_plan,
)
from dse.calibration.runners.processes import (
    HERE,
    PACKAGES,
    PASS_ON,
    Host,
    Record,
    run_processes,
    worker_command,
)
from dse.calibration.runners.ray_session import ray_session
from dse.calibration.runners.ray_worker import RankActor
from dse.calibration.runners.records import experiment, fields_of
from dse.calibration.runners.registry import Request
from dse.calibration.runners.started_rank import Started
from dse.errors import MeasurementError

INSTALL = (
    "run: pip install torch (for CPUs alone: "
    "'pip install torch --index-url https://download.pytorch.org/whl/cpu')"
)
LOCAL_SHARE = 0.1  # of the first start, for what one rank does alone
WORKER = "dse.calibration.runners.torch_worker"
START_S = 12.0  # guess of the seconds in which Ray starts, and its actors import torch
ROOM_S = 60.0  # to wait until the cluster has room, and until its actors have started
LAST_WORDS_S = 5.0  # after one rank failed, for the others to say more
Task = dict[str, Any]


@dataclass(frozen=True)
class Fleet:
    """Where the ranks are, ``ranks_per_node`` on each node in order, and what they use.

    link: the tier between the nodes by name; link_bytes_per_s: its speed in one direction per node.
    address: of rank 0 as every host reaches it. device: cpu, cuda or auto.
    """

    ranks_per_node: int
    link: str | None = None
    link_bytes_per_s: float | None = None
    address: str = "127.0.0.1"
    device: str = "auto"

    def task(
        self, plan: MeasurePlan, counts: Sequence[int], runs: int, seconds: float, cores: int
    ) -> dict[str, Any]:
        """The worker's task for ``runs`` runs of all rank counts, without the ranks of its host.

        cores: of a host; a rank count gets time by its ranks per core.
        """
        groups = [
            {"ranks": count, "weight": max(1.0, min(self.ranks_per_node, count) / cores)}
            for count in counts
        ]
        return {
            "ranks": max(counts),
            "local_ranks": min(self.ranks_per_node, max(counts)),
            "address": self.address,
            "device": self.device,
            "timeout_s": limit_s(seconds),
            "runs": runs,
            "groups": groups,
            "operations": list(plan.operations),
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
            each = min(self.ranks_per_node, record["ranks"])
            nodes = -(-record["ranks"] // each)
            where = about(each, nodes, self.link, self.link_bytes_per_s)
            if nodes == 1:
                where["link"] = "loopback" if start["transport"] == "gloo" else "intra-node"
            where |= {key: start[key] for key in ("transport", "version", "device")}
            found.append(
                Measurement(library="torch", **fields_of(Measurement, {**record, **where}))
            )
        return found


def run_of(task: Task, plan: MeasurePlan, run: int, share_s: float) -> Task:
    """The task of one run of ranks that are there already; see :mod:`torch_worker`."""
    local_s = LOCAL_SHARE * share_s if plan.local and run == 1 else 0.0
    return {**task, "run": run, "seconds": share_s, "local_seconds": local_s}


def need_torch() -> None:
    """Raise MeasurementError unless this Python has torch."""
    if importlib.util.find_spec("torch") is None:
        raise MeasurementError(f"torch is not installed; {INSTALL}")


def run(request: Request) -> Experiment:
    """The runner 'torch': allreduce by gloo or NCCL on this machine."""
    plan = allreduce_plan(request.ranks, operations=request.operations)
    return measure_torch(plan, request)


def measure_torch(
    plan: MeasurePlan,
    request: Request,
    hosts: Sequence[Host] = (HERE,),
) -> Experiment:
    """Measure ``plan``, which stands in place of the ranks of the request.

    Every run starts as many ranks as the largest count needs, and measures all counts among the
    first of them. There are as many runs as the budget allows, because two starts of the same thing
    differ more than its repetitions do. Hosts have as many ranks each, in order; only the first
    one's address is needed. The plan's algorithms are left aside: gloo and NCCL have their own.
    Raises MeasurementError; no process survives an exception.
    """
    need_torch()
    began = time.monotonic()
    nodes, machine, busy_before = len(hosts), this_machine(), busy_core_seconds()
    each = -(-max(plan.ranks) // nodes)
    network = request.link, request.link_bytes_per_s
    fleet = Fleet(each, *network, hosts[0].address, request.device or "auto")
    counts, runs = affordable(plan, request.budget_s, TORCH_START_S)
    seconds = request.budget_s - TORCH_START_S
    task = fleet.task(plan, counts, runs, seconds, machine.cores)
    command = worker_command(WORKER)
    ranks = list(range(max(counts)))
    shares = [ranks[first : first + each] for first in ranks[::each]]
    tell, texts = request.progress or (lambda *_: None), run_texts(counts, runs)

    def heard(record: Record) -> None:
        if record["kind"] == PASS_ON:
            tell(record["run"] - 1, runs, texts[record["run"] - 1])

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


def run_as_rank(request: Request, me: Started) -> Experiment | None:
    """The runner 'torch' among ranks that a launcher started; the Experiment on rank 0 alone.

    The rank counts asked for that there are ranks for, by default all up to them, and all ranks; as
    often as fits, each time in new process groups. Every rank must call this with the same request.
    Where rank 0 listens must be in MASTER_ADDR and MASTER_PORT: srun and mpirun do not say it.
    Raises MeasurementError.
    """
    plan = started_plan(request.ranks, me, request.operations, whole=True)
    began, budget_s = time.monotonic(), request.budget_s
    address = os.environ.get("MASTER_ADDR", "")
    if not address or not os.environ.get("MASTER_PORT", "").isdigit():
        raise MeasurementError(
            f"this is rank {me.rank} of {me.ranks}, and the address of rank 0 is not known; set "
            "MASTER_ADDR to its host and MASTER_PORT to a free port there"
        )
    need_torch()
    from dse.calibration.runners import timing, torch_worker

    network = request.link, request.link_bytes_per_s
    fleet = Fleet(me.ranks_per_node, *network, address, request.device or "auto")
    counts, runs = affordable(plan, budget_s)
    if me.ranks not in counts:
        counts[-1] = me.ranks  # every rank must take part
    machine = this_machine()
    task = fleet.task(plan, counts, 1, 0.0, machine.cores)
    task |= {"timeout_s": limit_s(budget_s), "rank": me.rank, "local_rank": me.local_rank}
    records = []
    told = request.progress if me.rank == 0 else None
    try:
        store = torch_worker.launcher_store(task)
        for run, share_s in shared(run_texts(counts, runs), budget_s, told, began):
            records += torch_worker.measure(run_of(task, plan, run, share_s), store)
    except (timing.WrongSum, RuntimeError, OSError) as cause:
        said = (str(cause).splitlines() or [type(cause).__name__])[0]
        raise MeasurementError(f"rank {me.rank} of {me.ranks}: {said}") from None
    if me.rank:
        return None
    notes = (f"one start of {me.ranks} ranks by a launcher: a run is a new process group",)
    samples = fleet.samples(records)
    return experiment(request.name, machine, budget_s, began, None, records, samples, notes)


def run_on_ray(request: Request) -> Experiment:
    """The runner 'ray': allreduce by gloo or NCCL over a Ray cluster, or Ray on this machine."""
    return measure_ray(allreduce_plan(request.ranks, operations=request.operations), request)


def measure_ray(plan: MeasurePlan, request: Request) -> Experiment:
    """Measure ``plan``, which stands in place of the ranks of the request, evenly on all nodes.

    Raises ClusterError where there is no such cluster, and MeasurementError; the actors are gone
    whatever happens.
    """
    began = time.monotonic()
    address, budget_s, progress = request.address, request.budget_s, request.progress
    counts, runs = affordable(plan, budget_s, START_S)
    package = str(PACKAGES / "dse")
    with ray_session(address, {"py_modules": [package]} if address else None) as ray:
        there = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
        each = -(-max(counts) // len(there))
        used = -(-max(counts) // each)
        if progress:
            progress(0, runs, f"placing {max(counts)} ranks on {used} Ray nodes")
        with _actors(ray, there, max(counts), each, used, request.device) as (actors, gpus):
            seen = _ask(ray, [actor.about.remote() for actor in actors], ROOM_S)
            if not all(node["torch"] for node in seen):
                raise MeasurementError(f"torch is missing on the nodes of the cluster; {INSTALL}")
            device = (request.device or "auto") if gpus else "cpu"
            network = request.link, request.link_bytes_per_s
            fleet = Fleet(each, *network, str(seen[0]["address"]), device)
            task = fleet.task(plan, counts, 1, 0.0, seen[0]["cores"])
            if gpus:  # Ray shows an actor no GPU but its own
                task |= {"local_ranks": 1, "local_rank": 0}
            records: list[Task] = []
            for run, share_s in shared(run_texts(counts, runs), budget_s, progress, began):
                limit = limit_s(share_s)
                mine = {**run_of(task, plan, run, share_s), "timeout_s": limit}
                records += _run(ray, actors, mine)
        notes = (f"ranks placed by Ray {ray.__version__}", "load by other processes not recorded")
    machine = Machine(**seen[0]["machine"]) if seen[0]["machine"] else None
    samples = fleet.samples(records)
    return experiment(request.name, machine, budget_s, began, None, records, samples, notes)


@contextmanager
def _actors(
    ray: Any,
    there: Sequence[Mapping[str, Any]],
    ranks: int,
    each: int,
    nodes: int,
    device: str | None,
) -> Iterator[tuple[list[Any], bool]]:
    """The actors in the order of their ranks, and whether each has a GPU; ended at the end."""
    from ray.util.placement_group import placement_group, remove_placement_group
    from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

    have = sorted((node["Resources"].get("GPU", 0) for node in there), reverse=True)
    gpus = device != "cpu" and have[nodes - 1] >= each
    cpus = min(each, *(int(node["Resources"]["CPU"]) for node in there))
    bundle = {"CPU": float(cpus), **({"GPU": float(each)} if gpus else {})}
    group = placement_group([bundle] * nodes, "STRICT_SPREAD" if nodes > 1 else "STRICT_PACK")
    actors: list[Any] = []
    try:
        if not group.wait(ROOM_S):
            problem = f"the Ray cluster has no room for {bundle} on each of {nodes} nodes"
            raise MeasurementError(f"{problem}; ask for fewer ranks, or wait until others are done")
        options = {
            "num_cpus": math.floor(1e4 * cpus / each) / 1e4,
            "num_gpus": 1 if gpus else 0,
            "max_restarts": 0,
        }
        for rank in range(ranks):
            where = PlacementGroupSchedulingStrategy(
                placement_group=group, placement_group_bundle_index=rank // each
            )
            kind = ray.remote(**options, scheduling_strategy=where)(RankActor)
            actors.append(kind.remote())
        yield actors, gpus
    finally:
        for actor in actors:
            ray.kill(actor)
        remove_placement_group(group)


def _run(ray: Any, actors: Sequence[Any], task: Task) -> list[Task]:
    """One run of all ranks: the records of rank 0."""
    [port] = _ask(ray, [actors[0].listen.remote(task["address"])], ROOM_S)
    waiting = {}
    for rank, actor in enumerate(actors):
        mine = {"rank": rank, "local_rank": 0, **task}
        waiting[actor.measure.remote(mine, port)] = rank
    return list(_ask(ray, list(waiting), task["timeout_s"])[0]["records"])


def _ask(ray: Any, references: Sequence[Any], wait_s: float) -> list[Any]:
    """All answers, in order; MeasurementError as soon as an actor has died or met a problem.

    Of several problems, an actor that died is told: it is why the others failed.
    """
    deadline, waiting = time.monotonic() + wait_s, list(references)
    problems: list[str] = []
    while waiting:
        left_s = max(0.0, deadline - time.monotonic())
        ready, waiting = ray.wait(waiting, num_returns=1, timeout=left_s)
        for reference in ready:
            try:
                answer = ray.get(reference)
            except ray.exceptions.RayActorError:
                rank = references.index(reference)
                died = f"rank {rank} of {len(references)}: its Ray actor died"
                raise MeasurementError(died) from None
            except ray.exceptions.RayError as cause:
                raise MeasurementError(f"Ray: {(str(cause).splitlines() or ['?'])[-1]}") from None
            if isinstance(answer, dict) and "problem" in answer:
                problems.append(answer["problem"])
                deadline = min(deadline, time.monotonic() + LAST_WORDS_S)
        if not ready:
            break
    if problems:
        wrong = [problem for problem in problems if "wrong sum" in problem]
        raise MeasurementError((wrong or problems)[0])
    if waiting:
        missing = f"{len(waiting)} of {len(references)} ranks"
        raise MeasurementError(f"{missing} did not answer within {wait_s:.0f} s")
    return [ray.get(reference) for reference in references]
