"""Runs of parameter servers over gRPC: what to measure, how many bytes each server gets, the
starts, the experiment."""

from __future__ import annotations

import importlib.util
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TypeAlias

import numpy as np

from dse.calibration.experiment import (
    Experiment,
    Measurement,
    busy_core_seconds,
    this_machine,
    usable_cores,
)
from dse.calibration.runners import compute_speed
from dse.calibration.runners.hosts import check_reachable, lead_to
from dse.calibration.runners.plan import MAX_RUNS, MIN_REPETITIONS, limit_s, shared
from dse.calibration.runners.processes import HERE, Host, run_processes, worker_command
from dse.calibration.runners.records import experiment, fields_of, library_of
from dse.calibration.runners.registry import Request
from dse.calibration.runners.timing import FLOAT_BYTES
from dse.errors import ArgumentError, MeasurementError
from dse.model.aggregation.parameter_server import homes

Start: TypeAlias = tuple[int, int]  # of so many workers and servers
Message: TypeAlias = tuple[int, int]  # the server, and the bytes that one worker sends to it

ALGORITHM = "ps"
DEFAULT_SIZES = tuple(4**k for k in range(6, 14))  # 4 KiB .. 64 MiB
TENSORS = 12  # that gradients are made of
MOST_WORKERS, DEFAULT_SERVERS = 3, (1, 2)
LOCAL_S = 1.0  # for reductions and copies
LEAST_SHARE = 0.75  # of the budget that the starts of the only run may take
RUNS_SHARE = 0.4  # of the budget that the starts of all runs may take, if these are several
GRPC_WORKER = "dse.calibration.runners.grpc_worker"


@dataclass(frozen=True)
class PsPlan:
    """What to measure: every number of workers with every number of servers and every size.

    sizes_bytes: gradients of one worker, multiples of 4, made of :data:`TENSORS` equal tensors;
    a server gets one message with all of its tensors.
    """

    workers: tuple[int, ...] = (1, 2, 3)
    servers: tuple[int, ...] = (1, 2)
    sizes_bytes: tuple[int, ...] = DEFAULT_SIZES

    def starts(self) -> list[Start]:
        """(workers, servers) of every start of the processes, the fewest first."""
        return sorted(
            {(m, p) for m in self.workers for p in self.servers}, key=lambda x: (sum(x), x)
        )

    def cells(self, servers: int) -> list[list[Message]]:
        """The messages of one worker at every size, from the smallest; none is empty."""
        return [messages(size, servers) for size in sorted(set(self.sizes_bytes))]


