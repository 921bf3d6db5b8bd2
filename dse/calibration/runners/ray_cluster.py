"""Runs torch ranks as Ray actors, so that any Ray cluster can be calibrated without MPI.

A placement group keeps one bundle of CPUs (or GPUs) per node; the actors in it run the code of the
torch worker. The nodes need Ray and torch; this package is sent to them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from dse.calibration.experiment import Experiment, Machine
from dse.calibration.runners.budget import (
    LEAST_GROUP_S,
    Budget,
    affordable_groups,
    limit_s,
)
from dse.calibration.runners.plan import MeasurePlan, Placement, allreduce_plan
from dse.calibration.runners.processes import PACKAGES
from dse.calibration.runners.ray_session import ray_session
from dse.calibration.runners.ray_worker import RankActor
from dse.calibration.runners.records import experiment
from dse.calibration.runners.registry import Request
from dse.calibration.runners.torch_distributed import INSTALL, LOCAL_SHARE, Fleet, run_text
from dse.errors import MeasurementError

START_S = 12.0  # guess of the seconds in which Ray starts, and its actors import torch
ROOM_S = 60.0  # to wait until the cluster has room, and until its actors have started
LAST_WORDS_S = 5.0  # after one rank failed, for the others to say more
TASK = dict[str, Any]


def run(request: Request) -> Experiment:
    """The runner 'ray': allreduce by gloo or NCCL over a Ray cluster, or Ray on this machine."""
    return measure_ray(allreduce_plan(request.ranks, operations=request.operations), request)


def measure_ray(
    plan: MeasurePlan, request: Request, ranks_per_node: int | None = None
) -> Experiment:
    """Measure ``plan``, which stands in place of the ranks of the request, on all nodes.

    ranks_per_node: of a full node; None spreads the ranks evenly. Raises ClusterError where there
    is no such cluster, and MeasurementError; the actors are gone whatever happens.
    """
    began = time.monotonic()
    address, budget_s, progress = request.address, request.budget_s, request.progress
    counts, runs = affordable_groups(plan, budget_s, START_S)
    package = str(PACKAGES / "dse")
    with ray_session(address, {"py_modules": [package]} if address else None) as ray:
        there = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
        each = ranks_per_node or -(-max(counts) // len(there))
        place = Placement(each, len(there), request.link, request.link_bytes_per_s)
        used = place.nodes_of(max(counts))
        if progress:
            progress(0, runs, f"placing {max(counts)} ranks on {used} Ray nodes")
        with _actors(ray, there, max(counts), each, used, request.device) as (actors, gpus):
            about = _ask(ray, [actor.about.remote() for actor in actors], ROOM_S)
            if not all(node["torch"] for node in about):
                raise MeasurementError(f"torch is missing on the nodes of the cluster; {INSTALL}")
            device = (request.device or "auto") if gpus else "cpu"
            fleet = Fleet(place, str(about[0]["address"]), device)
            task = fleet.task(plan, counts, 1, 0.0, about[0]["cores"])
            if gpus:  # Ray shows an actor no GPU but its own
                task |= {"local_ranks": 1, "local_rank": 0}
            records: list[TASK] = []
            turns = [tuple(counts)]
            budget = Budget(
                turns, runs, budget_s, lambda run, _: run_text(counts, run, runs), progress, began
            )
            for run, _, left_s in budget.turns():
                share_s = max(left_s, LEAST_GROUP_S * len(counts) if run == 1 else 0.0)
                task |= {"run": run, "seconds": share_s, "timeout_s": limit_s(share_s)}
                task["local_seconds"] = LOCAL_SHARE * share_s if plan.local and run == 1 else 0.0
                records += _run(ray, actors, task)
        notes = (f"ranks placed by Ray {ray.__version__}", "load by other processes not recorded")
    machine = Machine(**about[0]["machine"]) if about[0]["machine"] else None
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


def _run(ray: Any, actors: Sequence[Any], task: TASK) -> list[TASK]:
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
