"""Runs of parameter servers over any transport: what to measure, and the experiment."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import product

from dse.calibration.experiment import Experiment, Measurement, busy_core_seconds, this_machine
from dse.calibration.runners import compute_speed
from dse.calibration.runners.hosts import Hosts, check_reachable
from dse.calibration.runners.ps_plan import DEFAULT_SIZES, PsPlan
from dse.calibration.runners.records import experiment
from dse.calibration.runners.request import Request
from dse.errors import ArgumentError

MOST_WORKERS, DEFAULT_SERVERS = 3, (1, 2)
LOCAL_S = 1.0  # for reductions and copies


def server_plan(
    workers: Sequence[int] | None,
    servers: Sequence[int] | None,
    sizes_bytes: Sequence[int] | None,
    hosts: Hosts | None,
) -> PsPlan:
    """The plan of a measurement: the counts asked for, else as many as the hosts take, one each.

    Raises StudyError where that is too little to fit, or more than the hosts take.
    """
    if hosts is not None and hosts.ranks_per_node > 1:
        problem = "a worker or server wants a host of its own"
        raise ArgumentError("--ranks-per-node", problem, "give --ranks-per-node 1")
    room = hosts.ranks if hosts is not None else None
    p = tuple(servers or (s for s in DEFAULT_SERVERS if room is None or s <= max(room - 2, 1)))
    most = MOST_WORKERS if room is None else max(room - max(p), 1)
    m = tuple(workers or range(1, most + 1))
    for option, counts in (("--ranks", m), ("--servers", p)):
        if not counts or min(counts) < 1:
            listed = ",".join(map(str, counts))
            raise ArgumentError(option, f"'{listed}' is no count", "give for example 1,2")
    if len(set(product(m, p))) < 2:
        problem = "one number of workers and of servers is too little to fit and to check the fit"
        raise ArgumentError("--ranks, --servers", problem, "give for example --ranks 1,2,3")
    if room is not None and max(m) + max(p) > room:
        problem = f"{max(m)} workers and {max(p)} servers want more than the {room} hosts"
        raise ArgumentError("--ranks, --servers", problem, "give fewer, or more hosts")
    return PsPlan(m, p, tuple(sizes_bytes) if sizes_bytes else DEFAULT_SIZES)


def measure_servers(
    request: Request, measure_ps: Callable[[PsPlan], list[Measurement]]
) -> Experiment:
    """Parameter servers as ``measure_ps`` measures a plan over its transport, here or on hosts;
    then, beyond the budget, how fast one thread sums and copies.

    Raises StudyError for a plan that cannot be right, and MeasurementError.
    """
    where = request.where
    plan = server_plan(request.ranks, where.servers, request.sizes_bytes, where.hosts)
    began, busy = time.monotonic(), busy_core_seconds()
    if where.hosts is not None:
        check_reachable(where.hosts)
    samples = measure_ps(plan)
    local = compute_speed.measure_local(LOCAL_S)
    before = busy if where.hosts is None else None
    return experiment(request.name, this_machine(), request.budget_s, began, before, local, samples)