def messages(size_bytes: int, servers: int) -> list[Message]:
    """What each server gets of gradients of that size, placed as the model assumes.

    The gradients are cut into tensors that are equal but for one float.
    """
    each, more = divmod(size_bytes // FLOAT_BYTES, TENSORS)
    tensors = np.array([FLOAT_BYTES * (each + (index < more)) for index in range(TENSORS)])
    shards = np.bincount(homes(tensors, servers), weights=tensors, minlength=servers)
    return [(server, int(size)) for server, size in enumerate(shards) if size]


def server_plan(request: Request) -> PsPlan:
    """The plan of a measurement: the counts asked for, else as many as the hosts take, one each.

    Raises StudyError where that is too little to fit, or more than the hosts take.
    """
    hosts = request.hosts
    if hosts is not None and hosts.ranks_per_node > 1:
        problem = "a worker or server wants a host of its own"
        raise ArgumentError("--ranks-per-node", problem, "give --ranks-per-node 1")
    room = hosts.ranks if hosts is not None else None
    usual = (s for s in DEFAULT_SERVERS if room is None or s <= max(room - 2, 1))
    p = tuple(request.servers or usual)
    most = MOST_WORKERS if room is None else max(room - max(p), 1)
    m = tuple(request.ranks or range(1, most + 1))
    for option, counts in (("--ranks", m), ("--servers", p)):
        if min(counts) < 1:
            listed = ",".join(map(str, counts))
            raise ArgumentError(option, f"'{listed}' is no count", "give for example 1,2")
    if len(set(product(m, p))) < 2:
        problem = "one number of workers and of servers is too little to fit and to check the fit"
        raise ArgumentError("--ranks, --servers", problem, "give for example --ranks 1,2,3")
    if room is not None and max(m) + max(p) > room:
        problem = f"{max(m)} workers and {max(p)} servers want more than the {room} hosts"
        raise ArgumentError("--ranks, --servers", problem, "give fewer, or more hosts")
    return PsPlan(m, p)


def run(request: Request) -> Experiment:
    """The runner 'grpc': parameter servers on this machine, or with a host for every process.

    Then, beyond the budget, how fast one thread sums and copies. Raises StudyError for a plan that
    cannot be right, and MeasurementError.
    """
    plan, places = server_plan(request), [HERE]
    began, busy = time.monotonic(), busy_core_seconds()
    if request.hosts is not None:
        check_reachable(request.hosts)
        places = [Host(lead_to(host), host) for host in request.hosts.hosts]
    samples = measure(plan, request, places[::-1], places)
    local = compute_speed.measure_local(LOCAL_S)
    before = busy if request.hosts is None else None
    return experiment(request.name, this_machine(), request.budget_s, began, before, local, samples)


def turns(
    starts: Sequence[Start], request: Request, cores: int
) -> Iterator[tuple[int, Start, float]]:
    """(run from 1, start, seconds to measure in it), all starts of a run before the next run.

    Starting k processes is estimated at ``1 s + k/cores s``. Raises MeasurementError if the budget
    does not even hold every start once.
    """
    budget_s, once = request.budget_s, sum(1.0 + sum(one) / cores for one in starts)
    if not once <= LEAST_SHARE * budget_s < math.inf:
        problem = f"{budget_s:g} s is too short to start the processes {len(starts)} times"
        needed = math.ceil(once / LEAST_SHARE)
        raise MeasurementError(f"{problem}; give --budget {needed} or more")
    runs = min(max(int(RUNS_SHARE * budget_s / once), 1), MAX_RUNS)
    every = [(run, one) for run in range(1, runs + 1) for one in starts]
    texts = [f"workers: {m}, servers: {p}, run {run} of {runs}" for run, (m, p) in every]
    each_s, began = once / len(starts), time.monotonic()
    for done, share_s in shared(texts, budget_s, request.progress, began, each_s):
        yield *every[done - 1], share_s


def measure(
    plan: PsPlan,
    request: Request,
    server_hosts: Sequence[Host] = (HERE,),
    worker_hosts: Sequence[Host] = (HERE,),
) -> list[Measurement]:
    """Seconds to send all gradients to P servers and get their sums, of the slowest of M workers.

    One start of the processes measures all sizes with one (M, P); all are gone through once, then
    again as often as the budget allows. Process i of a role runs on host ``i mod len(hosts)``. In a
    sample ``ranks`` are the workers and ``nodes`` the hosts that have workers. Raises
    MeasurementError; no process outlives this call or this process.
    """
    if importlib.util.find_spec("grpc") is None:
        raise MeasurementError("grpcio is not installed; in the clone, pip install -e '.[grpc]'")
    command = worker_command(GRPC_WORKER, {"GRPC_VERBOSITY": "NONE"})
    samples: list[Measurement] = []
    for run, (workers, servers), share_s in turns(plan.starts(), request, usable_cores()):
        cells, nodes = plan.cells(servers), min(workers, len(worker_hosts))
        task = {
            "workers": workers,
            "servers": servers,
            "cells": cells,
            "seconds": share_s,
            "min_repetitions": MIN_REPETITIONS,
        }
        commands, inputs = [], []
        for role, count, hosts in (
            ("server", servers, server_hosts), ("worker", workers, worker_hosts),
        ):  # fmt: skip
            for index in range(count):
                host = hosts[index % len(hosts)]
                commands.append([*host.prefix, *command])
                inputs.append({**task, "role": role, "index": index, "address": host.address})
        records = run_processes(commands, inputs, limit_s(share_s))
        library, version = library_of(records)
        for record in (record for record in records if record["kind"] == "sample"):
            shards = [size for _, size in cells[record["index"]]]
            about = {
                "transport": "grpc",
                "library": library,
                "version": version,
                "run": run,
                "algorithm": ALGORITHM,
                "ranks": workers,
                "ranks_per_node": -(-workers // nodes),
                "nodes": nodes,
                "link": request.link or "loopback",
                "link_bytes_per_s": request.link_bytes_per_s,
                "bytes": sum(shards),
                "servers": servers,
                "largest_shard_bytes": max(shards),
            }
            samples.append(Measurement(**fields_of(Measurement, {**record, **about})))
    return samples
