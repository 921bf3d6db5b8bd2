"""dse's own model on the jobs of a fleet, beside the PAI paper's: one effect after the other.

The paper divides bytes by bandwidth. Here the same bytes are aggregated by the algorithms of
:mod:`dse.model`, over transports as the catalogue knows them. ``S_w`` of the paper is what a step
exchanges, to and fro, so the gradients that are aggregated are half of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dse import catalog
from dse.fleet.breakdown import Priced
from dse.fleet.document import ModelRow
from dse.fleet.facts import FASTER_ETHERNET
from dse.fleet.measured_costs import NOTHING, Measured
from dse.fleet.ports import GAIN
from dse.model import overlap
from dse.model.aggregation.algorithms import hierarchical, ring
from dse.model.aggregation.parameter_server import parameter_server
from dse.model.arrays import Array, Mask
from dse.model.links import FREE, Link, Network, StepCost
from dse.model.pai import (
    ALLREDUCE_CLUSTER,
    ALLREDUCE_LOCAL,
    ONE_WORKER_N_GPUS,
    ONE_WORKER_ONE_GPU,
    PEARL,
    PS_WORKER,
    Hardware,
    Jobs,
    placed_cnodes,
    step_times,
    throughput_ratio,
)

BACKWARD_SHARE = 2 / 3  # of computing: two of the three products of a layer
BUCKETS = 8
SERVED = 4.0  # workers of one parameter server, where servers are scarce
TRANSPORTS = {PS_WORKER: "grpc", ALLREDUCE_LOCAL: "nccl", ALLREDUCE_CLUSTER: "nccl",
              PEARL: "nccl"}  # fmt: skip


@dataclass(frozen=True)
class Effects:
    """What is modelled besides bytes over bandwidth.

    software: latency, messages and copies, as the catalogue knows them or as they were measured.
    overlapped: with the backward pass, in :data:`BUCKETS` messages.
    """

    software: bool = False
    workers_per_server: float = 1.0
    overlapped: bool = False
    measured: Measured = NOTHING


STEPS: tuple[tuple[str, Effects], ...] = (
    ("the algorithm: push and pull; a ring", Effects()),
    ("and latency, messages and copies of gRPC and NCCL", Effects(True)),
    (f"and contention: one server for {SERVED:g} workers", Effects(True, SERVED)),
    (f"and overlap with the backward pass, in {BUCKETS} buckets", Effects(True, SERVED, True)),
    ("the algorithm and overlap alone", Effects(False, 1.0, True)),
)


def network(architecture: str, hardware: Hardware, effects: Effects) -> Network:
    """Both tiers as the transport of an architecture sees them."""
    e = np.asarray(hardware.efficiency)
    across = Link(0.0, hardware.ethernet_bytes_per_s * e)
    within = Link(0.0, hardware.nvlink_bytes_per_s * e)
    if not effects.software:
        return Network(FREE, FREE, within, across)
    found = catalog.transport(TRANSPORTS[architecture])

    def cost(software: catalog.SoftwareCost) -> StepCost:
        return StepCost(software.latency_s, (software.s_per_byte,))

    return Network(cost(found.within), cost(found.across), within, across)


def aggregation_s(architecture: str, jobs: Jobs, hardware: Hardware, effects: Effects) -> Array:
    """Seconds to aggregate the gradients of every job as one message, shape (jobs,)."""
    if architecture in (ONE_WORKER_ONE_GPU, ONE_WORKER_N_GPUS):
        return step_times(architecture, jobs, hardware).weights_s
    n = np.asarray(jobs.cnodes, dtype=np.float64)
    gradients = gradient_bytes(jobs)
    seen = network(architecture, hardware, effects)
    own = effects.measured if effects.software else NOTHING
    if architecture == PS_WORKER:
        servers = np.ceil(n / effects.workers_per_server)
        staged = 2 * gradients / (hardware.pcie_bytes_per_s * np.asarray(hardware.efficiency))
        if own.servers is not None:
            link, e = hardware.ethernet_bytes_per_s, hardware.efficiency
            return np.asarray(staged + own.servers.seconds(n, gradients, servers, link, e))
        return np.asarray(staged + parameter_server(n, 1.0, gradients, seen, servers))
    per_server = np.asarray(hardware.gpus_per_server, dtype=np.float64)
    alone, local = n <= per_server, np.minimum(n, per_server)
    if own.inside is not None:
        inside = own.inside.seconds(local, gradients)
    else:
        inside = ring(local, per_server, gradients, seen)
    if architecture == ALLREDUCE_LOCAL:
        return inside
    return np.where(alone, inside, hierarchical(n, per_server, gradients, seen))


def gradient_bytes(jobs: Jobs) -> Array:
    """Half of what a step exchanges, to and fro."""
    return np.asarray((np.asarray(jobs.weight_bytes) + jobs.embedding_bytes) / 2)


def communication_s(
    architecture: str, jobs: Jobs, hardware: Hardware, effects: Effects
) -> tuple[Array, Array]:
    """(all aggregation, that which nothing hides) of every job, shape (jobs,)."""
    if not effects.overlapped:
        whole = aggregation_s(architecture, jobs, hardware, effects)
        return whole, whole
    each = aggregation_s(architecture, in_buckets(jobs), hardware, effects)
    backward = BACKWARD_SHARE * step_times(architecture, jobs, hardware).compute_s
    ready = [backward * (at + 1) / BUCKETS for at in range(BUCKETS)]
    end, _ = overlap.last_end_s(ready, [each] * BUCKETS)
    return BUCKETS * each, np.maximum(end - backward, 0.0)


def in_buckets(jobs: Jobs) -> Jobs:
    """The same jobs with what one bucket of a step exchanges."""
    return replace(
        jobs,
        weight_bytes=np.asarray(jobs.weight_bytes) / BUCKETS,
        embedding_bytes=np.asarray(jobs.embedding_bytes) / BUCKETS,
    )


def in_range(architecture: str, jobs: Jobs, hardware: Hardware, effects: Effects) -> Mask:
    """Of every job, whether what prices its messages was measured like that; shape (jobs,).

    True where no part of it was measured: that is the catalogue's.
    """
    own, n = effects.measured, np.asarray(jobs.cnodes, dtype=np.float64)
    size = gradient_bytes(in_buckets(jobs) if effects.overlapped else jobs)
    inside = np.ones(np.broadcast_shapes(n.shape, size.shape), dtype=bool)
    if architecture == PS_WORKER and own.servers is not None:
        servers = np.ceil(n / effects.workers_per_server)
        link = hardware.ethernet_bytes_per_s
        return inside & own.servers.in_range(n, size, servers, link)
    if own.inside is not None:
        others = ~_by_nccl(architecture, n, hardware, own)
        known = own.inside.in_range(n, size, hardware.nvlink_bytes_per_s)
        inside = inside & (others | known)
    return inside


def priced_by_profile(architecture: str, jobs: Jobs, hardware: Hardware, own: Measured) -> Mask:
    """Whether a profile, not the catalogue, prices what each job exchanges; shape (jobs,)."""
    n = np.asarray(jobs.cnodes, dtype=np.float64)
    if architecture == PS_WORKER:
        return np.asarray((n > 1) & (own.servers is not None))
    return _by_nccl(architecture, n, hardware, own) & (n > 1)


def _by_nccl(architecture: str, n: Array, hardware: Hardware, own: Measured) -> Mask:
    within = architecture in (ALLREDUCE_LOCAL, ALLREDUCE_CLUSTER, PEARL)
    return np.asarray((n <= hardware.gpus_per_server) & (within and own.inside is not None))


def step_s(
    architecture: str, jobs: Jobs, hardware: Hardware, effects: Effects
) -> tuple[Array, Array, Array]:
    """(step, all aggregation, that which nothing hides) of every job, shape (jobs,)."""
    times = step_times(architecture, jobs, hardware)
    every, exposed = communication_s(architecture, jobs, hardware, effects)
    return times.data_s + times.compute_s + exposed, every, exposed


def compare_models(
    found: Sequence[Priced], hardware: Hardware, own: Measured = NOTHING
) -> tuple[ModelRow, ...]:
    """The two facts of the paper about PS/Worker jobs by each model; none without such jobs.

    own: costs as they were measured, which have rows of their own.
    """
    entry = next((one for one in found if one.group.architecture == PS_WORKER), None)
    if entry is None:
        return ()
    jobs, cnodes = entry.group.jobs, entry.group.cnodes
    faster = replace(hardware, ethernet_bytes_per_s=FASTER_ETHERNET)
    placed = placed_cnodes(ALLREDUCE_LOCAL, cnodes, hardware.gpus_per_server)
    moved = replace(jobs, cnodes=placed)
    paper = [step_times(PS_WORKER, jobs, on) for on in (hardware, faster)]
    local = step_times(ALLREDUCE_LOCAL, moved, hardware).total_s()
    rows = [_row("the paper: bytes over bandwidth", paper[0].total_s(), paper[0].weights_s,
                 paper[1].total_s(), local, cnodes, placed)]  # fmt: skip
    for name, effects in (*STEPS, *_measured_steps(own)):
        before, _, exposed = step_s(PS_WORKER, jobs, hardware, effects)
        fast, *_ = step_s(PS_WORKER, jobs, faster, effects)
        port, *_ = step_s(ALLREDUCE_LOCAL, moved, hardware, effects)
        row = _row(name, before, exposed, fast, port, cnodes, placed)
        if effects.measured != NOTHING:
            inside = in_range(PS_WORKER, jobs, hardware, effects)
            inside = inside & in_range(PS_WORKER, jobs, faster, effects)
            inside = inside & in_range(ALLREDUCE_LOCAL, moved, hardware, effects)
            row = replace(row, outside=1.0 - float(inside.mean()))
        rows.append(row)
    return tuple(rows)


def _measured_steps(own: Measured) -> tuple[tuple[str, Effects], ...]:
    """The same with costs as they were measured, before and after contention and overlap."""
    if own == NOTHING:
        return ()
    return (
        (f"latency, messages and copies as measured: {own.name}", Effects(True, measured=own)),
        ("measured, and contention and overlap", Effects(True, SERVED, True, own)),
    )


def _row(name: str, own: Array, comm: Array, fast: Array, port: Array,
         cnodes: Array, placed: Array) -> ModelRow:  # fmt: skip
    more = throughput_ratio(own, port, cnodes, placed) > GAIN
    return ModelRow(
        model=name,
        communication=float((comm / own).mean()),
        speedup=float((own / fast).mean()),
        gain=float(more.mean()),
        outside=None,
    )
